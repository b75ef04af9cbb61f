//! The .MAP file: what was in storage at the end of a run, as text records.
//!
//! Each line is a record with fields in fixed columns. Information records describe the system;
//! address-space records name the spaces; boundary, module, section and entry-point records give the
//! location of something. A name has eight characters; a longer one is given whole after the columns, in the
//! place for further information.

use core::fmt::{self, Write};

use super::{Malformed, Problem, text::InLine};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The system. It has no location in storage.
    Information,
    /// An address space.
    AddressSpace,
    /// The boundaries of an area.
    Boundary,
    /// A load module.
    Module,
    /// A control section of a module.
    Section,
    /// An entry point: a beginning without an end.
    EntryPoint,
}

impl Kind {
    const ALL: [(Self, u8, &'static str); 6] = [
        (Self::Information, b'I', "information"),
        (Self::AddressSpace, b'A', "address space"),
        (Self::Boundary, b'B', "boundary"),
        (Self::Module, b'M', "module"),
        (Self::Section, b'C', "control section"),
        (Self::EntryPoint, b'E', "entry point"),
    ];

    /// The letter in column 0.
    #[must_use]
    pub fn letter(self) -> u8 {
        let found = Self::ALL.iter().find(|(kind, ..)| *kind == self);
        found.map_or(b'?', |(_, letter, _)| *letter)
    }

    /// The type in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, ..)| *kind == self);
        found.map_or("", |(.., name)| *name)
    }

    /// Whether a record of this type has a start address, and whether it has an end address.
    #[must_use]
    pub const fn addresses(self) -> (bool, bool) {
        match self {
            Self::Information | Self::AddressSpace => (false, false),
            Self::Boundary | Self::Module | Self::Section => (true, true),
            Self::EntryPoint => (true, false),
        }
    }
}

/// A record. Texts have no blanks on their right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its type.
    pub kind: Kind,
    /// The area of storage: N nucleus, M, P and F link pack areas, C common, X private; or a blank.
    pub area: char,
    /// The address-space identifier of the private area, as four hexadecimal digits; in an information
    /// record the kind of information, such as `SYS` or `DATE`.
    pub asid_or_type: &'a str,
    /// A name, or the value of an information record.
    pub name: &'a str,
    /// Its first byte.
    pub start: Option<u64>,
    /// Its last byte.
    pub end: Option<u64>,
    /// The text after the columns, for example a whole name that is longer than its field.
    pub further: &'a str,
}

/// The fields: name, first column, length.
const TYPE: (&str, usize, usize) = ("MapRecordType", 0, 1);
const AREA: (&str, usize, usize) = ("MapMemoryArea", 1, 1);
const ASID: (&str, usize, usize) = ("MapType/MapASID", 2, 4);
const NAME: (&str, usize, usize) = ("MapName", 6, 8);
const START: (&str, usize, usize) = ("MapStartAddress", 14, 16);
const END: (&str, usize, usize) = ("MapEndAddress", 30, 16);
/// The column after the fields.
const FURTHER: usize = 46;

/// Names of the fields, for reports.
pub const FIELDS: [&str; 7] = [
    TYPE.0,
    AREA.0,
    ASID.0,
    NAME.0,
    START.0,
    END.0,
    "further information",
];

impl<'a> Record<'a> {
    /// An information record, for example `DATE` and the date as yyddd.
    #[must_use]
    pub const fn information(what: &'a str, value: &'a str) -> Self {
        Self {
            kind: Kind::Information,
            area: ' ',
            asid_or_type: what,
            name: value,
            start: None,
            end: None,
            further: "",
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong, with its column.
    pub fn parse(line: &'a [u8]) -> Result<Self, Malformed> {
        let wrong = |offset, field, expected| Malformed {
            offset,
            field,
            problem: Problem::Form { expected },
        };
        let text = core::str::from_utf8(line)
            .map_err(|error| wrong(error.valid_up_to(), "line", "text"))?
            .trim_end();
        let letter = text.bytes().next().unwrap_or(b' ');
        let Some((kind, ..)) = Kind::ALL.into_iter().find(|(_, known, _)| *known == letter) else {
            return Err(wrong(0, TYPE.0, "I, A, B, M, C or E"));
        };
        let field = |(name, at, length): (&'static str, usize, usize)| {
            let columns = text.get(at.min(text.len())..(at + length).min(text.len()));
            let columns = columns.ok_or(wrong(at, name, "of characters of one byte"))?;
            Ok::<_, Malformed>((columns.trim_end(), columns))
        };
        let address = |place: (&'static str, usize, usize), is_there: bool| {
            let (digits, _) = field(place)?;
            if !is_there {
                return Ok(None);
            }
            let is_whole = digits.len() == place.2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            match u64::from_str_radix(digits, 16) {
                Ok(address) if is_whole => Ok(Some(address)),
                // The line may end before the column.
                _ => Err(wrong(
                    place.1.min(text.len()),
                    place.0,
                    "16 hexadecimal digits",
                )),
            }
        };
        let (area, _) = field(AREA)?;
        let (asid_or_type, _) = field(ASID)?;
        let (name, _) = field(NAME)?;
        let (has_start, has_end) = kind.addresses();
        let start = address(START, has_start)?;
        let end = address(END, has_end)?;
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            return Err(wrong(END.1, END.0, "not below MapStartAddress"));
        }
        let further = text.get(FURTHER.min(text.len())..);
        let further = further.ok_or(wrong(FURTHER, "further information", "text"))?;
        Ok(Self {
            kind,
            area: area.chars().next().unwrap_or(' '),
            asid_or_type,
            name,
            start,
            end,
            further: further.trim_start(),
        })
    }

    /// Writes the record as a line. A name that is longer than its field is cut off there, and given whole
    /// after the fields if no further information is.
    ///
    /// # Errors
    /// When `out` is full.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        let (has_start, has_end) = self.kind.addresses();
        let further = match self.further {
            "" if !fits(self.name, NAME.2) => self.name,
            further => further,
        };
        out.write_char(char::from(self.kind.letter()))?;
        column(out, self.area.encode_utf8(&mut [0; 4]), AREA.2)?;
        column(out, self.asid_or_type, ASID.2)?;
        // A line ends after its last field that is not empty.
        let (start, end) = (
            self.start.filter(|_| has_start),
            self.end.filter(|_| has_end),
        );
        if start.is_none() && further.is_empty() {
            let name = self.name.trim_end();
            return writeln!(out, "{}", InLine(name));
        }
        column(out, self.name, NAME.2)?;
        for address in [start, end] {
            match address {
                Some(address) => write!(out, "{address:016X}")?,
                None if further.is_empty() => {}
                None => write!(out, "{:16}", "")?,
            }
        }
        writeln!(out, "{}", InLine(further))
    }
}

/// Whether a text fits into `width` columns unchanged.
fn fits(text: &str, width: usize) -> bool {
    text.len() <= width && text.is_ascii()
}

/// Writes a text into `width` columns; a character of more than one byte becomes a question mark.
fn column(out: &mut impl Write, text: &str, width: usize) -> fmt::Result {
    let is_plain = |character: char| character == ' ' || character.is_ascii_graphic();
    let characters = text.chars().chain(core::iter::repeat(' ')).take(width);
    for character in characters {
        out.write_char(if is_plain(character) { character } else { '?' })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    /// Written out by hand from the columns: type, area, space, name, start, end, further information.
    const GOLDEN: &str = concat!(
        "I SYS GUEST\n",
        "I DATE26325\n",
        "I TIME10000050\n",
        "A 0001*MASTER*\n",
        "BX0001PRIVATE 0000000000000000000000000FFFFFFF\n",
        "MN    workload000000000020000000000000002FFFFF\n",
        "CN    guests::0000000000200100000000000020017Fguests::workload::hash::work\n",
        "EN    start   0000000000200000\n",
        "EN    long_nam0000000000200004                long_name_of_it\n",
    );

    fn golden() -> [Record<'static>; 9] {
        let place = |kind, area, asid_or_type, name, start, end| Record {
            kind,
            area,
            asid_or_type,
            name,
            start,
            end,
            further: "",
        };
        [
            Record::information("SYS", "GUEST"),
            Record::information("DATE", "26325"),
            Record::information("TIME", "10000050"),
            place(Kind::AddressSpace, ' ', "0001", "*MASTER*", None, None),
            place(
                Kind::Boundary,
                'X',
                "0001",
                "PRIVATE",
                Some(0),
                Some(0xFFF_FFFF),
            ),
            place(
                Kind::Module,
                'N',
                "",
                "workload",
                Some(0x20_0000),
                Some(0x2F_FFFF),
            ),
            Record {
                further: "guests::workload::hash::work",
                ..place(
                    Kind::Section,
                    'N',
                    "",
                    "guests::",
                    Some(0x20_0100),
                    Some(0x20_017F),
                )
            },
            place(Kind::EntryPoint, 'N', "", "start", Some(0x20_0000), None),
            Record {
                further: "long_name_of_it",
                ..place(Kind::EntryPoint, 'N', "", "long_nam", Some(0x20_0004), None)
            },
        ]
    }

    #[test]
    fn a_missing_field_is_wrong_at_the_end_of_the_line() {
        for (line, offset) in [("MNSTER*", 7), ("EN    start   00000000", 14)] {
            let wrong = Record::parse(line.as_bytes()).unwrap_err();
            assert_eq!((wrong.offset, wrong.field), (offset, START.0), "{line}");
        }
    }

    #[test]
    fn a_map_is_read_from_its_columns_and_written_to_them() {
        for (line, record) in GOLDEN.lines().zip(golden()) {
            assert_eq!(Record::parse(line.as_bytes()), Ok(record), "{line}");
        }
        let mut text = String::new();
        for record in golden() {
            record.write(&mut text).unwrap();
        }
        assert_eq!(text, GOLDEN);
    }

    #[test]
    fn a_long_name_is_given_whole_after_the_columns() {
        let long = Record {
            name: "long_name_of_it",
            further: "",
            ..golden()[8]
        };
        let mut text = String::new();
        long.write(&mut text).unwrap();
        assert_eq!(Some(text.trim_end()), GOLDEN.lines().last());
    }

    #[test]
    fn an_error_names_the_field_that_is_wrong_and_its_column() {
        let table: [(&str, usize, &str); 6] = [
            ("", 0, "MapRecordType"),
            ("X", 0, "MapRecordType"),
            ("MN    workload000000000020000", 14, "MapStartAddress"),
            ("MN    workload0000000000200000", 30, "MapEndAddress"),
            ("MN    workload+000000000200000", 14, "MapStartAddress"),
            (
                "MN    workload000000000020000000000000001FFFFF",
                30,
                "MapEndAddress",
            ),
        ];
        for (line, offset, field) in table {
            let error = Record::parse(line.as_bytes()).unwrap_err();
            assert_eq!((error.offset, error.field), (offset, field), "{line}");
        }
        let error = Record::parse("MN    12345é7".as_bytes());
        assert!(error.is_err());
        assert_eq!(Record::parse(b"I\xFF").unwrap_err().offset, 1);
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(
            which in 0..6_usize, area in "[NMPFXC ]", asid in "[0-9A-F]{0,4}", name in "[!-~]{0,8}",
            start in any::<u64>(), length in any::<u32>(), further in "([!-~][ -~]{0,20}[!-~])?",
        ) {
            let (kind, ..) = Kind::ALL[which];
            let (has_start, has_end) = kind.addresses();
            let record = Record {
                kind,
                area: area.chars().next().unwrap(),
                asid_or_type: &asid,
                name: &name,
                start: has_start.then_some(start),
                end: has_end.then_some(start.saturating_add(length.into())),
                further: &further,
            };
            let mut text = String::new();
            record.write(&mut text).unwrap();
            prop_assert_eq!(Record::parse(text.trim_end_matches('\n').as_bytes()), Ok(record));
        }

        #[test]
        fn random_lines_are_read_or_refused(mut line in vec(any::<u8>(), 0..80), text in "[IABMCE]\\PC{0,60}") {
            let _ = Record::parse(text.as_bytes());
            if let Err(error) = Record::parse(&line) {
                prop_assert!(error.offset <= 46);
            }
            if let Some(first) = line.first_mut() {
                *first = b'M';
            }
            let _ = Record::parse(&line);
        }
    }
}
