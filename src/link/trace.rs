//! Payloads of the trace channel: program events that the operator traces.
//!
//! A payload is a [`TraceHead`] and the number of events that it gives. Each event is an [`EventHead`] and, in
//! ascending order of their numbers, the contents of the general registers that the instruction altered. The events
//! of a CPU are numbered: a gap between two payloads shows events that the link lost or that the machine could not
//! buffer. The last payload of a CPU has no events, and its head gives their total number.

use super::frame::LARGEST_PAYLOAD;
use super::layout;
use core::fmt;
use insn;
use per::event;
use zerocopy::{
    FromBytes, IntoBytes,
    byteorder::big_endian::{U16, U32, U64},
};

layout! {
    /// Heading of a payload.
    TraceHead, 16 {
        /// CPU address.
        cpu: U16,
        /// The number of events that follow.
        count: U16,
        /// The number of events of this CPU that the machine could not buffer so far.
        lost: U32,
        /// The number of the first event, counted from 0 for each CPU; without events, their total number.
        first: U64,
    }
}

/// A bit of [`EventHead::state`]: the instruction is the target of an EXECUTE at the address.
pub const EXECUTED: u8 = 0x80;

layout! {
    /// An instruction with events, and its results.
    EventHead, 64 {
        /// The traces that it belongs to: trace 0 is the leftmost bit.
        traces: u8,
        /// The events, as in the PER code.
        events: u8,
        /// Length of the instruction that the address designates: 2, 4 or 6 bytes.
        length: u8,
        /// [`EXECUTED`], or zero.
        state: u8,
        /// The code of the program interruption that ended it, or zero if it was completed.
        code: U16,
        /// The general registers that it altered: register 0 is the leftmost bit.
        altered: U16,
        /// The instruction, left-justified; the target of an EXECUTE as executed.
        text: [u8; 6],
        /// The number of bytes that it stored at [`Self::stored_at`], or zero.
        stored_length: U16,
        /// The address of the instruction, or of the EXECUTE.
        at: U64,
        /// Bits 0-63 of the PSW before it.
        mask: U64,
        /// The address of the next instruction.
        next: U64,
        /// Bits 0-63 of the PSW after it.
        mask_after: U64,
        /// The virtual address at which it stored, if it stored into the range of a trace.
        stored_at: U64,
        /// TOD clock, bits 0-63, when the machine saw that it had ended.
        tod: U64,
    }
}

/// The longest event: one that altered all registers.
pub const LONGEST_EVENT: usize = size_of::<EventHead>() + 16 * size_of::<U64>();

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'e> {
    /// The fixed part.
    pub head: EventHead,
    /// The contents of the registers that were altered, in ascending order of their numbers.
    pub registers: &'e [U64],
}

impl Event<'_> {
    /// The bytes of the instruction's text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        let length = insn::length(self.head.text[0]);
        &self.head.text[..length]
    }

    /// The registers that were altered, with their contents.
    pub fn altered(&self) -> impl Iterator<Item = (u8, u64)> {
        let mask = self.head.altered.get();
        let numbers = (0..16).filter(move |number| mask << number & 0x8000 != 0);
        numbers.zip(self.registers.iter().map(|value| value.get()))
    }
}

/// The events by the names of the operator's commands.
const NAMES: [(u8, &str); 4] = [
    (event::BRANCH, "BRANCH"),
    (event::FETCH, "FETCH"),
    (event::STORE, "STORE"),
    (event::REGISTERS, "REG"),
];

/// One line: address, text, events, the stored location, the program interruption that ended it, the altered
/// registers, and the next address.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = &self.head;
        write!(f, "{:016X} ", head.at.get())?;
        self.text()
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02X}"))?;
        for (event, name) in NAMES {
            if head.events & event != 0 {
                write!(f, " {name}")?;
            }
        }
        if head.stored_length.get() != 0 {
            write!(f, " {:X}.{:X}", head.stored_at, head.stored_length)?;
        }
        if head.code.get() != 0 {
            write!(f, " program interruption {:04X}", head.code)?;
        }
        for (number, value) in self.altered() {
            write!(f, " R{number}={value:X}")?;
        }
        write!(f, " -> {:X}", head.next)
    }
}

/// The error in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// The payload is too short for its head.
    Head(usize),
    /// The event with this index extends beyond the payload.
    Event(u16),
    /// This many bytes follow the last event.
    Rest(usize),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(length) => write!(f, "{length} bytes are too short for a trace payload"),
            Self::Event(number) => {
                write!(f, "the trace payload ends within its event {number}")
            }
            Self::Rest(length) => {
                write!(f, "{length} bytes follow the last event of a trace payload")
            }
        }
    }
}

impl core::error::Error for TraceError {}

/// Decodes a payload and gives its events to `each`: all of them, or none if there is an error.
///
/// # Errors
/// [`TraceError`].
pub fn parse(payload: &[u8], mut each: impl FnMut(Event<'_>)) -> Result<TraceHead, TraceError> {
    let (head, events) =
        TraceHead::read_from_prefix(payload).map_err(|_| TraceError::Head(payload.len()))?;
    let walk = |each: &mut dyn FnMut(Event<'_>)| {
        let mut rest = events;
        for number in 0..head.count.get() {
            let cut = TraceError::Event(number);
            let (event, behind) = EventHead::read_from_prefix(rest).map_err(|_| cut)?;
            let altered = event.altered.get().count_ones() as usize;
            let (registers, behind) =
                <[U64]>::ref_from_prefix_with_elems(behind, altered).map_err(|_| cut)?;
            each(Event {
                head: event,
                registers,
            });
            rest = behind;
        }
        match rest.len() {
            0 => Ok(()),
            length => Err(TraceError::Rest(length)),
        }
    };
    walk(&mut |_| ())?;
    walk(&mut each)?;
    Ok(head)
}

/// Events of a CPU for the link, in a buffer of fixed size.
///
/// Events that do not fit are counted and numbered too.
#[derive(Debug)]
pub struct Stream<const N: usize> {
    buffer: heapless::Vec<u8, N>,
    head: TraceHead,
    /// Events that did not fit after those in the buffer.
    refused: u32,
}

impl<const N: usize> Stream<N> {
    /// An empty stream of a CPU.
    #[must_use]
    pub const fn new(cpu: u16) -> Self {
        const { assert!(N >= LONGEST_EVENT && N + size_of::<TraceHead>() <= LARGEST_PAYLOAD) };
        Self {
            buffer: heapless::Vec::new(),
            head: TraceHead {
                cpu: U16::new(cpu),
                count: U16::ZERO,
                lost: U32::ZERO,
                first: U64::ZERO,
            },
            refused: 0,
        }
    }

    /// Whether the longest event fits.
    #[must_use]
    pub fn has_room(&self) -> bool {
        N - self.buffer.len() >= LONGEST_EVENT
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The number of events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.head.first.get() + u64::from(self.head.count.get()) + u64::from(self.refused)
    }

    /// Adds an event, or counts it as lost. After a lost event all are lost until [`Self::taken`], so a payload has no
    /// gaps.
    pub fn add(&mut self, event: &Event<'_>) {
        if !self.has_room() {
            self.head.lost += 1;
            self.refused += 1;
            return;
        }
        // It fits.
        let _ = self.buffer.extend_from_slice(event.head.as_bytes());
        let _ = self.buffer.extend_from_slice(event.registers.as_bytes());
        self.head.count += 1;
    }

    /// The payload to send now, in the pieces that [`super::frame::encode`] takes.
    #[must_use]
    pub fn payload(&self) -> [&[u8]; 2] {
        [self.head.as_bytes(), &self.buffer]
    }

    /// The payload was sent.
    pub fn taken(&mut self) {
        self.head.first.set(self.events());
        self.head.count = U16::ZERO;
        self.refused = 0;
        self.buffer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An event that altered these registers.
    fn head(altered: u16, at: u64) -> EventHead {
        EventHead {
            traces: 0x80,
            events: 0x10,
            length: 4,
            altered: altered.into(),
            text: [0xB9, 0x04, 0x00, 0x12, 0, 0],
            at: at.into(),
            ..EventHead::default()
        }
    }

    fn bytes<const N: usize>(stream: &Stream<N>) -> Vec<u8> {
        stream.payload().concat()
    }

    #[test]
    fn an_event_has_the_registers_that_it_altered_and_its_text() {
        let mut stream = Stream::<4096>::new(3);
        let values = [7.into(), 9.into()];
        stream.add(&Event {
            head: head(0x4001, 0x1000),
            registers: &values,
        });
        let mut seen = Vec::new();
        let parsed = parse(&bytes(&stream), |event| {
            assert_eq!(event.text(), [0xB9, 0x04, 0x00, 0x12]);
            seen.extend(event.altered());
        });
        assert_eq!(seen, [(1, 7), (15, 9)]);
        let parsed = parsed.unwrap();
        assert_eq!((parsed.cpu.get(), parsed.count.get()), (3, 1));
    }

    #[test]
    fn a_line_shows_what_the_instruction_did() {
        let head = EventHead {
            events: 0x30,
            code: 0x11.into(),
            stored_at: 0x5000.into(),
            stored_length: 8.into(),
            next: 0x1004.into(),
            ..head(0x4000, 0x1000)
        };
        let registers = [0xABC.into()];
        let line = Event {
            head,
            registers: &registers,
        };
        assert_eq!(
            line.to_string(),
            "0000000000001000 B9040012 STORE REG 5000.8 program interruption 0011 R1=ABC -> 1004"
        );
    }

    #[test]
    fn an_event_that_does_not_fit_is_counted_and_numbered() {
        let mut stream = Stream::<{ 2 * LONGEST_EVENT }>::new(0);
        let event = Event {
            head: head(0, 0),
            registers: &[],
        };
        let mut room = 0;
        while stream.has_room() {
            stream.add(&event);
            room += 1;
        }
        stream.add(&event);
        stream.add(&event);
        let first = parse(&bytes(&stream), |_| ()).unwrap();
        assert_eq!((u64::from(first.count.get()), first.lost.get()), (room, 2));
        stream.taken();
        stream.add(&event);
        let second = parse(&bytes(&stream), |_| ()).unwrap();
        assert_eq!((second.first.get(), second.count.get()), (room + 2, 1));
        stream.taken();
        let last = parse(&bytes(&stream), |_| ()).unwrap();
        assert_eq!((last.first.get(), last.count.get()), (room + 3, 0));
        assert_eq!(stream.events(), room + 3);
    }

    proptest! {
        #[test]
        fn a_payload_that_is_too_short_or_too_long_is_refused_and_gives_no_event(
            masks in prop::collection::vec(any::<u16>(), 0..8),
            cut in any::<prop::sample::Index>(),
            more in 1_usize..20,
        ) {
            let mut stream = Stream::<4096>::new(1);
            let values = [U64::new(5); 16];
            for &mask in &masks {
                let registers = &values[..mask.count_ones() as usize];
                stream.add(&Event { head: head(mask, 2), registers });
            }
            let payload = bytes(&stream);
            let mut count = 0;
            prop_assert!(parse(&payload, |_| count += 1).is_ok());
            prop_assert_eq!(count, masks.len());
            let longer = [&payload[..], &vec![0; more][..]].concat();
            prop_assert_eq!(parse(&longer, |_| unreachable!()), Err(TraceError::Rest(more)));
            let shorter = &payload[..cut.index(payload.len())];
            prop_assert!(parse(shorter, |_| unreachable!()).is_err());
        }

        #[test]
        fn every_payload_is_events_or_an_error(payload in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&payload, |event| {
                let _ = event.text();
                let _ = event.altered().count();
            });
        }
    }
}
