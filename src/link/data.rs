//! Payloads of the data channels: sample-data blocks and counter sets.
//!
//! Each payload is a heading followed by the data in their architected layout: a sample-data block with its
//! trailer as the sampling facility wrote it, counters as STCCTM stores them. The headings only identify the
//! origin of the data.

use core::fmt;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U16, U32, U64},
};

/// The number of bytes in a sample-data block, including the trailer.
pub const SAMPLE_DATA_BLOCK: usize = 4096;

/// The configuration level whose facility collected the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Level {
    /// The machine's own measurement, below the guest.
    Machine = 1,
    /// The guest's measurement of itself.
    Guest = 2,
}

impl Level {
    /// The level with this number, if there is one.
    pub const fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Machine,
            2 => Self::Guest,
            _ => return None,
        })
    }
}

/// Heading of a sample-data payload; [`SAMPLE_DATA_BLOCK`] bytes follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SampleHead {
    /// CPU address.
    pub cpu: U16,
    /// A [`Level`]; the machine sends only its own blocks.
    pub level: U16,
    /// Number of the block, counted from 0 per CPU: a gap shows a block lost on the link.
    pub sequence: U32,
}

/// [`CounterHead::set`] of a coprocessor-group counter set, which no M3 field designates.
pub const COPROCESSOR_GROUP: u16 = 16;

/// The most counters of one set that fit into a payload.
pub const MOST_COUNTERS: usize = 160;

/// Heading of a counter payload; `count` counters of 64 bits follow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct CounterHead {
    /// CPU address; of a coprocessor-group counter set the address of the group.
    pub cpu: U16,
    /// A [`Level`].
    pub level: U16,
    /// The counter set by its code in the M3 field of STORE CPU COUNTER MULTIPLE: 0 extended,
    /// 1 basic, 2 problem-state, 3 crypto-activity, 5 MT-diagnostic; or [`COPROCESSOR_GROUP`].
    pub set: U16,
    /// Number of the first counter.
    pub first: U16,
    /// The number of counters that follow.
    pub count: U16,
    /// Whether the set is authorized at this level (1) or not (0).
    pub authorized: U16,
}

/// A counter payload: the counters of a set that is authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters<'v> {
    head: CounterHead,
    values: &'v [U64],
}

impl<'v> Counters<'v> {
    /// The counters of a set of a CPU or a coprocessor group from number `first` on; at most [`MOST_COUNTERS`].
    #[must_use]
    pub fn new(level: Level, owner: u16, set: u16, first: u16, values: &'v [U64]) -> Self {
        let head = CounterHead {
            cpu: owner.into(),
            level: (level as u16).into(),
            set: set.into(),
            first: first.into(),
            count: (values.len() as u16).into(),
            authorized: 1.into(),
        };
        Self { head, values }
    }

    /// The pieces of the payload, as [`super::frame::encode`] takes them.
    #[must_use]
    pub fn pieces(&self) -> [&[u8]; 2] {
        [self.head.as_bytes(), self.values.as_bytes()]
    }
}

const _: () = assert!(size_of::<SampleHead>() == 8);
const _: () = assert!(size_of::<CounterHead>() == 12);

/// The error in a data payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataError {
    /// The payload has the first number of bytes, and the layout requires the second.
    Length(usize, usize),
    /// No configuration level has this number.
    Level(u16),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found, expected) => {
                write!(
                    f,
                    "a data payload of {found} bytes where {expected} are laid out"
                )
            }
            Self::Level(number) => write!(f, "no configuration level has the number {number}"),
        }
    }
}

impl core::error::Error for DataError {}

/// Decodes a sample-data payload.
pub fn parse_samples(payload: &[u8]) -> Result<(&SampleHead, &[u8; SAMPLE_DATA_BLOCK]), DataError> {
    let wrong = DataError::Length(payload.len(), size_of::<SampleHead>() + SAMPLE_DATA_BLOCK);
    let (head, block) = SampleHead::ref_from_prefix(payload).map_err(|_| wrong)?;
    let block = block.try_into().map_err(|_| wrong)?;
    known_level(head.level)?;
    Ok((head, block))
}

/// Decodes a counter payload.
pub fn parse_counters(payload: &[u8]) -> Result<(&CounterHead, &[U64]), DataError> {
    let short = DataError::Length(payload.len(), size_of::<CounterHead>());
    let (head, values) = CounterHead::ref_from_prefix(payload).map_err(|_| short)?;
    let expected = usize::from(head.count.get()) * size_of::<U64>();
    if values.len() != expected {
        return Err(DataError::Length(
            payload.len(),
            size_of::<CounterHead>() + expected,
        ));
    }
    known_level(head.level)?;
    let values = <[U64]>::ref_from_bytes(values).map_err(|_| short)?;
    Ok((head, values))
}

fn known_level(level: U16) -> Result<(), DataError> {
    match Level::from_number(level.get()) {
        Some(_) => Ok(()),
        None => Err(DataError::Level(level.get())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sample_payload_is_a_heading_and_exactly_one_block() {
        let head = SampleHead {
            cpu: 3.into(),
            level: 1.into(),
            sequence: 9.into(),
        };
        let mut payload = head.as_bytes().to_vec();
        payload.extend([0x5A; SAMPLE_DATA_BLOCK]);
        assert_eq!(payload[..8], [0, 3, 0, 1, 0, 0, 0, 9]);
        let (parsed, block) = parse_samples(&payload).unwrap();
        assert_eq!((*parsed, block), (head, &[0x5A; SAMPLE_DATA_BLOCK]));
        payload.pop();
        assert_eq!(parse_samples(&payload), Err(DataError::Length(4103, 4104)));
    }

    #[test]
    fn a_payload_has_room_for_every_set_of_every_model() {
        for model in &cpumf::model::MODELS {
            for set in cpumf::CounterSet::ALL {
                let count = usize::from(model.range(set).count);
                assert!(count <= MOST_COUNTERS, "{} {set:?}", model.name);
            }
        }
        let payload = size_of::<CounterHead>() + MOST_COUNTERS * size_of::<U64>();
        assert!(payload <= crate::frame::LARGEST_PAYLOAD);
    }

    #[test]
    fn counters_are_as_many_as_the_heading_says() {
        let two = [7.into(), 8.into()];
        let mut payload = Counters::new(Level::Guest, 1, 2, 32, &two)
            .pieces()
            .concat();
        assert_eq!(payload[..12], [0, 1, 0, 2, 0, 2, 0, 32, 0, 2, 0, 1]);
        assert_eq!(
            parse_counters(&payload[..20]),
            Err(DataError::Length(20, 28))
        );
        let (parsed, values) = parse_counters(&payload).unwrap();
        assert_eq!(
            (parsed.first.get(), values),
            (32, &[7.into(), 8.into()][..])
        );
        payload[3] = 3;
        assert_eq!(parse_counters(&payload), Err(DataError::Level(3)));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_or_consistent(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok((head, values)) = parse_counters(&payload) {
                prop_assert_eq!(usize::from(head.count.get()), values.len());
            }
            prop_assert!(parse_samples(&payload).is_err());
        }
    }
}
