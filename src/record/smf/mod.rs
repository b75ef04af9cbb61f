//! SMF records of type 113: the counters of the hardware instrumentation services.
//!
//! A record is about one CPU and one interval. It begins with the [`header`] of SMF records with subtypes;
//! the first word of the header is also the record-descriptor word. The self-defining section follows and
//! locates three sections: the product that wrote the record, the job, and the data. The data are those of
//! [subtype 1](deltas) or [subtype 2](absolutes): how far the counters have advanced since the previous
//! record, or their values.
//!
//! The writer chooses the order and length of sections, so a decoder follows the offsets. This writer puts
//! the sections in the order of their description, the first two on a fullword boundary and the others on a
//! doubleword boundary.

pub mod absolutes;
mod claimed;
pub mod deltas;
pub mod header;
mod types;
mod write;

#[cfg(test)]
mod formatter_tests;
#[cfg(test)]
pub(super) mod golden;
#[cfg(test)]
mod tests;

use super::layout::{Found, Layout, Malformed, Part, Problem, Visitor};
use claimed::Claimed;

pub use absolutes::Absolutes;
pub use deltas::Deltas;
pub use header::{Envelope, Header, Identification, SelfDefining, Subsystem};
pub use write::{LONGEST, Records};

/// The record type.
pub const TYPE: u8 = 113;

/// A decoded record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The header.
    pub header: Header,
    /// System, product and job.
    pub envelope: Envelope,
    /// The data section, the counter-set sections and the counters.
    pub data: Data<'a>,
}

/// The data of a record.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Subtype 1.
    Deltas(deltas::Decoded<'a>),
    /// Subtype 2.
    Absolutes(absolutes::Decoded<'a>),
}

/// Three fields that locate the sections of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Triplet {
    /// Offset of the first section from the beginning of the record.
    pub offset: u32,
    /// Length of each.
    pub length: u16,
    /// The number of sections, which are contiguous.
    pub number: u16,
    /// The offsets of the three fields.
    pub at: [usize; 3],
    /// Their names.
    pub names: [&'static str; 3],
}

impl Triplet {
    /// The error in field `which` of the three.
    pub(super) const fn wrong(&self, which: usize, problem: Problem) -> Malformed {
        Malformed {
            offset: self.at[which],
            field: self.names[which],
            problem,
        }
    }

    /// The bytes of all sections. Checks that the sections are in the record after its header and have at
    /// least `least` bytes each.
    pub(super) fn sections<'a>(
        &self,
        record: &'a [u8],
        least: usize,
    ) -> Result<(usize, &'a [u8]), Malformed> {
        if self.number == 0 {
            return Ok((0, &[]));
        }
        if usize::from(self.length) < least {
            let says = u64::from(self.length);
            let least = least as u64;
            return Err(self.wrong(1, Problem::TooShort { says, least }));
        }
        if (self.offset as usize) < size_of::<Header>() {
            return Err(self.wrong(
                0,
                Problem::Value {
                    found: u64::from(self.offset),
                    expected: "an offset behind the header",
                },
            ));
        }
        let (start, length) = (u64::from(self.offset), u64::from(self.length));
        let end = start + length * u64::from(self.number);
        let limit = record.len() as u64;
        if start > limit || start + length > limit {
            let end = start + length;
            return Err(self.wrong(0, Problem::Beyond { end, limit }));
        }
        if end > limit {
            return Err(self.wrong(2, Problem::Beyond { end, limit }));
        }
        // Both are below the record's length, so they fit.
        let (start, end) = (start as usize, end as usize);
        Ok((start, record.get(start..end).unwrap_or_default()))
    }
}

/// Decodes the record at the beginning of `bytes`, and ignores what follows it.
///
/// # Errors
/// The first field that is wrong, with its offset in `bytes`.
pub fn decode(bytes: &[u8]) -> Result<Record<'_>, Malformed> {
    decode_with(bytes, &mut |_| {})
}

/// Decodes a record as [`decode`] does, and shows its parts on the way. It shows the parts before the
/// first wrong field, then returns the error.
///
/// # Errors
/// As [`decode`].
pub fn decode_with<'a>(bytes: &'a [u8], visit: &mut Visitor<'_>) -> Result<Record<'a>, Malformed> {
    let (header, record) = Header::decode(bytes, visit)?;
    let wrong = |offset: usize, field, found, expected| Malformed {
        offset,
        field,
        problem: Problem::Value { found, expected },
    };
    if header.record_type != TYPE {
        let found = u64::from(header.record_type);
        return Err(wrong(5, "SMF113RTY", found, "113 (71 hexadecimal)"));
    }
    let sections = SelfDefining::decode(record, &header, visit)?;
    let mut claimed = Claimed::none();
    claimed.first(size_of::<Header>() + usize::from(header.self_defining.get()));
    let envelope = Envelope::decode(record, &header, &sections, &mut claimed, visit)?;
    let triplet = sections.data();
    let least = match header.subtype.get() {
        1 => deltas::LEAST,
        2 => absolutes::LEAST,
        other => return Err(wrong(22, "SMF113STY", u64::from(other), "1 or 2")),
    };
    if triplet.number != 1 {
        let found = u64::from(triplet.number);
        let expected = "1: a record has one data section";
        return Err(triplet.wrong(2, Problem::Value { found, expected }));
    }
    let (at, section) = triplet.sections(record, least)?;
    claimed.sections(&triplet, (at, section), visit)?;
    let data = match header.subtype.get() {
        1 => Data::Deltas(deltas::decode(record, at, section, &mut claimed, visit)?),
        _ => Data::Absolutes(absolutes::decode(record, at, section, &mut claimed, visit)?),
    };
    if record.len() >= claimed.end() + ALIGNMENT {
        let length = Found::new(0, "SMF113LEN", header.length.get());
        length.wrong("a length that ends with the last section", visit);
    }
    Ok(Record {
        header,
        envelope,
        data,
    })
}

/// The largest boundary on which a section may end.
const ALIGNMENT: usize = 8;

/// Reads the section that a triplet designates, and shows it.
fn section<T: Layout>(
    record: &[u8],
    triplet: &Triplet,
    least: usize,
    claimed: &mut Claimed,
    visit: &mut Visitor<'_>,
) -> Result<Option<T>, Malformed> {
    let (at, bytes) = triplet.sections(record, least)?;
    claimed.sections(triplet, (at, bytes), visit)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if triplet.number > 1 {
        let number = Found::new(triplet.at[2], triplet.names[2], triplet.number);
        number.wrong("0 or 1", visit);
    }
    let first = bytes.get(..triplet.length.into()).unwrap_or(bytes);
    let whole = T::read(first, 0, first.len(), least)?;
    visit(Part::section::<T>(at, first));
    Ok(Some(whole))
}
