//! The operator's traces: program events of the guest that are invisible to the guest.

use super::controls::event;
use super::range::Range;
use core::fmt;

/// The most traces at once.
pub const MOST_TRACES: usize = 8;

/// The longest pattern of stored bytes.
pub const LONGEST_PATTERN: usize = 8;

/// The first bytes that a store must store to be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    bytes: [u8; LONGEST_PATTERN],
    length: u8,
}

impl Pattern {
    /// From 1 to [`LONGEST_PATTERN`] bytes as hexadecimal digits, two for each; `None` if they are not.
    #[must_use]
    pub fn from_digits(digits: &str) -> Option<Self> {
        let mut bytes = [0; LONGEST_PATTERN];
        let pairs = digits.as_bytes().as_chunks::<2>();
        let length = pairs.0.len();
        if !pairs.1.is_empty() || length == 0 || length > LONGEST_PATTERN {
            return None;
        }
        for (byte, &[left, right]) in bytes.iter_mut().zip(pairs.0) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = (digit(left)? << 4 | digit(right)?) as u8;
        }
        Some(Self {
            bytes,
            length: length as u8,
        })
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).min(LONGEST_PATTERN)]
    }
}

/// The event that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An instruction in the range takes a branch.
    Branch,
    /// An instruction in the range is executed.
    Fetch,
    /// An instruction stores into the range; with a pattern, if the bytes stored there begin with it.
    Store(Option<Pattern>),
    /// An instruction in the range alters one of these general registers: register 0 is the leftmost bit.
    Registers(u16),
}

/// The action at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is counted.
    Count,
    /// It is counted and streamed.
    Trace,
    /// It is counted and streamed, and the guest stops.
    Stop,
}

/// A trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The event.
    pub what: What,
    /// The range of the instruction, or of the storage location for stores.
    pub range: Range,
    /// The action.
    pub action: Action,
}

impl Trace {
    /// The PER event.
    #[must_use]
    pub const fn event(&self) -> u8 {
        match self.what {
            What::Branch => event::BRANCH,
            What::Fetch => event::FETCH,
            What::Store(_) => event::STORE,
            What::Registers(_) => event::REGISTERS,
        }
    }

    /// Whether it traces stores: its range is then that of the storage location, not of the instruction.
    #[must_use]
    pub const fn is_of_stores(&self) -> bool {
        matches!(self.what, What::Store(_))
    }

    /// Whether the instruction at an address had the event, if it `branched` and `altered` these registers, which is found
    /// out only where it decides. Not for traces of stores.
    #[must_use]
    #[inline]
    pub fn happened(
        &self,
        at: u64,
        branched: impl FnOnce() -> bool,
        altered: impl FnOnce() -> u16,
    ) -> bool {
        self.range.contains(at)
            && match self.what {
                What::Branch => branched(),
                What::Fetch => true,
                What::Store(_) => false,
                What::Registers(mask) => altered() & mask != 0,
            }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Branch => f.write_str("BRANCH")?,
            What::Fetch => f.write_str("FETCH")?,
            What::Store(None) => f.write_str("STORE")?,
            What::Store(Some(pattern)) => {
                f.write_str("STORE DATA ")?;
                let mut bytes = pattern.bytes().iter();
                bytes.try_for_each(|byte| write!(f, "{byte:02X}"))?;
            }
            What::Registers(u16::MAX) => f.write_str("REG ALL")?,
            What::Registers(mask) => {
                let numbers = (0..16).filter(|number| mask << number & 0x8000 != 0);
                for (place, number) in numbers.enumerate() {
                    let before = if place == 0 { "REG " } else { "," };
                    write!(f, "{before}{number}")?;
                }
            }
        }
        if self.range != Range::ALL {
            write!(f, " RANGE {:X}-{:X}", self.range.start, self.range.end)?;
        }
        f.write_str(match self.action {
            Action::Count => " COUNT",
            Action::Trace => " TRACE",
            Action::Stop => " STOP",
        })
    }
}

/// All trace numbers are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// No trace has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuch(pub u8);

/// The traces, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces([Option<Trace>; MOST_TRACES]);

impl Traces {
    /// No traces.
    pub const NONE: Self = Self([None; MOST_TRACES]);

    /// Adds a trace; returns its number.
    ///
    /// # Errors
    /// [`TooMany`].
    pub fn add(&mut self, trace: Trace) -> Result<u8, TooMany> {
        let free = self.0.iter().position(Option::is_none).ok_or(TooMany)?;
        self.0[free] = Some(trace);
        Ok(free as u8)
    }

    /// Ends the trace with this number, or all.
    ///
    /// # Errors
    /// [`NoSuch`]; nothing has changed then.
    pub fn end(&mut self, number: Option<u8>) -> Result<(), NoSuch> {
        let Some(number) = number else {
            *self = Self::NONE;
            return Ok(());
        };
        let place = self.0.get_mut(usize::from(number));
        match place.and_then(Option::take) {
            Some(_) => Ok(()),
            None => Err(NoSuch(number)),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The trace with this number.
    #[must_use]
    pub fn get(&self, number: u8) -> Option<&Trace> {
        self.0.get(usize::from(number))?.as_ref()
    }

    /// The traces, with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u8, &Trace)> {
        let places = (0..).zip(&self.0);
        places.filter_map(|(number, trace)| Some((number, trace.as_ref()?)))
    }

    /// The ranges in which instructions have events by their address.
    pub fn places(&self) -> impl Iterator<Item = Range> {
        let of_places = self.all().filter(|(_, trace)| !trace.is_of_stores());
        of_places.map(|(_, trace)| trace.range)
    }

    /// The ranges into which stores are events.
    pub fn stores(&self) -> impl Iterator<Item = Range> + use<> {
        let stores = self.0.into_iter().flatten().filter(Trace::is_of_stores);
        stores.map(|trace| trace.range)
    }

    /// Whether an instruction at this address has events by its address.
    #[must_use]
    pub fn concern(&self, at: u64) -> bool {
        self.places().any(|range| range.contains(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::controls::Done;
    use super::*;

    const RANGE: Range = Range {
        start: 0x1000,
        end: 0x1FFF,
    };

    fn trace(what: What) -> Trace {
        Trace {
            what,
            range: RANGE,
            action: Action::Count,
        }
    }

    #[test]
    fn a_trace_has_events_of_instructions_in_its_range() {
        let done = Done {
            at: 0x1800,
            branched_to: Some(0x1_0000),
            altered: 0x0003,
            ..Done::default()
        };
        let of = |what: What, done: &Done| {
            let branched = done.branched_to.is_some();
            trace(what).happened(done.at, || branched, || done.altered)
        };
        let happened = |what: What| of(what, &done);
        assert!(happened(What::Branch) && happened(What::Fetch));
        assert!(happened(What::Registers(1)) && !happened(What::Registers(0xFFFC)));
        let outside = Done { at: 0x2000, ..done };
        assert!(!of(What::Branch, &outside));
        assert!(!of(What::Fetch, &outside));
        let straight = Done {
            branched_to: None,
            ..done
        };
        assert!(!of(What::Branch, &straight));
    }

    #[test]
    fn the_number_of_a_trace_that_has_ended_is_used_again() {
        let mut traces = Traces::NONE;
        for number in 0..MOST_TRACES as u8 {
            assert_eq!(traces.add(trace(What::Fetch)), Ok(number));
        }
        assert_eq!(traces.add(trace(What::Fetch)), Err(TooMany));
        assert_eq!(traces.end(Some(3)), Ok(()));
        assert_eq!(traces.end(Some(3)), Err(NoSuch(3)));
        assert_eq!(traces.end(Some(8)), Err(NoSuch(8)));
        assert_eq!(traces.add(trace(What::Branch)), Ok(3));
        assert_eq!(traces.end(None), Ok(()));
        assert!(traces.is_empty());
    }

    #[test]
    fn traces_concern_instructions_in_their_ranges_but_traces_of_stores_concern_the_storage() {
        let mut traces = Traces::NONE;
        traces.add(trace(What::Store(None))).unwrap();
        assert!(!traces.concern(0x1000));
        assert_eq!(traces.stores().collect::<Vec<_>>(), [RANGE]);
        traces.add(trace(What::Fetch)).unwrap();
        assert!(traces.concern(0x1000) && !traces.concern(0x2000));
        assert_eq!(traces.places().collect::<Vec<_>>(), [RANGE]);
    }

    #[test]
    fn a_pattern_is_one_to_eight_bytes() {
        let bytes = |digits| Pattern::from_digits(digits).map(|pattern| pattern.bytes().to_vec());
        assert_eq!(bytes("00"), Some(vec![0]));
        assert_eq!(bytes("c1C2"), Some(vec![0xC1, 0xC2]));
        assert_eq!(bytes("0123456789ABCDEF").map(|bytes| bytes.len()), Some(8));
        for digits in ["", "1", "123", "0123456789ABCDEF00", "0G", "+1", "é"] {
            assert_eq!(bytes(digits), None, "{digits}");
        }
    }
}
