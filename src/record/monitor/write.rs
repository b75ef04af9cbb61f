//! Writing the records of a CPU.

use zerocopy::byteorder::big_endian::{U16, U32, U64};

use super::{
    COPROCESSOR, COUNTERS_AT, COUNTERS_RECORD, Header, INTRODUCTION_AT, Introduction, LONGEST,
    PARTIAL, PROCESSOR_DOMAIN, ProcessorCounters, SETS,
};
use crate::{
    CounterValues, SetType,
    counters::{MOST_COUNTERS, Width},
    layout::{CannotEncode, Layout},
};

/// The records of one CPU: one, or as many as its counters need.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    data: &'a ProcessorCounters,
    sets: &'a [CounterValues<'a>],
    /// The number of counters that have been written.
    written: usize,
    begun: bool,
}

impl<'a> Records<'a> {
    /// The records of these sets, at most one of each type, in any order.
    #[must_use]
    pub const fn new(data: &'a ProcessorCounters, sets: &'a [CounterValues<'a>]) -> Self {
        Self {
            data,
            sets,
            written: 0,
            begun: false,
        }
    }

    /// All counters in the order of the record.
    fn values(&self) -> impl Iterator<Item = u64> + use<'a> {
        let sets = self.sets;
        let ordered = SETS.into_iter();
        let of_type = move |(kind, _)| sets.iter().find(move |set| set.set == kind);
        ordered
            .filter_map(of_type)
            .flat_map(|set| set.counters.iter())
    }

    fn active(&self) -> u16 {
        let bit = |set: SetType| SETS.iter().find(|(kind, _)| *kind == set);
        let sets = self.sets.iter().filter_map(|set| bit(set.set));
        let coprocessor = if self.data.coprocessor_group {
            COPROCESSOR
        } else {
            0
        };
        sets.fold(coprocessor, |all, (_, bit)| all | bit)
    }

    /// Writes the next record to the beginning of `out` and returns its length, or `None` when all counters
    /// have been written. If not all counters fit, the record fills `out`. No record is longer than
    /// [`LONGEST`].
    ///
    /// # Errors
    /// When the record cannot hold a set, a set has too many counters, or `out` is too short for one counter.
    pub fn write(&mut self, out: &mut [u8]) -> Result<Option<usize>, CannotEncode> {
        for set in self.sets {
            if !SETS.iter().any(|(kind, _)| *kind == set.set) {
                return Err(CannotEncode::NoSuchSet(set.set.0));
            }
            if set.counters.len() > MOST_COUNTERS {
                return Err(CannotEncode::TooManyCounters);
            }
        }
        let left = self.values().count().saturating_sub(self.written);
        if self.begun && left == 0 {
            return Ok(None);
        }
        let limit = out.len().min(LONGEST);
        let counter = Width::Long.bytes();
        let room = limit.saturating_sub(COUNTERS_AT) / counter;
        if limit < COUNTERS_AT || room == 0 && left > 0 {
            let needs = COUNTERS_AT + counter * left.min(1);
            return Err(CannotEncode::NoRoom { needs });
        }
        let now = left.min(room);
        let length = COUNTERS_AT + now * counter;
        let data = self.data;
        let header = Header {
            length: U16::new(length as u16),
            zeros: U16::ZERO,
            domain: PROCESSOR_DOMAIN,
            reserved: 0,
            record: U16::new(COUNTERS_RECORD),
            tod: U64::new(data.written),
            reserved_16: U32::ZERO,
        };
        let introduction = Introduction {
            length: U16::new(size_of::<Introduction>() as u16),
            cpu: U16::new(data.cpu),
            active: U16::new(self.active()),
            reserved_26: 0,
            flags: if now < left { PARTIAL } else { 0 },
            lost: U32::new(data.lost),
            lifetime: U32::new(data.lifetime),
            speed: U32::new(data.speed),
            cfvn: U16::new(data.versions[0]),
            csvn: U16::new(data.versions[1]),
            hardware_cfvn: U16::new(data.hardware_versions[0]),
            hardware_csvn: U16::new(data.hardware_versions[1]),
            harvested: U64::new(data.harvested),
            counters_offset: U16::new(COUNTERS_AT as u16),
            counters_length: U16::new((now * counter) as u16),
            reserved_60: 0,
            thread: data.thread,
            core: U16::new(data.core),
        };
        header.put(out, 0);
        introduction.put(out, INTRODUCTION_AT);
        let places = out.get_mut(COUNTERS_AT..length).unwrap_or_default();
        let values = self.values().skip(self.written);
        for (place, value) in places.chunks_exact_mut(counter).zip(values) {
            place.copy_from_slice(&value.to_be_bytes());
        }
        self.written += now;
        self.begun = true;
        Ok(Some(length))
    }
}
