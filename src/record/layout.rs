//! Layouts: structures whose fields have the manual's names, and the errors that reading one can find.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    counters::Counters,
    moment::{DAY, Moment},
};
use arch::ebcdic::character;

/// What the bytes of a field mean.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// An unsigned number.
    Number,
    /// Bits without individual meanings.
    Hexadecimal,
    /// A one for each of several things that are there.
    Mask,
    /// Indications: bit number, counted from the left of the field, and name.
    Bits(&'static [(u32, &'static str)]),
    /// A number that stands for something.
    Code(&'static [(u64, &'static str)]),
    /// A TOD-clock value, bits 0-63.
    Tod,
    /// Hundredths of a second since midnight.
    Hundredths,
    /// A date as 0cyydddF, packed: century from 1900, year, day of the year.
    PackedDate,
    /// EBCDIC characters.
    Text,
    /// No meaning.
    Reserved,
}

impl Form {
    /// The rule that these bytes of a field break, if they break one.
    #[must_use]
    pub fn broken(self, bytes: &[u8]) -> Option<Problem> {
        let number = |bytes: &[u8]| {
            let digits = bytes.iter().take(8);
            digits.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let found = number(bytes);
        let value = |expected| Some(Problem::Value { found, expected });
        match self {
            Self::Number | Self::Hexadecimal | Self::Mask | Self::Tod => None,
            Self::Bits(names) => {
                let bits = 8 * bytes.len() as u32;
                let named = names.iter().filter(|(bit, _)| *bit < bits);
                let named = named.fold(0, |mask, (bit, _)| mask | 1 << (bits - 1 - bit));
                match found & !named {
                    0 => None,
                    _ => value("a value with zeros in its reserved bits"),
                }
            }
            Self::Code(names) => match names.iter().any(|(code, _)| *code == found) {
                true => None,
                false => value("a code that its manual names"),
            },
            Self::Hundredths if found >= DAY => value("below 8640000, the hundredths of a day"),
            Self::PackedDate if Moment::unpack_date(found as u32).is_none() => {
                value("a date as 0cyydddF, packed")
            }
            Self::Text => {
                let is_text = |code: &u8| *code == 0 || character(*code).is_some();
                let expected = "EBCDIC characters";
                (!bytes.iter().all(is_text)).then_some(Problem::Form { expected })
            }
            Self::Reserved if bytes.iter().any(|byte| *byte != 0) => value("0, as it is reserved"),
            Self::Hundredths | Self::PackedDate | Self::Reserved => None,
        }
    }
}

/// A field of a layout.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in the manual.
    pub name: &'static str,
    /// Where it begins in its section, in bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// What its bytes mean.
    pub form: Form,
}

/// These fields, with another form of the one at `offset`.
pub(super) const fn with_form<const N: usize>(
    fields: &[Field],
    offset: usize,
    form: Form,
) -> [Field; N] {
    let mut changed = [fields[0]; N];
    let mut index = 0;
    while index < N {
        changed[index] = fields[index];
        if fields[index].offset == offset {
            changed[index].form = form;
        }
        index += 1;
    }
    changed
}

/// A structure with named fields, as a record holds it.
pub trait Layout:
    Copy + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + 'static
{
    /// The name of the section.
    const TITLE: &'static str;
    /// The fields by offset.
    const FIELDS: &'static [Field];

    /// The first field that is not whole in a section of `length` bytes.
    fn first_missing(length: usize) -> Option<&'static Field> {
        Self::FIELDS
            .iter()
            .find(|field| field.offset + field.length > length)
    }

    /// The structure in bytes `at` to `end`. Fields beyond the end of a shorter section are zeros.
    ///
    /// # Errors
    /// When there are fewer than `least` bytes: names the first field that is missing.
    fn read(bytes: &[u8], at: usize, end: usize, least: usize) -> Result<Self, Malformed> {
        let there = bytes.get(at..end.min(bytes.len())).unwrap_or_default();
        if there.len() < least {
            let field = Self::first_missing(there.len());
            return Err(Malformed {
                offset: at.saturating_add(field.map_or(0, |field| field.offset)),
                field: field.map_or(Self::TITLE, |field| field.name),
                problem: Problem::Missing,
            });
        }
        let mut whole = Self::new_zeroed();
        let length = there.len().min(size_of::<Self>());
        whole.as_mut_bytes()[..length].copy_from_slice(&there[..length]);
        Ok(whole)
    }

    /// Stores the structure at `at`. Does nothing if it does not fit; writers check that first.
    fn put(&self, bytes: &mut [u8], at: usize) {
        if let Some(place) = bytes.get_mut(at..at + size_of::<Self>()) {
            place.copy_from_slice(self.as_bytes());
        }
    }
}

/// Gives a big-endian structure its [`Layout`].
macro_rules! layout {
    ($(#[$meta:meta])* $name:ident = $title:literal, $size:literal bytes {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $manual:literal, $form:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout,
            zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::layout::Layout for $name {
            const TITLE: &'static str = $title;
            const FIELDS: &'static [$crate::layout::Field] = &[
                $($crate::layout::Field {
                    name: $manual,
                    offset: core::mem::offset_of!($name, $field),
                    length: size_of::<$type>(),
                    form: $form,
                }),*
            ];
        }

        const _: () = assert!(size_of::<$name>() == $size);
    };
}
pub(super) use layout;

/// A valid part of a record, as a decoder shows it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A section with fields.
    Section {
        /// Its name.
        title: &'static str,
        /// Its offset in the record.
        at: usize,
        /// Its bytes: those of all fields, or fewer in a shorter section, or more in a longer one.
        bytes: &'a [u8],
        /// Its fields.
        fields: &'static [Field],
    },
    /// Counters of one set, or of several if the record does not distinguish them.
    Counters {
        /// Their name in the manual.
        name: &'static str,
        /// Their offset in the record.
        at: usize,
        /// The type of the set as the record gives it, if it does.
        set: Option<u16>,
        /// The counters.
        counters: Counters<'a>,
    },
    /// A field that contradicts another. What follows it can be read nevertheless.
    Wrong(Malformed),
}

impl<'a> Part<'a> {
    /// Shows each field of the part that breaks a rule.
    pub fn check(&self, found: &mut dyn FnMut(Malformed)) {
        match self {
            Self::Section {
                at, bytes, fields, ..
            } => {
                for field in *fields {
                    // A shorter section has no more fields.
                    let Some(own) = bytes.get(field.offset..field.offset + field.length) else {
                        break;
                    };
                    if let Some(problem) = field.form.broken(own) {
                        let (offset, field) = (at + field.offset, field.name);
                        found(Malformed {
                            offset,
                            field,
                            problem,
                        });
                    }
                }
            }
            Self::Counters { .. } => {}
            Self::Wrong(malformed) => found(*malformed),
        }
    }

    /// The section of a layout.
    pub(super) const fn section<T: Layout>(at: usize, bytes: &'a [u8]) -> Self {
        Self::with_fields::<T>(at, bytes, T::FIELDS)
    }

    /// The section of a layout whose fields have other forms in this record.
    pub(super) const fn with_fields<T: Layout>(
        at: usize,
        bytes: &'a [u8],
        fields: &'static [Field],
    ) -> Self {
        Self::Section {
            title: T::TITLE,
            at,
            bytes,
            fields,
        }
    }
}

/// The function that a decoder calls with each part of a record.
pub type Visitor<'v> = dyn FnMut(Part<'_>) + 'v;

/// A field as a decoder has found it, to compare it with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Its offset in the record.
    pub at: usize,
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

impl Found {
    pub(super) fn new(at: usize, name: &'static str, value: impl Into<u64>) -> Self {
        let value = value.into();
        Self { at, name, value }
    }

    /// Shows that the value must be what is `expected`.
    pub(super) fn wrong(self, expected: &'static str, visit: &mut Visitor<'_>) {
        let found = self.value;
        visit(Part::Wrong(Malformed {
            offset: self.at,
            field: self.name,
            problem: Problem::Value { found, expected },
        }));
    }

    /// Shows both times as wrong if this one is after the other: nothing tells which of them is.
    pub(super) fn precedes(
        self,
        other: Self,
        expected: [&'static str; 2],
        visit: &mut Visitor<'_>,
    ) {
        if self.value > other.value {
            self.wrong(expected[0], visit);
            other.wrong(expected[1], visit);
        }
    }
}

/// The first error in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The offset of the field from the beginning of the decoded bytes.
    pub offset: usize,
    /// The field's name in the manual.
    pub field: &'static str,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The data end before or within the field.
    Missing,
    /// It is a length, and fewer bytes are there.
    Truncated {
        /// The length in the field.
        says: u64,
        /// The number of bytes that are there.
        there: u64,
    },
    /// It is a length, and too small.
    TooShort {
        /// The length in the field.
        says: u64,
        /// The smallest valid length.
        least: u64,
    },
    /// It designates something that is not all in the record.
    Beyond {
        /// The end of what it designates.
        end: u64,
        /// The end of the record.
        limit: u64,
    },
    /// It designates bytes of another section.
    Overlap {
        /// The first of them.
        at: u64,
    },
    /// Its value is invalid.
    Value {
        /// The value.
        found: u64,
        /// The valid values.
        expected: &'static str,
    },
    /// Its text is invalid.
    Form {
        /// The valid form.
        expected: &'static str,
    },
}

impl Malformed {
    /// The offset of the field in a file in which the record begins at offset `base`.
    #[must_use]
    pub const fn at(self, base: u64) -> u64 {
        base.saturating_add(self.offset as u64)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "offset {}, field {}: {}",
            self.offset, self.field, self.problem
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Missing => write!(f, "the data end before it is complete"),
            Self::Truncated { says, there } => {
                write!(f, "says {says} bytes, and {there} are there")
            }
            Self::TooShort { says, least } => {
                write!(f, "says {says} bytes, and at least {least} are needed")
            }
            Self::Beyond { end, limit } => {
                write!(f, "leads to offset {end}, and the record ends at {limit}")
            }
            Self::Overlap { at } => {
                write!(f, "leads to offset {at}, which belongs to another section")
            }
            Self::Value { found, expected } => {
                write!(
                    f,
                    "is {found} ({found:X} hexadecimal), and must be {expected}"
                )
            }
            Self::Form { expected } => write!(f, "must be {expected}"),
        }
    }
}

impl core::error::Error for Malformed {}

/// Why something cannot be written as a record. The fault is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotEncode {
    /// The buffer is too short for one counter set, or for the fixed part of the record.
    NoRoom {
        /// Bytes that are needed.
        needs: usize,
    },
    /// A set has more counters than a record can hold.
    TooManyCounters,
    /// The record cannot hold sets of this type.
    NoSuchSet(u16),
}

impl fmt::Display for CannotEncode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom { needs } => {
                write!(f, "the buffer is too short: {needs} bytes are needed")
            }
            Self::TooManyCounters => write!(f, "a set has more counters than a record can hold"),
            Self::NoSuchSet(set) => write!(f, "the record has no counter sets of type {set}"),
        }
    }
}

impl core::error::Error for CannotEncode {}
