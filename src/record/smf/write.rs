//! Writing records, and dividing counter sets among them.
//!
//! The writer never divides a counter set, because neither subtype has a field for the number of a piece's
//! first counter. A set that does not fit begins another record, and all other fields are the same in both.

use zerocopy::byteorder::big_endian::{U16, U32};

use super::{
    Absolutes, Deltas, Envelope, Header, Identification, SelfDefining, absolutes, deltas,
    header::SubsystemSection,
};
use crate::{
    CounterValues, SetType,
    counters::{MOST_COUNTERS, Width},
    layout::{CannotEncode, Layout},
};

/// The longest record that this writer makes, record-descriptor word included: after a block-descriptor
/// word it fills the largest block, 32,760 bytes.
pub const LONGEST: usize = 32_756;

const fn align(offset: usize, boundary: usize) -> usize {
    offset.next_multiple_of(boundary)
}

const SUBSYSTEM_AT: usize = size_of::<Header>() + size_of::<SelfDefining>();
const IDENTIFICATION_AT: usize = align(SUBSYSTEM_AT + size_of::<SubsystemSection>(), 4);
const DATA_AT: usize = align(IDENTIFICATION_AT + size_of::<Identification>(), 8);

#[derive(Clone, Copy, Debug)]
enum Data<'a> {
    Deltas(&'a Deltas),
    Absolutes(&'a Absolutes),
}

/// The records of one CPU and one interval; in most cases one.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    envelope: &'a Envelope,
    data: Data<'a>,
    sets: &'a [CounterValues<'a>],
    /// Whether a record has been written: there is one even without any set.
    begun: bool,
}

/// The offsets of the parts of a record.
struct Places {
    sets: usize,
    counters: usize,
    end: usize,
}

impl<'a> Records<'a> {
    const fn new(envelope: &'a Envelope, data: Data<'a>, sets: &'a [CounterValues<'a>]) -> Self {
        Self {
            envelope,
            data,
            sets,
            begun: false,
        }
    }

    /// Records of subtype 1.
    #[must_use]
    pub const fn deltas(
        envelope: &'a Envelope,
        data: &'a Deltas,
        sets: &'a [CounterValues<'a>],
    ) -> Self {
        Self::new(envelope, Data::Deltas(data), sets)
    }

    /// Records of subtype 2, which cannot hold the z/OS and the MT-diagnostic counter sets.
    #[must_use]
    pub const fn absolutes(
        envelope: &'a Envelope,
        data: &'a Absolutes,
        sets: &'a [CounterValues<'a>],
    ) -> Self {
        Self::new(envelope, Data::Absolutes(data), sets)
    }

    /// Writes the next record to the beginning of `out` and returns its length, or `None` when all sets
    /// have been written.
    ///
    /// # Errors
    /// When the record cannot hold a set, or `out` is too short. The sets of this record remain to be
    /// written, so the same call with a longer buffer may succeed.
    pub fn write(&mut self, out: &mut [u8]) -> Result<Option<usize>, CannotEncode> {
        if self.begun && self.sets.is_empty() {
            return Ok(None);
        }
        for set in self.sets {
            if set.counters.len() > MOST_COUNTERS {
                return Err(CannotEncode::TooManyCounters);
            }
            if !self.has_place_for(set.set) {
                return Err(CannotEncode::NoSuchSet(set.set.0));
            }
        }
        let limit = out.len().min(LONGEST);
        let mut count = self.sets.len();
        while count > 1 && self.places(&self.sets[..count]).end > limit {
            count -= 1;
        }
        let (now, later) = self.sets.split_at(count);
        let places = self.places(now);
        let needs = places.end;
        let Some(record) = out.get_mut(..needs.min(limit)) else {
            return Err(CannotEncode::NoRoom { needs });
        };
        if needs > limit {
            return Err(CannotEncode::NoRoom { needs });
        }
        record.fill(0);
        self.envelope(record);
        self.sections(record, now, &places);
        self.sets = later;
        self.begun = true;
        Ok(Some(needs))
    }

    const fn has_place_for(&self, set: SetType) -> bool {
        match self.data {
            Data::Deltas(_) => true,
            Data::Absolutes(_) => set.0 <= SetType::EXTENDED.0,
        }
    }

    fn places(&self, sets: &[CounterValues<'_>]) -> Places {
        let (data, section) = match self.data {
            Data::Deltas(_) => (
                size_of::<deltas::DataSection>(),
                size_of::<deltas::SetSection>(),
            ),
            Data::Absolutes(_) => (
                size_of::<absolutes::DataSection>(),
                size_of::<absolutes::SetSection>(),
            ),
        };
        let at = align(DATA_AT + data, 8);
        let counters = align(at + section * sets.len(), 8);
        let mut end = counters;
        for set in sets {
            end = align(end, 8) + set.counters.len() * self.width(set).bytes();
        }
        Places {
            sets: at,
            counters,
            end,
        }
    }

    fn width(&self, set: &CounterValues<'_>) -> Width {
        match self.data {
            Data::Deltas(_) => set.counters.width(),
            Data::Absolutes(_) => Width::Long,
        }
    }

    /// Header, self-defining section and the sections of product and job.
    fn envelope(&self, record: &mut [u8]) {
        let (subtype, data_length) = match self.data {
            Data::Deltas(_) => (1, size_of::<deltas::DataSection>()),
            Data::Absolutes(_) => (2, size_of::<absolutes::DataSection>()),
        };
        let mut header = Header::new(self.envelope, subtype);
        header.length = U16::new(record.len() as u16);
        let mut defining = SelfDefining {
            subsystem_offset: U32::ZERO,
            subsystem_length: U16::ZERO,
            subsystem_number: U16::ZERO,
            identification_offset: U32::ZERO,
            identification_length: U16::ZERO,
            identification_number: U16::ZERO,
            data_offset: U32::new(DATA_AT as u32),
            data_length: U16::new(data_length as u16),
            data_number: U16::new(1),
        };
        if let Some(product) = self.envelope.product {
            defining.subsystem_offset = U32::new(SUBSYSTEM_AT as u32);
            defining.subsystem_length = U16::new(size_of::<SubsystemSection>() as u16);
            defining.subsystem_number = U16::new(1);
            product.section().put(record, SUBSYSTEM_AT);
        }
        if let Some(identification) = self.envelope.identification {
            defining.identification_offset = U32::new(IDENTIFICATION_AT as u32);
            defining.identification_length = U16::new(size_of::<Identification>() as u16);
            defining.identification_number = U16::new(1);
            identification.put(record, IDENTIFICATION_AT);
        }
        header.put(record, 0);
        defining.put(record, size_of::<Header>());
    }

    /// The data section, the sections of the sets, and the counters.
    fn sections(&self, record: &mut [u8], sets: &[CounterValues<'_>], places: &Places) {
        let counters = places.counters;
        let number = sets.len() as u16;
        let sets_at = if sets.is_empty() {
            0
        } else {
            places.sets as u32
        };
        match self.data {
            Data::Deltas(data) => data.section(sets_at, number).put(record, DATA_AT),
            Data::Absolutes(data) => {
                let all: usize = sets.iter().map(|set| set.counters.len()).sum();
                let at = if all == 0 { 0 } else { counters as u32 };
                let section = data.section((sets_at, number), (at, all as u16));
                section.put(record, DATA_AT);
            }
        }
        let (mut section_at, mut at) = (places.sets, counters);
        for set in sets {
            let (width, number) = (self.width(set), set.counters.len() as u16);
            at = align(at, 8);
            match self.data {
                Data::Deltas(_) => {
                    let section = deltas::set_section(set.set, width, number, at as u32);
                    section.put(record, section_at);
                    section_at += size_of::<deltas::SetSection>();
                }
                Data::Absolutes(_) => {
                    let section = absolutes::set_section(set.set, number);
                    section.put(record, section_at);
                    section_at += size_of::<absolutes::SetSection>();
                }
            }
            let length = set.counters.len() * width.bytes();
            if let Some(place) = record.get_mut(at..at + length) {
                set.counters.write(width, place);
            }
            at += length;
        }
    }
}
