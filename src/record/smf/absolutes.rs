//! Subtype 2: the values of the counters of a CPU.
//!
//! A run has one record of each CPU at its beginning, at each interval and at its end, and two at a state
//! change. All counters of a record are contiguous, 8 bytes each. Each counter set has a section with the
//! number of its counters and a bitmap of them. No set lacks a counter, so a bitmap has a one for each
//! counter, then zeros; it has 64 bits, and so a larger set has more counters than ones.
//!
//! The sections of the sets have the form that IBM's formatter of these records reads. This writer made longer
//! ones before it knew that form ([`LongSection`]); they are read as well.

use zerocopy::{
    FromBytes, IntoBytes,
    byteorder::big_endian::{U16, U32, U64},
};

use super::{
    Triplet,
    claimed::Claimed,
    deltas::{CLASSES, CLASSES_WITH_ZCBP, MOST, ZCBP_NAME},
    types::Types,
};
use crate::{
    CounterValues, Counters, Ebcdic, Malformed, Problem, SetType,
    counters::{Width, count_of},
    layout::{Field, Form, Found, Layout, Part, Visitor, layout, with_form},
};

/// Types of counter sets. Subtype 2 has neither the z/OS nor the MT-diagnostic counter set.
const SETS: Form = Form::Code(&[
    (1, "BASIC"),
    (2, "PROBLEM-STATE"),
    (3, "CRYPTO-ACTIVITY"),
    (4, "EXTENDED"),
]);

layout! {
    /// The data section of subtype 2.
    DataSection = "data section, subtype 2", 84 bytes {
        /// When the run began: TOD clock, bits 0-63.
        run_start: U64 = "SMF113_2_CTS", Form::Tod;
        /// When the record was made: TOD clock, bits 0-63.
        written: U64 = "SMF113_2_CTM", Form::Tod;
        /// Bits 8-15 of the CPU address. SMF113_2_CpuId has all of it.
        cpu_number: u8 = "SMF113_2_CPU#", Form::Number;
        /// Processor class.
        class: u8 = "SMF113_2_CpuProcClass", CLASSES;
        /// Bits 0-2: first, intermediate, final record; bit 4: counter data were lost; bit 5: class 2 is zCBP.
        flags: U16 = "SMF113_2_CF", Form::Bits(&[
            (0, "first"), (1, "intermediate"), (2, "final"), (3, "non-standard hardware"),
            (4, "lost counter data"), (5, ZCBP_NAME),
        ]);
        /// Counter first version number.
        version_1: U16 = "SMF113_2_CTRVN1", Form::Number;
        /// Counter second version number.
        version_2: U16 = "SMF113_2_CTRVN2", Form::Number;
        /// Offset of the counter-set sections.
        sets_offset: U32 = "SMF113_2_CSOF", Form::Number;
        /// Length of each.
        set_length: U16 = "SMF113_2_CSLN", Form::Number;
        /// How many there are.
        sets_number: U16 = "SMF113_2_CSON", Form::Number;
        /// Offset of the counter data sections.
        counters_offset: U32 = "SMF113_2_CDOF", Form::Number;
        /// Length of each.
        counter_length: U16 = "SMF113_2_CDLN", Form::Number;
        /// How many there are, of all sets together.
        counters_number: U16 = "SMF113_2_CDON", Form::Number;
        /// Cycles per microsecond.
        speed: U32 = "SMF113_2_CPSP", Form::Number;
        /// Machine type.
        machine_type: Ebcdic<4> = "SMF113_2_MachType", Form::Text;
        /// Model.
        model: Ebcdic<16> = "SMF113_2_MachModel", Form::Text;
        /// CPU address.
        cpu: U16 = "SMF113_2_CpuId", Form::Number;
        /// Reserved.
        reserved: U16 = "*", Form::Reserved;
        /// Sequence code of the machine.
        sequence_code: Ebcdic<16> = "SMF113_2_MachSeqCode", Form::Text;
    }
}

/// The fewest bytes of a data section: later versions added the fields from the speed on.
pub(super) const LEAST: usize = core::mem::offset_of!(DataSection, speed);

layout! {
    /// A counter-set section of subtype 2.
    SetSection = "counter-set section", 12 bytes {
        /// Type of the set.
        set: u8 = "SMF113_2_CST", SETS;
        /// Reserved.
        reserved: u8 = "*", Form::Reserved;
        /// How many counters there are.
        number: U16 = "SMF113_2_CSN", Form::Number;
        /// A one for each of the first 64 counters that is there.
        present: U64 = "SMF113_2_CSP", Form::Mask;
    }
}

layout! {
    /// A counter-set section as this writer made it before it knew the length of the bitmap: 36 bytes, of which the first
    /// is always zero, because the type has two. That byte of a [`SetSection`] is the type, and never zero.
    LongSection = "counter-set section", 36 bytes {
        /// Type of the set.
        set: U16 = "SMF113_2_CST", SETS;
        /// A one for each counter that is there.
        present: [u8; 32] = "SMF113_2_CSP", Form::Mask;
        /// How many counters there are.
        number: U16 = "SMF113_2_CSN", Form::Number;
    }
}

const FIRST: u16 = 0x8000;
const INTERMEDIATE: u16 = 0x4000;
const FINAL: u16 = 0x2000;
const LOST: u16 = 0x0800;
const ZCBP: u16 = 0x0400;

/// The fields of a data section whose flags say that class 2 is zCBP.
const FIELDS_WITH_ZCBP: [Field; DataSection::FIELDS.len()] = {
    let class = core::mem::offset_of!(DataSection, class);
    with_form(DataSection::FIELDS, class, CLASSES_WITH_ZCBP)
};

/// Which record of a run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first: initial values.
    First,
    /// One at an interval or at a state change.
    Intermediate,
    /// The last: final values.
    Final,
    /// None of these, or several: the bits as they are.
    Other(u16),
}

impl Place {
    const BITS: u16 = FIRST | INTERMEDIATE | FINAL;

    const fn bits(self) -> u16 {
        match self {
            Self::First => FIRST,
            Self::Intermediate => INTERMEDIATE,
            Self::Final => FINAL,
            Self::Other(bits) => bits & Self::BITS,
        }
    }

    const fn from_bits(bits: u16) -> Self {
        match bits & Self::BITS {
            FIRST => Self::First,
            INTERMEDIATE => Self::Intermediate,
            FINAL => Self::Final,
            other => Self::Other(other),
        }
    }
}

/// The fields of a record of subtype 2, without its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absolutes {
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
    /// Which record of the run it is.
    pub place: Place,
    /// Counter data were lost in the interval.
    pub lost: bool,
    /// Counter first and second version number.
    pub versions: [u16; 2],
    /// Cycles per microsecond.
    pub speed: u32,
    /// Machine type.
    pub machine_type: Ebcdic<4>,
    /// Model.
    pub model: Ebcdic<16>,
    /// Sequence code of the machine.
    pub sequence_code: Ebcdic<16>,
}

/// A decoded data section of subtype 2 with its counters.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// The fields of the data section.
    pub data: Absolutes,
    sections: &'a [u8],
    section_length: usize,
    counters: &'a [u8],
    stride: usize,
}

impl<'a> Decoded<'a> {
    /// The counter sets, in the order of their sections.
    pub fn sets(&self) -> impl Iterator<Item = CounterValues<'a>> + use<'a> {
        let mut rest = self.counters;
        let stride = self.stride;
        let sections = self.sections.chunks_exact(self.section_length.max(1));
        sections.map_while(move |section| {
            let SetFields { set, number, .. } = SetFields::of(section)?;
            let (own, behind) = rest.split_at_checked(number * stride)?;
            rest = behind;
            Some(CounterValues {
                set: SetType(set),
                counters: Counters::sections(own, stride, Width::Long),
            })
        })
    }
}

/// The fields of a counter-set section, of either form.
struct SetFields<'a> {
    /// Type of the set.
    set: u16,
    /// The number of its counters.
    number: usize,
    number_at: usize,
    /// The bitmap of its counters.
    bitmap: &'a [u8],
    bitmap_at: usize,
    /// The fields as a layout has them.
    fields: &'static [Field],
}

impl<'a> SetFields<'a> {
    fn of(section: &'a [u8]) -> Option<Self> {
        if section.len() == size_of::<LongSection>()
            && section.first() == Some(&0)
            && let Ok((long, _)) = LongSection::ref_from_prefix(section)
        {
            return Some(Self {
                set: long.set.get(),
                number: long.number.get().into(),
                number_at: core::mem::offset_of!(LongSection, number),
                bitmap: &long.present,
                bitmap_at: core::mem::offset_of!(LongSection, present),
                fields: LongSection::FIELDS,
            });
        }
        let (own, _) = SetSection::ref_from_prefix(section).ok()?;
        Some(Self {
            set: own.set.into(),
            number: own.number.get().into(),
            number_at: core::mem::offset_of!(SetSection, number),
            bitmap: own.present.as_bytes(),
            bitmap_at: core::mem::offset_of!(SetSection, present),
            fields: SetSection::FIELDS,
        })
    }
}

/// Decodes the data section, which is at `at` in the record.
pub(super) fn decode<'a>(
    record: &'a [u8],
    at: usize,
    section: &'a [u8],
    claimed: &mut Claimed,
    visit: &mut Visitor<'_>,
) -> Result<Decoded<'a>, Malformed> {
    let mut whole = DataSection::read(section, 0, section.len(), LEAST)?;
    let fields = match whole.flags.get() & ZCBP {
        0 => DataSection::FIELDS,
        _ => &FIELDS_WITH_ZCBP,
    };
    visit(Part::with_fields::<DataSection>(at, section, fields));
    if section.len() < core::mem::offset_of!(DataSection, cpu) + size_of::<U16>() {
        whole.cpu = U16::new(whole.cpu_number.into());
    }
    whole.check(at, visit);
    let sets = Triplet {
        offset: whole.sets_offset.get(),
        length: whole.set_length.get(),
        number: whole.sets_number.get(),
        at: [at + 24, at + 28, at + 30],
        names: ["SMF113_2_CSOF", "SMF113_2_CSLN", "SMF113_2_CSON"],
    };
    let all = Triplet {
        offset: whole.counters_offset.get(),
        length: whole.counter_length.get(),
        number: whole.counters_number.get(),
        at: [at + 32, at + 36, at + 38],
        names: ["SMF113_2_CDOF", "SMF113_2_CDLN", "SMF113_2_CDON"],
    };
    let (sets_at, sections) = sets.sections(record, size_of::<SetSection>())?;
    claimed.sections(&sets, (sets_at, sections), visit)?;
    let (counters_at, counters) = all.sections(record, Width::Long.bytes())?;
    claimed.sections(&all, (counters_at, counters), visit)?;
    if all.number > 0 && usize::from(all.length) != Width::Long.bytes() {
        Found::new(all.at[1], all.names[1], all.length).wrong("8, the length of a counter", visit);
    }
    let mut types = Types::default();
    let (length, stride) = (usize::from(sets.length), usize::from(all.length));
    let mut used = 0;
    for (index, section) in sections.chunks_exact(length.max(1)).enumerate() {
        let at = sets_at + index * length;
        let Some(found) = SetFields::of(section) else {
            break;
        };
        let number_at = at + found.number_at;
        let SetFields { set, number, .. } = found;
        let Some(own) = counters.get(used..used + number * stride) else {
            // The sets before this one have left fewer counters than it has.
            let found = number as u64;
            let expected = "no more than SMF113_2_CDON leaves";
            return Err(Malformed {
                offset: number_at,
                field: "SMF113_2_CSN",
                problem: Problem::Value { found, expected },
            });
        };
        visit(Part::with_fields::<SetSection>(at, section, found.fields));
        types.add(Found::new(at, "SMF113_2_CST", set), visit);
        let versions = [whole.version_1.get(), whole.version_2.get()];
        if count_of(SetType(set), versions).is_some_and(|most| most < number) {
            Found::new(number_at, "SMF113_2_CSN", number as u64).wrong(MOST, visit);
        }
        if !is_bitmap_of(number, found.bitmap) {
            let ones: u32 = found.bitmap.iter().map(|byte| byte.count_ones()).sum();
            Found::new(at + found.bitmap_at, "SMF113_2_CSP", ones)
                .wrong("as many ones as SMF113_2_CSN, then zeros", visit);
            Found::new(number_at, "SMF113_2_CSN", number as u64)
                .wrong("the number of ones in SMF113_2_CSP", visit);
        }
        visit(Part::Counters {
            name: "SMF113_2_CDS",
            at: counters_at + used,
            set: Some(set),
            counters: Counters::sections(own, stride, Width::Long),
        });
        used += number * stride;
    }
    if used != counters.len() {
        let found = u64::from(all.number);
        let expected = "the sum of all SMF113_2_CSN";
        return Err(all.wrong(2, Problem::Value { found, expected }));
    }
    Ok(Decoded {
        data: whole.into(),
        sections,
        section_length: length,
        counters,
        stride,
    })
}

/// Whether a bitmap has a one for each of `number` counters, as far as it goes, then zeros.
fn is_bitmap_of(number: usize, bitmap: &[u8]) -> bool {
    bitmap.iter().enumerate().all(|(index, byte)| {
        let ones = number.saturating_sub(8 * index).min(8);
        *byte == !(0xFF_u8.checked_shr(ones as u32).unwrap_or(0))
    })
}

impl DataSection {
    /// Shows the fields that contradict others. The section is at `at` in the record.
    fn check(&self, at: usize, visit: &mut Visitor<'_>) {
        Found::new(at, "SMF113_2_CTS", self.run_start.get()).precedes(
            Found::new(at + 8, "SMF113_2_CTM", self.written.get()),
            ["not after SMF113_2_CTM", "not before SMF113_2_CTS"],
            visit,
        );
        if self.cpu_number != self.cpu.get() as u8 {
            Found::new(at + 16, "SMF113_2_CPU#", self.cpu_number)
                .wrong("bits 8-15 of SMF113_2_CpuId", visit);
            Found::new(at + 64, "SMF113_2_CpuId", self.cpu.get())
                .wrong("a number whose bits 8-15 are SMF113_2_CPU#", visit);
        }
        let flags = self.flags.get();
        if matches!(Place::from_bits(flags), Place::Other(_)) {
            let expected = "a value with one of bits 0-2 on: first, intermediate or final";
            Found::new(at + 18, "SMF113_2_CF", flags).wrong(expected, visit);
        }
    }
}

impl From<DataSection> for Absolutes {
    fn from(section: DataSection) -> Self {
        let flags = section.flags.get();
        Self {
            run_start: section.run_start.get(),
            written: section.written.get(),
            cpu: section.cpu.get(),
            class: section.class,
            zcbp: flags & ZCBP != 0,
            place: Place::from_bits(flags),
            lost: flags & LOST != 0,
            versions: [section.version_1, section.version_2].map(U16::get),
            speed: section.speed.get(),
            machine_type: section.machine_type,
            model: section.model,
            sequence_code: section.sequence_code,
        }
    }
}

impl Absolutes {
    /// The data section of a record. `sets` and `counters` are offset and number of each.
    pub(super) fn section(&self, sets: (u32, u16), counters: (u32, u16)) -> DataSection {
        let [version_1, version_2] = self.versions.map(U16::new);
        let flags =
            self.place.bits() | if self.lost { LOST } else { 0 } | if self.zcbp { ZCBP } else { 0 };
        DataSection {
            run_start: U64::new(self.run_start),
            written: U64::new(self.written),
            cpu_number: self.cpu as u8,
            class: self.class,
            flags: U16::new(flags),
            version_1,
            version_2,
            sets_offset: U32::new(sets.0),
            set_length: U16::new(size_of::<SetSection>() as u16),
            sets_number: U16::new(sets.1),
            counters_offset: U32::new(counters.0),
            counter_length: U16::new(Width::Long.bytes() as u16),
            counters_number: U16::new(counters.1),
            speed: U32::new(self.speed),
            machine_type: self.machine_type,
            model: self.model,
            cpu: U16::new(self.cpu),
            reserved: U16::ZERO,
            sequence_code: self.sequence_code,
        }
    }
}

/// The section of a set: its type, the number of its counters, and a one in the bitmap for each, as far as it goes.
pub(super) fn set_section(set: SetType, number: u16) -> SetSection {
    SetSection {
        // The caller has tested that it is one of these.
        set: set.0 as u8,
        reserved: 0,
        number: U16::new(number),
        present: U64::new(!u64::MAX.checked_shr(number.into()).unwrap_or(0)),
    }
}
