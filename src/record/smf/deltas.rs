//! Subtype 1: how far the counters of a CPU have advanced since the previous record.
//!
//! The first record of a run is about the first interval. Each counter set has a section that locates its
//! counters and gives their width, 4 or 8 bytes.

use zerocopy::byteorder::big_endian::{U16, U32, U64};

use super::{Triplet, claimed::Claimed, types::Types};
use crate::{
    CounterValues, Counters, Ebcdic, Malformed, SetType,
    counters::{Width, count_of},
    layout::{Field, Form, Found, Layout, Part, Visitor, layout, with_form},
};

/// The rule of the number of counters in a set.
pub(super) const MOST: &str = "at most what the version numbers give the set";

/// Processor classes, of both subtypes.
pub(super) const CLASSES: Form = Form::Code(&[(0, "CP"), (2, "zAAP"), (4, "zIIP")]);

/// Processor classes of a record whose flags say that 2 means zCBP.
pub(super) const CLASSES_WITH_ZCBP: Form = Form::Code(&[(0, "CP"), (2, "zCBP"), (4, "zIIP")]);

/// The name of the flag that says so.
pub(super) const ZCBP_NAME: &str = "processor class 2 is zCBP";

/// Types of counter sets.
const SETS: Form = Form::Code(&[
    (1, "BASIC"),
    (2, "PROBLEM-STATE"),
    (3, "CRYPTO-ACTIVITY"),
    (4, "EXTENDED"),
    (5, "ZOS"),
    (6, "MT-DIAGNOSTIC"),
]);

layout! {
    /// The data section of subtype 1.
    DataSection = "data section, subtype 1", 78 bytes {
        /// When the run began: TOD clock, bits 0-63.
        run_start: U64 = "SMF113_1_CTS", Form::Tod;
        /// When the record was made: TOD clock, bits 0-63.
        written: U64 = "SMF113_1_CTM", Form::Tod;
        /// CPU address.
        cpu: U16 = "SMF113_1_CpuId", Form::Number;
        /// Processor class.
        class: u8 = "SMF113_1_CpuProcClass", CLASSES;
        /// Reserved.
        reserved: u8 = "*", Form::Reserved;
        /// Cycles per microsecond.
        speed: U32 = "SMF113_1_CpuSpeed", Form::Number;
        /// Machine type.
        machine_type: Ebcdic<4> = "SMF113_1_MachType", Form::Text;
        /// Model.
        model: Ebcdic<16> = "SMF113_1_MachModel", Form::Text;
        /// Version number of the z/OS counters.
        version_0: U16 = "SMF113_1_CtrVersion0", Form::Number;
        /// Counter first version number.
        version_1: U16 = "SMF113_1_CtrVersion1", Form::Number;
        /// Counter second version number.
        version_2: U16 = "SMF113_1_CtrVersion2", Form::Number;
        /// Bit 0: counter data were lost; bits 1 and 2: MT counter data were; bit 3: class 2 is zCBP.
        flags: U16 = "SMF113_1_Flags", Form::Bits(&[
            (0, "lost counter data"), (1, "lost MT counter data"),
            (2, "lost MT counter data (bit 2)"), (3, ZCBP_NAME),
        ]);
        /// Offset of the counter-set sections.
        sets_offset: U32 = "SMF113_1_CSOF", Form::Number;
        /// Length of each.
        set_length: U16 = "SMF113_1_CSLN", Form::Number;
        /// How many there are.
        sets_number: U16 = "SMF113_1_CSON", Form::Number;
        /// Sequence code of the machine.
        sequence_code: Ebcdic<16> = "SMF113_1_MachSeqCode", Form::Text;
        /// Core.
        core: U16 = "SMF113_1_CoreId", Form::Number;
    }
}

/// The fewest bytes of a data section: later versions added sequence code and core.
pub(super) const LEAST: usize = core::mem::offset_of!(DataSection, sequence_code);

layout! {
    /// A counter-set section of subtype 1. Its length follows from its fields and their order, which are
    /// known.
    SetSection = "counter-set section", 12 bytes {
        /// Type of the set.
        set: U16 = "SMF113_1_CSType", SETS;
        /// Bit 0: the counters have 8 bytes.
        flags: U16 = "SMF113_1_CSFlags", Form::Bits(&[(0, "SMF113_1_CSUseLCDS")]);
        /// Offset of the counter data sections.
        offset: U32 = "SMF113_1_CDOF", Form::Number;
        /// Length of each.
        length: U16 = "SMF113_1_CDLN", Form::Number;
        /// How many there are.
        number: U16 = "SMF113_1_CDON", Form::Number;
    }
}

const USE_LONG: u16 = 0x8000;
const LOST: u16 = 0x8000;
/// The manual of z/OS 2.1 gives the loss of MT counter data bit 1.
const LOST_MT: u16 = 0x4000;
/// A later published mapping has it in bit 2, and in bit 1 a loss of data that it does not describe.
const LOST_MT_LATER: u16 = 0x2000;
const ZCBP: u16 = 0x1000;

/// The fields of a data section whose flags say that class 2 is zCBP.
const FIELDS_WITH_ZCBP: [Field; DataSection::FIELDS.len()] = {
    let class = core::mem::offset_of!(DataSection, class);
    with_form(DataSection::FIELDS, class, CLASSES_WITH_ZCBP)
};

/// The fields of a record of subtype 1, without its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deltas {
    /// When the run began: TOD clock, bits 0-63.
    pub run_start: u64,
    /// When the record was made: TOD clock, bits 0-63.
    pub written: u64,
    /// CPU address.
    pub cpu: u16,
    /// Processor class: 0 CP, 2 zAAP or zCBP, 4 zIIP.
    pub class: u8,
    /// Processor class 2 is zCBP, not zAAP.
    pub zcbp: bool,
    /// Cycles per microsecond.
    pub speed: u32,
    /// Machine type.
    pub machine_type: Ebcdic<4>,
    /// Model.
    pub model: Ebcdic<16>,
    /// Version numbers: of the z/OS counters, counter first, counter second.
    pub versions: [u16; 3],
    /// Counter data were lost in the interval.
    pub lost: bool,
    /// MT counter data were lost in the interval. A reader takes it from bit 1 or bit 2 of the flags, as published
    /// mappings disagree; this writer sets bit 1, which either kind of reader takes for a loss.
    pub lost_mt: bool,
    /// Sequence code of the machine.
    pub sequence_code: Ebcdic<16>,
    /// Core.
    pub core: u16,
}

/// A decoded data section of subtype 1 with its counters.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// The fields of the data section.
    pub data: Deltas,
    record: &'a [u8],
    sections: Sections<'a>,
}

#[derive(Clone, Copy, Debug)]
struct Sections<'a> {
    at: usize,
    bytes: &'a [u8],
    length: usize,
}

impl Sections<'_> {
    fn count(&self) -> usize {
        self.bytes.len() / self.length.max(1)
    }
}

impl<'a> Decoded<'a> {
    /// The counter sets, in the order of their sections.
    pub fn sets(&self) -> impl Iterator<Item = CounterValues<'a>> + use<'a> {
        let Self {
            record, sections, ..
        } = *self;
        (0..sections.count())
            .map_while(move |index| set(record, &sections, index, &mut |_| {}).ok())
            .map(|set| set.values)
    }
}

/// A counter set and the place of its counters in the record.
struct Set<'a> {
    values: CounterValues<'a>,
    triplet: Triplet,
    counters: (usize, &'a [u8]),
}

/// Set `index` of a record.
fn set<'a>(
    record: &'a [u8],
    sections: &Sections<'a>,
    index: usize,
    visit: &mut Visitor<'_>,
) -> Result<Set<'a>, Malformed> {
    let start = index * sections.length;
    let at = sections.at + start;
    let bytes = sections.bytes.get(start..).unwrap_or_default();
    let bytes = bytes.get(..sections.length).unwrap_or(bytes);
    let section = SetSection::read(bytes, 0, bytes.len(), size_of::<SetSection>())?;
    visit(Part::section::<SetSection>(at, bytes));
    let width = if section.flags.get() & USE_LONG != 0 {
        Width::Long
    } else {
        Width::Short
    };
    let triplet = Triplet {
        offset: section.offset.get(),
        length: section.length.get(),
        number: section.number.get(),
        at: [at + 4, at + 8, at + 10],
        names: ["SMF113_1_CDOF", "SMF113_1_CDLN", "SMF113_1_CDON"],
    };
    if triplet.number > 0 && usize::from(triplet.length) != width.bytes() {
        Found::new(at + 2, "SMF113_1_CSFlags", section.flags.get())
            .wrong("a value whose bit 0 is one if SMF113_1_CDLN is 8", visit);
        Found::new(at + 8, "SMF113_1_CDLN", triplet.length)
            .wrong("8 if SMF113_1_CSUseLCDS is one, otherwise 4", visit);
    }
    let (at, bytes) = triplet.sections(record, width.bytes())?;
    let counters = Counters::sections(bytes, triplet.length.into(), width);
    visit(Part::Counters {
        name: match width {
            Width::Short => "SMF113_1_SCDS",
            Width::Long => "SMF113_1_LCDS",
        },
        at,
        set: Some(section.set.get()),
        counters,
    });
    Ok(Set {
        values: CounterValues {
            set: SetType(section.set.get()),
            counters,
        },
        triplet,
        counters: (at, bytes),
    })
}

/// Decodes the data section, which is at `at` in the record.
pub(super) fn decode<'a>(
    record: &'a [u8],
    at: usize,
    section: &'a [u8],
    claimed: &mut Claimed,
    visit: &mut Visitor<'_>,
) -> Result<Decoded<'a>, Malformed> {
    let whole = DataSection::read(section, 0, section.len(), LEAST)?;
    let fields = match whole.flags.get() & ZCBP {
        0 => DataSection::FIELDS,
        _ => &FIELDS_WITH_ZCBP,
    };
    visit(Part::with_fields::<DataSection>(at, section, fields));
    Found::new(at, "SMF113_1_CTS", whole.run_start.get()).precedes(
        Found::new(at + 8, "SMF113_1_CTM", whole.written.get()),
        ["not after SMF113_1_CTM", "not before SMF113_1_CTS"],
        visit,
    );
    let triplet = Triplet {
        offset: whole.sets_offset.get(),
        length: whole.set_length.get(),
        number: whole.sets_number.get(),
        at: [at + 52, at + 56, at + 58],
        names: ["SMF113_1_CSOF", "SMF113_1_CSLN", "SMF113_1_CSON"],
    };
    let (sets_at, bytes) = triplet.sections(record, size_of::<SetSection>())?;
    let sections = Sections {
        at: sets_at,
        bytes,
        length: triplet.length.into(),
    };
    claimed.sections(&triplet, (sets_at, bytes), visit)?;
    let mut types = Types::default();
    for index in 0..sections.count() {
        let set = set(record, &sections, index, visit)?;
        claimed.sections(&set.triplet, set.counters, visit)?;
        let at = sections.at + index * sections.length;
        types.add(Found::new(at, "SMF113_1_CSType", set.values.set.0), visit);
        let versions = [whole.version_1.get(), whole.version_2.get()];
        if count_of(set.values.set, versions).is_some_and(|most| most < set.values.counters.len()) {
            Found::new(at + 10, "SMF113_1_CDON", set.triplet.number).wrong(MOST, visit);
        }
    }
    Ok(Decoded {
        data: whole.into(),
        record,
        sections,
    })
}

impl From<DataSection> for Deltas {
    fn from(section: DataSection) -> Self {
        let flags = section.flags.get();
        Self {
            run_start: section.run_start.get(),
            written: section.written.get(),
            cpu: section.cpu.get(),
            class: section.class,
            zcbp: flags & ZCBP != 0,
            speed: section.speed.get(),
            machine_type: section.machine_type,
            model: section.model,
            versions: [section.version_0, section.version_1, section.version_2].map(U16::get),
            lost: flags & LOST != 0,
            lost_mt: flags & (LOST_MT | LOST_MT_LATER) != 0,
            sequence_code: section.sequence_code,
            core: section.core.get(),
        }
    }
}

impl Deltas {
    /// The data section of a record with `sets_number` counter sets.
    pub(super) fn section(&self, sets_offset: u32, sets_number: u16) -> DataSection {
        let [version_0, version_1, version_2] = self.versions.map(U16::new);
        let flags = [
            (self.lost, LOST),
            (self.lost_mt, LOST_MT),
            (self.zcbp, ZCBP),
        ];
        let flags = flags.into_iter().filter(|(is_on, _)| *is_on);
        let flags = flags.fold(0, |flags, (_, bit)| flags | bit);
        DataSection {
            run_start: U64::new(self.run_start),
            written: U64::new(self.written),
            cpu: U16::new(self.cpu),
            class: self.class,
            reserved: 0,
            speed: U32::new(self.speed),
            machine_type: self.machine_type,
            model: self.model,
            version_0,
            version_1,
            version_2,
            flags: U16::new(flags),
            sets_offset: U32::new(sets_offset),
            set_length: U16::new(size_of::<SetSection>() as u16),
            sets_number: U16::new(sets_number),
            sequence_code: self.sequence_code,
            core: U16::new(self.core),
        }
    }
}

/// The section of a set whose counters begin at `offset`.
pub(super) fn set_section(set: SetType, width: Width, number: u16, offset: u32) -> SetSection {
    SetSection {
        set: U16::new(set.0),
        flags: U16::new(if width == Width::Long { USE_LONG } else { 0 }),
        offset: U32::new(offset),
        length: U16::new(width.bytes() as u16),
        number: U16::new(number),
    }
}
