//! Makes a guest from one case of a program.
//!
//! The behaviour guests are one program, `tests-qemu/guests/src/behaviour`. Each of its modules has an
//! entry and a clause of its own. A case as a guest is the program with two changes: the entry in the
//! ELF header, and the place and length of the section `.clause`. Everything that reads a guest's file,
//! bare QEMU too, then finds only this case.

use anyhow::{Context, Result, bail};

/// The program of the cases.
pub const PROGRAM: &str = "behaviour";

/// The source of what the cases have in common; it is no case.
pub const MAIN: &str = "main";

/// What is said of a file that is not what the build made.
const DAMAGED: &str = "the program of the cases is damaged; build it again";

/// How an ELF file with 64 bits and the most significant byte first begins.
const ELF: &[u8] = b"\x7FELF\x02\x02";
/// Offset of the entry in the ELF header.
const ENTRY: usize = 24;
/// Offset of the place of the section headers in the ELF header.
const SECTION_HEADERS: usize = 40;
/// Offsets of the number of section headers, and of the number of the section with their names.
const SECTIONS: usize = 60;
const NAMES: usize = 62;
/// Bytes of a section header.
const SECTION_HEADER: usize = 64;
/// Offset of a section's place and length in its section header.
const SECTION_PLACE: usize = 24;
/// The type of the table of symbols, and bytes of a symbol.
const SYMBOLS: u32 = 2;
const SYMBOL: usize = 24;

/// A section header.
struct Section {
    /// Its own offset in the file.
    at: usize,
    name: u32,
    kind: u32,
    place: usize,
    length: usize,
    link: u32,
}

/// The program's ELF file, as far as it is read here.
struct Program<'p> {
    bytes: &'p [u8],
    sections: Vec<Section>,
}

impl<'p> Program<'p> {
    fn parse(bytes: &'p [u8]) -> Option<Self> {
        let bytes = bytes.starts_with(ELF).then_some(bytes)?;
        let first = usize::try_from(doubleword(bytes, SECTION_HEADERS)?).ok()?;
        let number = halfword(bytes, SECTIONS)?;
        let header = |number| {
            let at = first.checked_add(SECTION_HEADER * usize::from(number))?;
            let field = |offset| word(bytes, at.checked_add(offset)?);
            let size = |offset| {
                let size = doubleword(bytes, at.checked_add(offset)?)?;
                usize::try_from(size).ok()
            };
            Some(Section {
                at,
                name: field(0)?,
                kind: field(4)?,
                place: size(SECTION_PLACE)?,
                length: size(SECTION_PLACE + 8)?,
                link: field(40)?,
            })
        };
        let sections = (0..number).map(header).collect::<Option<_>>()?;
        Some(Self { bytes, sections })
    }

    fn content(&self, section: &Section) -> Option<&'p [u8]> {
        let end = section.place.checked_add(section.length)?;
        self.bytes.get(section.place..end)
    }

    /// The text at this place of a section.
    fn text(&self, section: &Section, at: u32) -> Option<&'p [u8]> {
        let content = self.content(section)?.get(at as usize..)?;
        content.split(|&byte| byte == 0).next()
    }

    fn section(&self, name: &str) -> Option<&Section> {
        let names = self
            .sections
            .get(usize::from(halfword(self.bytes, NAMES)?))?;
        let is_it = |section: &&Section| self.text(names, section.name) == Some(name.as_bytes());
        self.sections.iter().find(is_it)
    }

    /// The value of this symbol.
    fn symbol(&self, name: &str) -> Option<u64> {
        let table = self
            .sections
            .iter()
            .find(|section| section.kind == SYMBOLS)?;
        let names = self.sections.get(table.link as usize)?;
        let mut symbols = self.content(table)?.chunks_exact(SYMBOL);
        let symbol = symbols.find(|symbol| {
            let text = word(symbol, 0).and_then(|at| self.text(names, at));
            text == Some(name.as_bytes())
        })?;
        doubleword(symbol, 8)
    }
}

fn field<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; LENGTH]> {
    let field = bytes.get(at..at.checked_add(LENGTH)?)?;
    field.try_into().ok()
}

fn halfword(bytes: &[u8], at: usize) -> Option<u16> {
    field(bytes, at).map(u16::from_be_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_be_bytes)
}

fn doubleword(bytes: &[u8], at: usize) -> Option<u64> {
    field(bytes, at).map(u64::from_be_bytes)
}

/// The program's ELF file as a guest of this case.
pub fn cut(program: &[u8], name: &str) -> Result<Vec<u8>> {
    let elf = Program::parse(program).context(DAMAGED)?;
    let module = format!("{PROGRAM}::{name}");
    let entry = elf.symbol(&module).with_context(|| {
        format!("the program has no case {name}: name it in {PROGRAM}/main.rs, and begin it with guests::case!")
    })?;
    let section = (elf.section(".clause"))
        .context("the program of the cases has no section .clause; build it again")?;
    let clauses = elf.content(section).context(
        "the section .clause of the program of the cases is not in its file; build it again",
    )?;
    let first_line = format!("module={module}\n");
    let mut at = section.place;
    let clause = clauses
        .split_inclusive(|&byte| byte == 0)
        .find(|clause| {
            at += clause.len();
            clause.starts_with(first_line.as_bytes())
        })
        .with_context(|| format!("{name} declares no clause; begin it with guests::clause!"))?;
    let place = at - clause.len();
    let mut guest = program.to_vec();
    let mut put = |at: usize, value: u64| match guest.get_mut(at..at + 8) {
        Some(bytes) => {
            bytes.copy_from_slice(&value.to_be_bytes());
            Ok(())
        }
        None => bail!(DAMAGED),
    };
    put(ENTRY, entry)?;
    put(section.at + SECTION_PLACE, place as u64)?;
    put(section.at + SECTION_PLACE + 8, clause.len() as u64)?;
    Ok(guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_a_program_of_cases_is_refused() {
        assert!(cut(b"", "b_x").is_err());
        assert!(cut(b"\x7FELF", "b_x").is_err());
    }

    /// A program with one case at `entry`, whose clauses are these.
    fn program(name: &str, entry: u64, clauses: &[u8]) -> Vec<u8> {
        let names = b"\0.clause\0".to_vec();
        let symbols_names = [b"\0", PROGRAM.as_bytes(), b"::", name.as_bytes(), b"\0"].concat();
        let mut symbols = vec![0; 2 * SYMBOL];
        symbols[SYMBOL..SYMBOL + 4].copy_from_slice(&1_u32.to_be_bytes());
        symbols[SYMBOL + 8..SYMBOL + 16].copy_from_slice(&entry.to_be_bytes());
        // Name, type, content and the section of its names.
        let sections: [(u32, u32, &[u8], u32); 4] = [
            (0, 3, &names, 0),
            (0, 3, &symbols_names, 0),
            (0, SYMBOLS, &symbols, 1),
            (1, 1, clauses, 0),
        ];
        let mut elf = vec![0; 64];
        elf[..ELF.len()].copy_from_slice(ELF);
        let mut headers = Vec::new();
        for (name, kind, content, link) in sections {
            let mut header = [0; SECTION_HEADER];
            header[..4].copy_from_slice(&name.to_be_bytes());
            header[4..8].copy_from_slice(&kind.to_be_bytes());
            header[24..32].copy_from_slice(&(elf.len() as u64).to_be_bytes());
            header[32..40].copy_from_slice(&(content.len() as u64).to_be_bytes());
            header[40..44].copy_from_slice(&link.to_be_bytes());
            headers.extend(header);
            elf.extend(content);
        }
        let first = (elf.len() as u64).to_be_bytes();
        elf[SECTION_HEADERS..SECTION_HEADERS + 8].copy_from_slice(&first);
        elf[SECTIONS + 1] = sections.len() as u8;
        elf.extend(headers);
        elf
    }

    #[test]
    fn a_case_has_its_own_entry_and_only_its_own_clause() {
        let own = b"module=behaviour::b_x\nclause=two\n\0";
        let clauses = [&b"module=behaviour::b_w\nclause=one\n\0"[..], own].concat();
        let guest = cut(&program("b_x", 0x1_0400, &clauses), "b_x").unwrap();
        let elf = Program::parse(&guest).unwrap();
        assert_eq!(doubleword(&guest, ENTRY), Some(0x1_0400));
        assert_eq!(elf.content(elf.section(".clause").unwrap()), Some(&own[..]));
        let error = cut(&program("b_y", 0, &clauses), "b_x").unwrap_err();
        assert!(error.to_string().contains("no case b_x"), "{error}");
        let error = cut(&program("b_y", 0, &clauses), "b_y").unwrap_err();
        assert!(error.to_string().contains("declares no clause"), "{error}");
    }

    #[test]
    fn no_byte_of_a_damaged_program_leads_out_of_it() {
        let whole = program("b_x", 1, b"module=behaviour::b_x\n\0");
        // The last fields of the last section header are not read.
        for length in 0..whole.len() - 20 {
            assert!(cut(&whole[..length], "b_x").is_err(), "{length}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] = 0xFF;
            // It may still be a program; it must only be read to the end.
            let _ = cut(&damaged, "b_x");
        }
    }
}
