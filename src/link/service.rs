//! Payloads of the service channel: profilers on the host, and what HISSERV calls in them.
//!
//! A profiler outside the machine has a [`Request`], a block of 64 bytes that also takes the answer. The host
//! sends it by the link, or stages it in the loader block for a profiler that starts before the guest does. A
//! program in the guest gives the same block to DIAGNOSE. The published text has a macro and no layout; this one
//! is the project's own, big-endian throughout.
//!
//! The machine's messages begin with a [`ServiceHead`].

use super::data::SAMPLE_DATA_BLOCK;
use super::frame::LARGEST_PAYLOAD;
use super::layout;
use core::fmt;
use zerocopy::{
    FromBytes,
    byteorder::big_endian::{U16, U32, U64},
};

/// The function of a request; the numbers are those of [`Request::function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Function {
    /// REQUEST=PROFILE,ACTION=START: `flags`, `name`, `events`. Gives `token`.
    Start = 1,
    /// REQUEST=PROFILE,ACTION=STOP: `token`. Gives `missed`.
    Stop = 2,
    /// REQUEST=QUERY: `kind`, `length`; for EVENTDATA also `token` and `cpus`. Gives the answer area.
    Query = 3,
    /// The profiler is done with its oldest block: `token`. From the host only, and not answered.
    Done = 4,
}

impl Function {
    /// The function with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Start,
            2 => Self::Stop,
            3 => Self::Query,
            4 => Self::Done,
            _ => return None,
        })
    }
}

/// Bits of [`Request::flags`].
pub mod flags {
    /// SAMPLE=YES: the profiler wants samples.
    pub const SAMPLES: u32 = 0x8000_0000;
    /// The profiler reports when it is done with a block ([`super::Function::Done`]). Otherwise it counts as done
    /// when the link has carried the block.
    pub const ACKNOWLEDGES: u32 = 0x4000_0000;
    /// All assigned bits.
    pub const ALL: u32 = SAMPLES | ACKNOWLEDGES;
}

layout! {
    /// A request and its result.
    Request, 64 {
        /// A [`Function`].
        function: U32,
        /// Bits of [`flags`].
        flags: U32,
        /// NAME in ASCII, padded with blanks.
        name: [u8; 8],
        /// EVENT: event types, as a mask of one bit each.
        events: U32,
        /// TYPE: the number of a kind of answer.
        kind: U32,
        /// OUTPROFILETKN, PROFILETKN.
        token: U64,
        /// CPUMASK: bit 0 (the leftmost) is CPU 0. All ones for ALL.
        cpus: U64,
        /// ANSAREA: the real address of the answer area. A profiler on the host has here what identifies the request to
        /// it.
        area: U64,
        /// ANSLEN: bytes of the answer area.
        length: U32,
        /// Reason code: zero if all was done.
        reason: U32,
        /// The number of samples that the profiler missed.
        missed: U64,
    }
}

/// The longest answer, in bytes: the project's own bound, so that one payload of the link carries it. All counters of a
/// CPU fit, including those of software.
pub const LONGEST_ANSWER: usize = 16_256;

const _: () =
    assert!(size_of::<ServiceHead>() + size_of::<Request>() + LONGEST_ANSWER <= LARGEST_PAYLOAD);

impl Request {
    /// A request for this function, with everything else zero.
    #[must_use]
    pub fn new(function: Function) -> Self {
        Self {
            function: (function as u32).into(),
            ..Self::default()
        }
    }
}

/// What a payload of the machine is; the numbers are those of [`ServiceHead::call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Call {
    /// A request was performed or refused: the [`Request`] with its result follows, then the answer area.
    Answer = 1,
    /// The state has changed: `code` is the action, `number` the reasons.
    State = 2,
    /// A block is full, and follows. `cpu` filled it with `number` samples, and the profiler missed `missed`
    /// samples since its last block.
    Samples = 3,
    /// The status of the service has changed: `code` is the status.
    Status = 4,
}

layout! {
    /// Heading of a message of the machine.
    ServiceHead, 24 {
        /// A [`Call`].
        call: u8,
        /// The one-byte number of the call.
        code: u8,
        /// CPU address.
        cpu: U16,
        /// The four-byte number of the call.
        number: U32,
        /// The profiler that is called.
        token: U64,
        /// Samples.
        missed: U64,
    }
}

/// A message of the machine, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// [`Call::Answer`]
    Answer(&'a Request, &'a [u8]),
    /// [`Call::State`]
    State(&'a ServiceHead),
    /// [`Call::Samples`]
    Samples(&'a ServiceHead, &'a [u8; SAMPLE_DATA_BLOCK]),
    /// [`Call::Status`]
    Status(&'a ServiceHead),
}

/// The error in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceError {
    /// It does not have the length of its call.
    Length(usize),
    /// No call has this number.
    Call(u8),
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "{length} bytes are no payload of the service"),
            Self::Call(call) => write!(f, "no call of the service has number {call}"),
        }
    }
}

impl core::error::Error for ServiceError {}

/// Decodes a payload of the machine.
///
/// # Errors
/// The payload does not have the length of its call, or no call has its number.
pub fn parse(payload: &[u8]) -> Result<Message<'_>, ServiceError> {
    let wrong = ServiceError::Length(payload.len());
    let (head, rest) = ServiceHead::ref_from_prefix(payload).map_err(|_| wrong)?;
    let without_data = |message| {
        if rest.is_empty() {
            Ok(message)
        } else {
            Err(wrong)
        }
    };
    match head.call {
        call if call == Call::Answer as u8 => {
            let (request, answer) = Request::ref_from_prefix(rest).map_err(|_| wrong)?;
            Ok(Message::Answer(request, answer))
        }
        call if call == Call::State as u8 => without_data(Message::State(head)),
        call if call == Call::Samples as u8 => {
            let block = rest.try_into().map_err(|_| wrong)?;
            Ok(Message::Samples(head, block))
        }
        call if call == Call::Status as u8 => without_data(Message::Status(head)),
        call => Err(ServiceError::Call(call)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    fn payload(call: u8, more: &[u8]) -> Vec<u8> {
        let head = ServiceHead {
            call,
            token: 7.into(),
            ..ServiceHead::default()
        };
        [head.as_bytes(), more].concat()
    }

    #[test]
    fn an_answer_is_the_request_and_its_area() {
        let request = Request::new(Function::Query);
        let bytes = payload(1, &[request.as_bytes(), b"area"].concat());
        assert_eq!(parse(&bytes), Ok(Message::Answer(&request, b"area")));
        assert_eq!(parse(&bytes[..87]), Err(ServiceError::Length(87)));
    }

    #[test]
    fn samples_have_one_block_and_the_other_calls_have_nothing() {
        let bytes = payload(3, &[0x55; SAMPLE_DATA_BLOCK]);
        let Ok(Message::Samples(head, block)) = parse(&bytes) else {
            panic!("no samples");
        };
        assert_eq!((head.token.get(), block[0]), (7, 0x55));
        assert_eq!(parse(&bytes[..4119]), Err(ServiceError::Length(4119)));
        for call in [2, 4] {
            assert!(parse(&payload(call, &[])).is_ok());
            assert_eq!(parse(&payload(call, &[0])), Err(ServiceError::Length(25)));
        }
    }

    #[test]
    fn a_payload_without_a_heading_or_a_call_is_refused() {
        assert_eq!(parse(&[1; 23]), Err(ServiceError::Length(23)));
        for call in [0, 5, 255] {
            assert_eq!(parse(&payload(call, &[])), Err(ServiceError::Call(call)));
        }
    }

    #[test]
    fn every_function_is_found_by_its_number() {
        let known = (0..64).filter_map(|n| Some((n, Function::from_number(n)?)));
        let known: Vec<_> = known.collect();
        assert_eq!(known.len(), 4);
        assert!(
            known
                .iter()
                .all(|&(number, function)| function as u32 == number)
        );
    }
}
