//! z/VM monitor records, and the one with the counters of a CPU: MRPRCMFC, domain 5 record 13.
//!
//! A record begins with a header, which has its length, domain and number. In MRPRCMFC an introductory
//! section and the counters of all active sets follow. When the counters do not fit, the record is partial:
//! its P bit is one, and the next record continues with the counters while all other fields are the same. A
//! set may be divided between any two counters.
//!
//! The record does not say which counters belong to which set. This writer puts the sets in the order of
//! their counter numbers: basic, problem-state, crypto-activity, extended. The two version numbers determine
//! how many counters each has.

use zerocopy::{
    FromBytes,
    byteorder::big_endian::{U16, U32, U64},
};

use super::{
    Counters, Malformed, Problem, SetType,
    counters::{Width, count_of},
    layout::{Form, Found, Layout, Part, Visitor, layout},
};

#[cfg(test)]
pub(super) mod tests;
mod write;

pub use write::Records;

layout! {
    /// MRRECHDR, the header of every monitor record.
    Header = "record header", 20 bytes {
        /// Length of the record, header included.
        length: U16 = "MRHDRLEN", Form::Number;
        /// Zeros.
        zeros: U16 = "MRHDRZER", Form::Number;
        /// Domain.
        domain: u8 = "MRHDRDM", Form::Number;
        /// Reserved.
        reserved: u8 = "*", Form::Reserved;
        /// Number of the record in its domain.
        record: U16 = "MRHDRRC", Form::Number;
        /// When the record was made: TOD clock, bits 0-63.
        tod: U64 = "MRHDRTOD", Form::Tod;
        /// Reserved.
        reserved_16: U32 = "*", Form::Reserved;
    }
}

/// The domain of processors.
pub const PROCESSOR_DOMAIN: u8 = 5;
/// The number of MRPRCMFC in it.
pub const COUNTERS_RECORD: u16 = 13;
/// The longest record that this writer makes: a page. The format allows 65,535 bytes.
pub const LONGEST: usize = 4096;

layout! {
    /// The introductory section of MRPRCMFC.
    Introduction = "introductory section", 44 bytes {
        /// Length of this section.
        length: U16 = "PRCMFC_INTLEN", Form::Number;
        /// CPU address.
        cpu: U16 = "PRCMFC_PFXCPUAD", Form::Number;
        /// The active counter sets. The source gives the field one byte and names bits of the byte after it;
        /// here the field has both bytes.
        active: U16 = "PRCMFC_CCFCMFAC", Form::Bits(&[
            (0, "PRCMFC_COPROC"), (12, "PRCMFC_CRYPTO"), (13, "PRCMFC_PROB"), (14, "PRCMFC_BASIC"),
            (15, "PRCMFC_EXT"),
        ]);
        /// Reserved for IBM use.
        reserved_26: u8 = "*", Form::Reserved;
        /// Bit 0 is P: the next record continues this one.
        flags: u8 = "PRCMFC_FLAGS", Form::Bits(&[(0, "PRCMFC_P")]);
        /// How many measurement alerts so far have reported loss of counter data.
        lost: U32 = "PRCMFC_CCFCTLCD", Form::Number;
        /// Counter lifetime: a number that changes when the counters start anew.
        lifetime: U32 = "PRCMFC_RCCLFTIM", Form::Number;
        /// Cycles per microsecond.
        speed: U32 = "PRCMFC_CCFCPUSP", Form::Number;
        /// First version number of the data's format.
        cfvn: U16 = "PRCMFC_CFVN", Form::Number;
        /// Second version number of the data's format.
        csvn: U16 = "PRCMFC_CSVN", Form::Number;
        /// Counter first version number of the hardware.
        hardware_cfvn: U16 = "PRCMFC_CCFCFVN", Form::Number;
        /// Counter second version number of the hardware.
        hardware_csvn: U16 = "PRCMFC_CCFCSVN", Form::Number;
        /// When the counters were harvested: TOD clock, bits 0-63.
        harvested: U64 = "PRCMFC_CCFTOD", Form::Tod;
        /// Offset of the counters in the record.
        counters_offset: U16 = "PRCMFC_HWCOFF", Form::Number;
        /// Length of all counters in it.
        counters_length: U16 = "PRCMFC_HWCLEN", Form::Number;
        /// Reserved for IBM use.
        reserved_60: u8 = "*", Form::Reserved;
        /// Thread.
        thread: u8 = "PRCMFC_TID", Form::Number;
        /// Core.
        core: U16 = "PRCMFC_CORID", Form::Number;
    }
}

const INTRODUCTION_AT: usize = size_of::<Header>();
const COUNTERS_AT: usize = INTRODUCTION_AT + size_of::<Introduction>();
/// Later versions added thread and core; without them a section ends before their word.
const LEAST: usize = core::mem::offset_of!(Introduction, reserved_60);

const COPROCESSOR: u16 = 0x8000;
const PARTIAL: u8 = 0x80;

/// The sets of a record in the order of their counters, with their bits.
const SETS: [(SetType, u16); 4] = [
    (SetType::BASIC, 0x0002),
    (SetType::PROBLEM_STATE, 0x0004),
    (SetType::CRYPTO_ACTIVITY, 0x0008),
    (SetType::EXTENDED, 0x0001),
];

/// The fields of the records of a CPU, without the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorCounters {
    /// When the records were made: TOD clock, bits 0-63.
    pub written: u64,
    /// CPU address.
    pub cpu: u16,
    /// The coprocessor-group counter set is active. The record has none of its counters.
    pub coprocessor_group: bool,
    /// How many measurement alerts so far have reported loss of counter data.
    pub lost: u32,
    /// Counter lifetime: a number that changes when the counters start anew.
    pub lifetime: u32,
    /// Cycles per microsecond.
    pub speed: u32,
    /// First and second version number of the data's format.
    pub versions: [u16; 2],
    /// Counter first and second version number of the hardware.
    pub hardware_versions: [u16; 2],
    /// When the counters were harvested: TOD clock, bits 0-63.
    pub harvested: u64,
    /// Thread.
    pub thread: u8,
    /// Core.
    pub core: u16,
}

/// A decoded monitor record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The header.
    pub header: Header,
    /// Its length in bytes.
    pub length: usize,
    /// The counters of a CPU, if the record is MRPRCMFC.
    pub counters: Option<Decoded<'a>>,
}

/// A decoded record with all or some counters of a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// The fields of the record.
    pub data: ProcessorCounters,
    /// The sets that are active in this record and its continuations: the bits of PRCMFC_CCFCMFAC.
    pub active: u16,
    /// P: the next record continues this one.
    pub is_partial: bool,
    /// The counters of this record, of all sets.
    pub counters: Counters<'a>,
}

impl Decoded<'_> {
    /// The active sets in the order of their counters.
    pub fn sets(&self) -> impl Iterator<Item = SetType> + use<> {
        let active = self.active;
        let sets = SETS.into_iter();
        sets.filter_map(move |(set, bit)| (active & bit != 0).then_some(set))
    }

    /// The active sets in the order of their counters, each with the number of them if the version numbers of the data's
    /// format are known.
    pub fn counted_sets(&self) -> impl Iterator<Item = (SetType, Option<usize>)> + use<> {
        let versions = self.data.versions;
        self.sets().map(move |set| (set, count_of(set, versions)))
    }

    /// The number of counters of all active sets, if the version numbers of the data's format are known.
    #[must_use]
    pub fn active_counters(&self) -> Option<usize> {
        self.counted_sets().map(|(_, count)| count).sum()
    }

    /// Whether `next`, the next record, continues this one.
    #[must_use]
    pub fn goes_on_in(&self, next: &Self) -> bool {
        // MRHDRTOD may differ: the source speaks only of the fields of MRPRCMFC.
        let written = self.data.written;
        let same = ProcessorCounters {
            written,
            ..next.data
        };
        self.is_partial && self.data == same && self.active == next.active
    }
}

/// Decodes the record at the beginning of `bytes`, and ignores what follows it.
///
/// # Errors
/// The first field that is wrong, with its offset in `bytes`.
pub fn decode(bytes: &[u8]) -> Result<Record<'_>, Malformed> {
    decode_with(bytes, &mut |_| {})
}

/// Decodes a record as [`decode`] does, and shows its parts on the way.
///
/// # Errors
/// As [`decode`].
pub fn decode_with<'a>(bytes: &'a [u8], visit: &mut Visitor<'_>) -> Result<Record<'a>, Malformed> {
    let header = Header::read(bytes, 0, bytes.len(), size_of::<Header>())?;
    let wrong = |offset, field, problem| Malformed {
        offset,
        field,
        problem,
    };
    let (says, there) = (u64::from(header.length.get()), bytes.len() as u64);
    let least = size_of::<Header>() as u64;
    if says < least {
        return Err(wrong(0, "MRHDRLEN", Problem::TooShort { says, least }));
    }
    if says > there {
        return Err(wrong(0, "MRHDRLEN", Problem::Truncated { says, there }));
    }
    if header.zeros.get() != 0 {
        let (found, expected) = (u64::from(header.zeros.get()), "0");
        return Err(wrong(2, "MRHDRZER", Problem::Value { found, expected }));
    }
    let length = says as usize;
    let record = bytes.get(..length).unwrap_or(bytes);
    let (own, _) = record.split_at(size_of::<Header>());
    visit(Part::section::<Header>(0, own));
    let kind = (header.domain, header.record.get());
    let counters = if kind == (PROCESSOR_DOMAIN, COUNTERS_RECORD) {
        Some(counters(record, &header, visit)?)
    } else {
        None
    };
    Ok(Record {
        header,
        length,
        counters,
    })
}

/// The introductory section and the counters of a record.
fn counters<'a>(
    record: &'a [u8],
    header: &Header,
    visit: &mut Visitor<'_>,
) -> Result<Decoded<'a>, Malformed> {
    let wrong = |offset, field, problem| Malformed {
        offset: INTRODUCTION_AT + offset,
        field,
        problem,
    };
    let first = Introduction::read(record, INTRODUCTION_AT, record.len(), 2)?;
    let (says, limit) = (usize::from(first.length.get()), record.len() as u64);
    if says < LEAST {
        let (says, least) = (says as u64, LEAST as u64);
        return Err(wrong(0, "PRCMFC_INTLEN", Problem::TooShort { says, least }));
    }
    let end = INTRODUCTION_AT + says;
    let Some(section) = record.get(INTRODUCTION_AT..end) else {
        let end = end as u64;
        return Err(wrong(0, "PRCMFC_INTLEN", Problem::Beyond { end, limit }));
    };
    let whole = Introduction::read(record, INTRODUCTION_AT, end, LEAST)?;
    visit(Part::section::<Introduction>(INTRODUCTION_AT, section));
    Found::new(48, "PRCMFC_CCFTOD", whole.harvested.get()).precedes(
        Found::new(8, "MRHDRTOD", header.tod.get()),
        ["not after MRHDRTOD", "not before PRCMFC_CCFTOD"],
        visit,
    );
    let (offset, length) = (whole.counters_offset.get(), whole.counters_length.get());
    if length != 0 && usize::from(offset) < end {
        let expected = "a length that ends before PRCMFC_HWCOFF";
        Found::new(INTRODUCTION_AT, "PRCMFC_INTLEN", whole.length.get()).wrong(expected, visit);
        let (found, expected) = (
            u64::from(offset),
            "an offset behind the introductory section",
        );
        return Err(wrong(
            36,
            "PRCMFC_HWCOFF",
            Problem::Value { found, expected },
        ));
    }
    if !usize::from(length).is_multiple_of(Width::Long.bytes()) {
        let (found, expected) = (
            u64::from(length),
            "a multiple of 8, the length of a counter",
        );
        return Err(wrong(
            38,
            "PRCMFC_HWCLEN",
            Problem::Value { found, expected },
        ));
    }
    let start = usize::from(offset);
    let bytes = match length {
        0 => &[],
        _ => {
            let end = start + usize::from(length);
            let Some(bytes) = record.get(start..end) else {
                let expected = "an offset from which PRCMFC_HWCLEN bytes are in the record";
                Found::new(56, "PRCMFC_HWCOFF", offset).wrong(expected, visit);
                let end = end as u64;
                return Err(wrong(38, "PRCMFC_HWCLEN", Problem::Beyond { end, limit }));
            };
            // A counter or more that belongs to nothing.
            if record.len() >= end + Width::Long.bytes() {
                let expected = "a length that ends with the counters";
                Found::new(0, "MRHDRLEN", header.length.get()).wrong(expected, visit);
            }
            bytes
        }
    };
    let counters = Counters::sections(bytes, Width::Long.bytes(), Width::Long);
    visit(Part::Counters {
        name: "PRCMFC_COUNTERS",
        at: start,
        set: None,
        counters,
    });
    Ok(Decoded {
        data: ProcessorCounters {
            written: header.tod.get(),
            cpu: whole.cpu.get(),
            coprocessor_group: whole.active.get() & COPROCESSOR != 0,
            lost: whole.lost.get(),
            lifetime: whole.lifetime.get(),
            speed: whole.speed.get(),
            versions: [whole.cfvn, whole.csvn].map(U16::get),
            hardware_versions: [whole.hardware_cfvn, whole.hardware_csvn].map(U16::get),
            harvested: whole.harvested.get(),
            thread: whole.thread,
            core: whole.core.get(),
        },
        active: whole.active.get(),
        is_partial: whole.flags & PARTIAL != 0,
        counters,
    })
}

/// Whether bytes may be the beginning of a monitor record: tests its zeros and its domain, to distinguish
/// monitor records from other files.
#[must_use]
pub fn looks_like_a_header(bytes: &[u8]) -> bool {
    Header::read_from_prefix(bytes).is_ok_and(|(header, _)| {
        usize::from(header.length.get()) >= size_of::<Header>()
            && header.zeros.get() == 0
            && header.domain <= 31
            && header.reserved == 0
            && header.record.get() != 0
    })
}
