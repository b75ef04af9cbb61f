//! The parts of a type 113 record before its data: header, self-defining section, and the sections that
//! name product and job.

use zerocopy::byteorder::big_endian::{U16, U32, U64};

use super::{TYPE, Triplet, claimed::Claimed, section};
use crate::{
    Ebcdic, Malformed, Moment, Problem,
    layout::{Form, Found, Layout, Part, Visitor, layout},
};

layout! {
    /// The standard header of SMF records with subtypes; its first word is the record-descriptor word.
    Header = "header", 28 bytes {
        /// Length of the record, header included.
        length: U16 = "SMF113LEN", Form::Number;
        /// Segment descriptor: zeros, as the record is not spanned.
        segment: U16 = "SMF113SEG", Form::Hexadecimal;
        /// Bit 0: the subsystem identifier is valid; bit 1: subtypes are used; bits 3-6: the system.
        flags: u8 = "SMF113FLG", Form::Bits(&[
            (0, "subsystem identification"), (1, "subtypes"), (3, "version 3"), (4, "version 4"),
            (5, "version 5"), (6, "version 6"),
        ]);
        /// Record type.
        record_type: u8 = "SMF113RTY", Form::Number;
        /// When the record was moved to the SMF buffer: hundredths of a second since midnight.
        time: U32 = "SMF113TME", Form::Hundredths;
        /// The date of that: 0cyydddF, packed.
        date: U32 = "SMF113DTE", Form::PackedDate;
        /// System identifier.
        system: Ebcdic<4> = "SMF113SID", Form::Text;
        /// Subsystem identifier.
        subsystem: Ebcdic<4> = "SMF113WID", Form::Text;
        /// Record subtype.
        subtype: U16 = "SMF113STY", Form::Number;
        /// Reserved.
        reserved: U16 = "*", Form::Reserved;
        /// Length of the self-defining section.
        self_defining: U16 = "SMF113SDL", Form::Number;
    }
}

layout! {
    /// The self-defining section, which locates the others. Offsets are from the beginning of the record.
    SelfDefining = "self-defining section", 24 bytes {
        /// Offset of the subsystem section.
        subsystem_offset: U32 = "SMF113SOF", Form::Number;
        /// Its length.
        subsystem_length: U16 = "SMF113SLN", Form::Number;
        /// How many there are.
        subsystem_number: U16 = "SMF113SON", Form::Number;
        /// Offset of the identification section.
        identification_offset: U32 = "SMF113IOF", Form::Number;
        /// Its length.
        identification_length: U16 = "SMF113ILN", Form::Number;
        /// How many there are.
        identification_number: U16 = "SMF113ION", Form::Number;
        /// Offset of the data section.
        data_offset: U32 = "SMF113DOF", Form::Number;
        /// Its length.
        data_length: U16 = "SMF113DLN", Form::Number;
        /// How many there are.
        data_number: U16 = "SMF113DON", Form::Number;
    }
}

layout! {
    /// The subsystem section, as IBM's formatter of these records maps it.
    SubsystemSection = "subsystem section", 20 bytes {
        /// Reserved.
        reserved: U16 = "*", Form::Reserved;
        /// Record version number.
        version: Ebcdic<2> = "SMF113RVN", Form::Text;
        /// Product name.
        product: Ebcdic<8> = "SMF113PNM", Form::Text;
        /// Level of the operating system.
        level: Ebcdic<8> = "SMF113OSL", Form::Text;
    }
}

layout! {
    /// The subsystem section without its reserved bytes. This writer made it so before it knew of them.
    ShortSubsystem = "subsystem section", 18 bytes {
        /// Record version number.
        version: Ebcdic<2> = "SMF113RVN", Form::Text;
        /// Product name.
        product: Ebcdic<8> = "SMF113PNM", Form::Text;
        /// Level of the operating system.
        level: Ebcdic<8> = "SMF113OSL", Form::Text;
    }
}

layout! {
    /// The identification section: the job that wrote the record, and the interval.
    Identification = "identification section", 40 bytes {
        /// Job name.
        job: Ebcdic<8> = "SMF113JBN", Form::Text;
        /// When the reader recognized the job: hundredths of a second since midnight.
        reader_time: U32 = "SMF113RST", Form::Hundredths;
        /// The date of that: 0cyydddF, packed.
        reader_date: U32 = "SMF113RSD", Form::PackedDate;
        /// Step name.
        step: Ebcdic<8> = "SMF113STP", Form::Text;
        /// Beginning of the interval: TOD clock, bits 0-63.
        interval_start: U64 = "SMF113IntervalStart", Form::Tod;
        /// End of the interval: TOD clock, bits 0-63.
        interval_end: U64 = "SMF113IntervalEnd", Form::Tod;
    }
}

/// The product that wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subsystem {
    /// Record version number.
    pub version: Ebcdic<2>,
    /// Product name.
    pub product: Ebcdic<8>,
    /// Level of the operating system.
    pub level: Ebcdic<8>,
}

impl From<SubsystemSection> for Subsystem {
    fn from(section: SubsystemSection) -> Self {
        let SubsystemSection {
            version,
            product,
            level,
            ..
        } = section;
        Self {
            version,
            product,
            level,
        }
    }
}

impl From<ShortSubsystem> for Subsystem {
    fn from(section: ShortSubsystem) -> Self {
        let ShortSubsystem {
            version,
            product,
            level,
        } = section;
        Self {
            version,
            product,
            level,
        }
    }
}

impl Subsystem {
    /// The section of a record.
    pub(super) const fn section(&self) -> SubsystemSection {
        SubsystemSection {
            reserved: U16::ZERO,
            version: self.version,
            product: self.product,
            level: self.level,
        }
    }

    /// Reads the section in the form that its length tells.
    fn decode(
        record: &[u8],
        triplet: &Triplet,
        claimed: &mut Claimed,
        visit: &mut Visitor<'_>,
    ) -> Result<Option<Self>, Malformed> {
        let is_short = usize::from(triplet.length) < size_of::<SubsystemSection>();
        let least = size_of::<ShortSubsystem>();
        Ok(if is_short {
            section::<ShortSubsystem>(record, triplet, least, claimed, visit)?.map(Self::from)
        } else {
            section::<SubsystemSection>(record, triplet, least, claimed, visit)?.map(Self::from)
        })
    }
}

/// The fields of a record before its data, without lengths and offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// System identifier.
    pub system: Ebcdic<4>,
    /// Subsystem identifier, if there is one.
    pub subsystem: Option<Ebcdic<4>>,
    /// Bits 3-6 of the header's flags, in their place: the kind of system. z/OS has zeros there, or bits
    /// that its manual does not describe; any value is valid.
    pub system_bits: u8,
    /// When the record was moved to the SMF buffer, in local time: hundredths of a second since midnight.
    pub time: u32,
    /// The date of that: 0cyydddF, packed.
    pub date: u32,
    /// The product that wrote the record, if the record says so.
    pub product: Option<Subsystem>,
    /// The job and the interval, if the record says so.
    pub identification: Option<Identification>,
}

/// The bits of the flags that name the system.
const SYSTEM_BITS: u8 = 0x1E;
/// The subsystem identifier is valid.
const SUBSYSTEM_VALID: u8 = 0x80;
/// The record has subtypes.
const SUBTYPES: u8 = 0x40;

impl Header {
    /// The header at the beginning of `bytes`, and the bytes of its record.
    pub(super) fn decode<'a>(
        bytes: &'a [u8],
        visit: &mut Visitor<'_>,
    ) -> Result<(Self, &'a [u8]), Malformed> {
        let header = Self::read(bytes, 0, bytes.len(), size_of::<Self>())?;
        let wrong = |offset, field, problem| Malformed {
            offset,
            field,
            problem,
        };
        let (says, there) = (u64::from(header.length.get()), bytes.len() as u64);
        let least = size_of::<Self>() as u64;
        if says < least {
            return Err(wrong(0, "SMF113LEN", Problem::TooShort { says, least }));
        }
        if says > there {
            return Err(wrong(0, "SMF113LEN", Problem::Truncated { says, there }));
        }
        if header.segment.get() != 0 {
            let found = u64::from(header.segment.get());
            let expected = "0: a record that is not spanned";
            return Err(wrong(2, "SMF113SEG", Problem::Value { found, expected }));
        }
        let (own, _) = bytes.split_at(size_of::<Self>());
        visit(Part::section::<Self>(0, own));
        if header.flags & SUBTYPES == 0 {
            let flags = Found::new(4, "SMF113FLG", header.flags);
            flags.wrong("a value with bit 1 on, as type 113 has subtypes", visit);
        }
        Ok((header, bytes.get(..says as usize).unwrap_or(bytes)))
    }

    /// The header of a record of this envelope. The writer sets its length later.
    pub(super) fn new(envelope: &Envelope, subtype: u16) -> Self {
        let valid = if envelope.subsystem.is_some() {
            SUBSYSTEM_VALID
        } else {
            0
        };
        Self {
            length: U16::ZERO,
            segment: U16::ZERO,
            flags: valid | SUBTYPES | envelope.system_bits & SYSTEM_BITS,
            record_type: TYPE,
            time: U32::new(envelope.time),
            date: U32::new(envelope.date),
            system: envelope.system,
            subsystem: envelope.subsystem.unwrap_or(Ebcdic::BLANK),
            subtype: U16::new(subtype),
            reserved: U16::ZERO,
            self_defining: U16::new(size_of::<SelfDefining>() as u16),
        }
    }
}

impl SelfDefining {
    const AT: usize = size_of::<Header>();

    pub(super) fn decode(
        record: &[u8],
        header: &Header,
        visit: &mut Visitor<'_>,
    ) -> Result<Self, Malformed> {
        let (says, least) = (usize::from(header.self_defining.get()), size_of::<Self>());
        let wrong = |problem| Malformed {
            offset: 26,
            field: "SMF113SDL",
            problem,
        };
        if says < least {
            let (says, least) = (says as u64, least as u64);
            return Err(wrong(Problem::TooShort { says, least }));
        }
        let end = Self::AT + says;
        let Some(bytes) = record.get(Self::AT..end) else {
            let (end, limit) = (end as u64, record.len() as u64);
            return Err(wrong(Problem::Beyond { end, limit }));
        };
        let whole = Self::read(record, Self::AT, end, least)?;
        visit(Part::section::<Self>(Self::AT, bytes));
        Ok(whole)
    }

    fn subsystem(&self) -> Triplet {
        Triplet {
            offset: self.subsystem_offset.get(),
            length: self.subsystem_length.get(),
            number: self.subsystem_number.get(),
            at: [28, 32, 34],
            names: ["SMF113SOF", "SMF113SLN", "SMF113SON"],
        }
    }

    fn identification(&self) -> Triplet {
        Triplet {
            offset: self.identification_offset.get(),
            length: self.identification_length.get(),
            number: self.identification_number.get(),
            at: [36, 40, 42],
            names: ["SMF113IOF", "SMF113ILN", "SMF113ION"],
        }
    }

    pub(super) fn data(&self) -> Triplet {
        Triplet {
            offset: self.data_offset.get(),
            length: self.data_length.get(),
            number: self.data_number.get(),
            at: [44, 48, 50],
            names: ["SMF113DOF", "SMF113DLN", "SMF113DON"],
        }
    }
}

impl Identification {
    /// Shows what is wrong in the section, which is at `at` in the record.
    fn check(&self, at: usize, visit: &mut Visitor<'_>) {
        let (start, end) = (self.interval_start.get(), self.interval_end.get());
        let at = at + core::mem::offset_of!(Self, interval_start);
        Found::new(at, "SMF113IntervalStart", start).precedes(
            Found::new(at + 8, "SMF113IntervalEnd", end),
            [
                "not after SMF113IntervalEnd",
                "not before SMF113IntervalStart",
            ],
            visit,
        );
    }
}

impl Envelope {
    /// The envelope of a record that is moved to the SMF buffer at `moment`, without product and job.
    #[must_use]
    pub fn new(system: Ebcdic<4>, moment: Moment) -> Self {
        Self {
            system,
            subsystem: None,
            system_bits: 0,
            time: moment.hundredths,
            date: moment.packed_date().get(),
            product: None,
            identification: None,
        }
    }

    pub(super) fn decode(
        record: &[u8],
        header: &Header,
        sections: &SelfDefining,
        claimed: &mut Claimed,
        visit: &mut Visitor<'_>,
    ) -> Result<Self, Malformed> {
        let product = Subsystem::decode(record, &sections.subsystem(), claimed, visit)?;
        // The interval was added later: a record without it ends with the step name.
        let least = core::mem::offset_of!(Identification, interval_start);
        let triplet = sections.identification();
        let identification = section::<Identification>(record, &triplet, least, claimed, visit)?;
        if let Some(identification) = &identification {
            identification.check(triplet.offset as usize, visit);
        }
        let subsystem = header.flags & SUBSYSTEM_VALID != 0;
        Ok(Self {
            system: header.system,
            subsystem: subsystem.then_some(header.subsystem),
            system_bits: header.flags & SYSTEM_BITS,
            time: header.time.get(),
            date: header.date.get(),
            product,
            identification,
        })
    }
}
