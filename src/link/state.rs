//! Run states: what the machine reports to the host about the run.
//!
//! Every payload is one byte with its kind and then the structure of that kind. The last state of a
//! complete run is [`End`]; a link that falls silent without it has failed.

use core::fmt;

use crate::tally::Cause;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U16, U32, U64},
};

/// How time passes for the guest. The numbers are those of [`Started::mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// The clock counts instructions: the same input gives the same run, bit for bit.
    Exact = 1,
    /// The clock counts instructions, but the host's input arrives at any time.
    Interactive = 2,
    /// The clock is the host's. Instructions cannot be counted.
    RealTime = 3,
    /// The clock is the host's, and the counter facility of the machine below counts.
    Native = 4,
}

impl Mode {
    /// The mode with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Exact,
            2 => Self::Interactive,
            3 => Self::RealTime,
            4 => Self::Native,
            _ => return None,
        })
    }

    /// Whether the clock is the host's: it does not count instructions, and the CPUs run at the same time.
    pub const fn is_real_time(self) -> bool {
        matches!(self, Self::RealTime | Self::Native)
    }

    /// The mode's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Interactive => "interactive",
            Self::RealTime => "real-time",
            Self::Native => "native",
        }
    }
}

/// Why a guest ended. The numbers are those of [`GuestEnded::reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    /// It loaded a disabled-wait PSW. Address FFF is success.
    DisabledWait = 1,
    /// Its new PSW is invalid, and loading it fails without end: a real CPU would check-stop.
    CheckStop = 2,
    /// The operator ended it.
    Operator = 3,
    /// It stopped its CPUs, the last one by that CPU itself: it has switched the machine off. A success.
    Stopped = 4,
    /// Its program interruptions cause only further program interruptions: a real CPU would loop for ever.
    ProgramLoop = 5,
    /// It named an exit code: [`GuestEnded::code`]. Zero is success.
    ExitCode = 6,
    /// Its external interruptions cause only further external interruptions: a real CPU would loop for ever.
    ExternalLoop = 7,
}

impl Reason {
    /// The reason with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::DisabledWait,
            2 => Self::CheckStop,
            3 => Self::Operator,
            4 => Self::Stopped,
            5 => Self::ProgramLoop,
            6 => Self::ExitCode,
            7 => Self::ExternalLoop,
            _ => return None,
        })
    }
}

/// The address of the disabled wait by which a guest reports success.
pub const SUCCESS_ADDRESS: u64 = 0xFFF;

/// A structure of this module: its kind, and its pieces for the link.
pub trait Payload: IntoBytes + Immutable {
    /// First byte of the payload.
    const KIND: u8;

    /// The pieces of the payload, as [`super::frame::encode`] takes them.
    fn pieces(&self) -> [&[u8]; 2] {
        [
            core::slice::from_ref(const { &Self::KIND }),
            self.as_bytes(),
        ]
    }
}

macro_rules! payload {
    ($(#[$meta:meta])* $name:ident = $kind:literal, $size:literal bytes {
        $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)?
    }) => {
        super::layout! {
            $(#[$meta])*
            $name, $size {
                $($(#[$field_meta])* $field: $type),*
            }
        }

        impl Payload for $name {
            const KIND: u8 = $kind;
        }
    };
}

/// The bit of [`Started::below`] that says whether there is a facility.
pub const COUNTER_FACILITY: u8 = 0x80;

payload! {
    /// The machine has started and accepted the run. The first state of a run.
    Started = 1, 40 bytes {
        /// A [`Mode`], by the clock that the machine found.
        mode: u8,
        /// Of the machine below: [`COUNTER_FACILITY`] if it has the CPU-measurement counter facility itself, and the sets
        /// that it authorizes, as the rightmost bits of the authorization controls.
        below: u8,
        /// Guest CPUs.
        cpus: U16,
        /// Cycles per microsecond.
        cpu_speed: U32,
        /// TOD clock, bits 0-63.
        tod: U64,
        /// The first absolute address that is not the guest's: the base of the HSA. With more than 2 GiB of storage there is
        /// more of the guest's behind this part of the HSA.
        guest_storage_end: U64,
        /// The first absolute address beyond the HSA, or beyond its first part.
        hsa_end: U64,
        /// The machine type that STORE CPU ID gives.
        machine_type: U32,
        /// Counter first version number.
        cfvn: U16,
        /// Counter second version number.
        csvn: U16,
    }
}

payload! {
    /// A sign of life, sent at regular points of the run.
    Progress = 2, 16 bytes {
        /// Instructions that the guest has completed on all its CPUs.
        instructions: U64,
        /// TOD clock, bits 0-63.
        tod: U64,
    }
}

payload! {
    /// The guest has ended.
    GuestEnded = 3, 32 bytes {
        /// CPU address.
        cpu: U16,
        /// A [`Reason`].
        reason: u8,
        /// The exit code, if that is the reason; else zero.
        code: u8,
        /// Zero.
        reserved_word: U32,
        /// The guest's PSW, bits 0-63.
        psw_mask: U64,
        /// The guest's PSW, bits 64-127.
        psw_address: U64,
        /// TOD clock, bits 0-63.
        tod: U64,
    }
}

payload! {
    /// The machine itself has failed. A backtrace and text follow: [`Failure`].
    FailureHead = 4, 150 bytes {
        /// The address of the disabled wait that the machine enters: see the wait-state table.
        wait_state: U32,
        /// PSW at the failure, bits 0-63.
        psw_mask: U64,
        /// PSW at the failure, bits 64-127.
        psw_address: U64,
        /// General registers 0 to 15.
        registers: [U64; 16],
        /// Number of return addresses that follow, relative to the start of the image.
        backtrace: U16,
    }
}

payload! {
    /// Every CPU waits and no timer is armed: only input from the host can continue the run.
    Waiting = 5, 8 bytes {
        /// TOD clock, bits 0-63.
        tod: U64,
    }
}

/// In place of the number of a trace: words on its console have stopped the guest.
pub const BY_WORDS: u16 = u16::MAX;

payload! {
    /// A trace of the operator, or words on its console, have stopped the guest: it resumes at the operator's command.
    Held = 11, 16 bytes {
        /// The CPU that had the event.
        cpu: U16,
        /// The number of the trace, or [`BY_WORDS`].
        trace: U16,
        /// Zero.
        reserved: U32,
        /// TOD clock, bits 0-63.
        tod: U64,
    }
}

payload! {
    /// The number of events of a trace of the operator, sent when the guest has ended.
    Traced = 12, 16 bytes {
        /// The number of the trace.
        trace: U16,
        /// Zero.
        reserved: U16,
        /// In a window: the instructions that the machine performed together with others, so that no trace saw them.
        unseen: U32,
        /// Events, on all CPUs.
        events: U64,
    }
}

payload! {
    /// A CPU takes interruptions one after the other, and has executed no instruction for a long time. The run goes on.
    Looping = 13, 32 bytes {
        /// CPU address.
        cpu: U16,
        /// The class of the last interruption, by the order of the new PSWs in storage.
        class: u8,
        /// Zero.
        reserved: u8,
        /// Its interruption code.
        code: U16,
        /// Zero.
        reserved_half: U16,
        /// The guest's PSW after it, bits 0-63.
        psw_mask: U64,
        /// The guest's PSW after it, bits 64-127.
        psw_address: U64,
        /// TOD clock, bits 0-63.
        tod: U64,
    }
}

payload! {
    /// The totals of one CPU, sent when the guest has ended.
    Totals = 6, 56 bytes {
        /// CPU address.
        cpu: U16,
        /// Zero.
        reserved: U16,
        /// Zero.
        reserved_word: U32,
        /// Cycles of guest time.
        guest_cycles: U64,
        /// Instructions that the guest completed.
        guest_instructions: U64,
        /// The instructions that the machine spent on it.
        firmware_instructions: U64,
        /// Interruptions that the machine took.
        traps: U64,
        /// Samples stored into sample-data blocks.
        samples_taken: U64,
        /// Samples lost for lack of space.
        samples_lost: U64,
    }
}

payload! {
    /// Traps of one cause on one CPU, sent when the guest has ended if the run counts traps, or its guest's paths.
    Traps = 10, 40 bytes {
        /// CPU address.
        cpu: U16,
        /// Number of a [`Cause`].
        cause: u8,
        /// Number of the [`Counted`] of it.
        counted: u8,
        /// An operation code, or an interruption code, by the cause.
        number: U16,
        /// Zero.
        reserved_half: U16,
        /// The number of traps.
        traps: U64,
        /// The instructions in all of them.
        instructions: U64,
        /// The instructions in the shortest of them.
        least: U64,
        /// The instructions in the longest of them.
        most: U64,
    }
}

/// Whose instructions [`Traps`] have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Counted {
    /// The machine's.
    Machine = 0,
    /// Those of the guest's control program: its [paths](crate::paths).
    ControlProgram = 1,
}

impl Counted {
    /// The one with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Machine),
            1 => Some(Self::ControlProgram),
            _ => None,
        }
    }
}

payload! {
    /// The run is complete; nothing follows.
    End = 7, 8 bytes {
        /// The number of frames sent, including this one.
        frames: U32,
        /// Zero.
        reserved: U32,
    }
}

payload! {
    /// The guest has read console input: the machine can buffer as many bytes again.
    InputRead = 8, 4 bytes {
        /// The number of bytes that it has read this time.
        bytes: U32,
    }
}

payload! {
    /// The machine has read lines from a console of lines: the host may type the next. Such a console keeps one line, and
    /// forgets it when another is typed. The first of these says that none has been read, before the run begins.
    LineRead = 14, 4 bytes {
        /// The lines with bytes of the link that it has read so far.
        lines: U32,
    }
}

payload! {
    /// The guest's program has been loaded again.
    Loaded = 9, 16 bytes {
        /// How many times it has been loaded so far, including the first.
        times: U32,
        /// Zero.
        reserved: U32,
        /// TOD clock, bits 0-63.
        tod: U64,
    }
}

/// The bytes of console input that the machine buffers until the guest reads them; it drops further ones.
pub const TYPED_AHEAD: usize = 1024;

/// A failure of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    /// PSW, registers and the wait state.
    pub head: &'a FailureHead,
    /// Return addresses, innermost first, relative to the start of the image.
    pub backtrace: &'a [U64],
    /// The machine's text about it.
    pub text: &'a [u8],
}

/// One decoded run state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State<'a> {
    /// Kind 1.
    Started(&'a Started),
    /// Kind 2.
    Progress(&'a Progress),
    /// Kind 3.
    GuestEnded(&'a GuestEnded),
    /// Kind 4.
    Failure(Failure<'a>),
    /// Kind 5.
    Waiting(&'a Waiting),
    /// Kind 6.
    Totals(&'a Totals),
    /// Kind 7.
    End(&'a End),
    /// Kind 8.
    InputRead(&'a InputRead),
    /// Kind 9.
    Loaded(&'a Loaded),
    /// Kind 10.
    Traps(&'a Traps),
    /// Kind 11.
    Held(&'a Held),
    /// Kind 12.
    Traced(&'a Traced),
    /// Kind 13.
    Looping(&'a Looping),
    /// Kind 14.
    LineRead(&'a LineRead),
}

/// The error in a run-state payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// The payload is empty.
    Empty,
    /// No run state has this kind.
    Kind(u8),
    /// The structure of this kind does not have this many bytes.
    Length(u8, usize),
    /// A field of this kind has an unassigned value.
    Value(u8, u8),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "an empty run state"),
            Self::Kind(kind) => write!(f, "no run state has kind {kind}"),
            Self::Length(kind, length) => {
                write!(f, "a run state of kind {kind} does not have {length} bytes")
            }
            Self::Value(kind, value) => {
                write!(f, "{value} means nothing in a run state of kind {kind}")
            }
        }
    }
}

impl core::error::Error for StateError {}

impl<'a> State<'a> {
    /// Decodes a payload of [`super::frame::Channel::RunState`].
    pub fn parse(payload: &'a [u8]) -> Result<Self, StateError> {
        let (&kind, bytes) = payload.split_first().ok_or(StateError::Empty)?;
        Ok(match kind {
            Started::KIND => {
                let started: &Started = whole(kind, bytes)?;
                Mode::from_number(started.mode).ok_or(StateError::Value(kind, started.mode))?;
                Self::Started(started)
            }
            Progress::KIND => Self::Progress(whole(kind, bytes)?),
            GuestEnded::KIND => {
                let ended: &GuestEnded = whole(kind, bytes)?;
                Reason::from_number(ended.reason).ok_or(StateError::Value(kind, ended.reason))?;
                Self::GuestEnded(ended)
            }
            FailureHead::KIND => {
                let wrong = StateError::Length(kind, bytes.len());
                let (head, rest) = FailureHead::ref_from_prefix(bytes).map_err(|_| wrong)?;
                let count = usize::from(head.backtrace.get());
                let (backtrace, text) =
                    <[U64]>::ref_from_prefix_with_elems(rest, count).map_err(|_| wrong)?;
                Self::Failure(Failure {
                    head,
                    backtrace,
                    text,
                })
            }
            Waiting::KIND => Self::Waiting(whole(kind, bytes)?),
            Totals::KIND => Self::Totals(whole(kind, bytes)?),
            End::KIND => Self::End(whole(kind, bytes)?),
            InputRead::KIND => Self::InputRead(whole(kind, bytes)?),
            Loaded::KIND => Self::Loaded(whole(kind, bytes)?),
            Traps::KIND => {
                let traps: &Traps = whole(kind, bytes)?;
                Cause::from_number(traps.cause).ok_or(StateError::Value(kind, traps.cause))?;
                Counted::from_number(traps.counted)
                    .ok_or(StateError::Value(kind, traps.counted))?;
                Self::Traps(traps)
            }
            Held::KIND => Self::Held(whole(kind, bytes)?),
            Traced::KIND => Self::Traced(whole(kind, bytes)?),
            Looping::KIND => Self::Looping(whole(kind, bytes)?),
            LineRead::KIND => Self::LineRead(whole(kind, bytes)?),
            _ => return Err(StateError::Kind(kind)),
        })
    }
}

fn whole<T: FromBytes + KnownLayout + Immutable + Unaligned>(
    kind: u8,
    bytes: &[u8],
) -> Result<&T, StateError> {
    T::ref_from_bytes(bytes).map_err(|_| StateError::Length(kind, bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_state_is_its_kind_and_its_structure() {
        let ended = GuestEnded {
            cpu: 2.into(),
            reason: Reason::DisabledWait as u8,
            psw_mask: 0x0002_0001_8000_0000.into(),
            psw_address: SUCCESS_ADDRESS.into(),
            ..GuestEnded::default()
        };
        let payload = ended.pieces().concat();
        assert_eq!(payload[..5], [3, 0, 2, 1, 0]);
        assert_eq!(payload.len(), 33);
        assert_eq!(State::parse(&payload), Ok(State::GuestEnded(&ended)));
    }

    #[test]
    fn a_failure_carries_its_backtrace_and_text() {
        let head = FailureHead {
            wait_state: 0xE01.into(),
            backtrace: 2.into(),
            ..FailureHead::default()
        };
        let mut payload = head.pieces().concat();
        payload.extend(0x1234u64.to_be_bytes());
        payload.extend(0x5678u64.to_be_bytes());
        payload.extend(b"panicked at");
        let Ok(State::Failure(failure)) = State::parse(&payload) else {
            panic!("not a failure")
        };
        assert_eq!(failure.backtrace, [U64::new(0x1234), U64::new(0x5678)]);
        assert_eq!(failure.text, b"panicked at");
        payload.truncate(151 + 15);
        assert_eq!(State::parse(&payload), Err(StateError::Length(4, 165)));
    }

    #[test]
    fn each_kind_of_invalid_state_is_refused_by_name() {
        assert_eq!(State::parse(&[]), Err(StateError::Empty));
        assert_eq!(State::parse(&[200, 0]), Err(StateError::Kind(200)));
        assert_eq!(State::parse(&[7, 0]), Err(StateError::Length(7, 1)));
        let mut started = Started::default().pieces().concat();
        assert_eq!(State::parse(&started), Err(StateError::Value(1, 0)));
        started[1] = Mode::RealTime as u8;
        assert!(State::parse(&started).is_ok());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(payload in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = State::parse(&payload);
        }
    }
}
