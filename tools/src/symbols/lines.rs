//! The line table of an ELF file: which source line each instruction comes from, and where statements begin.
//!
//! The functions of an instruction have their lines from [`debug`](super::debug). The whole table also knows the lines of
//! instructions that were never executed.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use object::{Object as _, ObjectSection as _, SectionKind};

use super::debug::{Slice, dwarf};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// The address of its first instruction.
    start: u64,
    /// The address at which the next row begins.
    end: u64,
    /// The number of the source file.
    file: u32,
    /// The line; 0 if it is not known.
    line: u32,
    /// Whether its first instruction begins a statement.
    is_statement: bool,
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine<'t> {
    /// The file.
    pub file: &'t str,
    /// The line, counted from 1; 0 if it is not known.
    pub line: u32,
}

/// The line table of a file.
#[derive(Clone, Debug, Default)]
pub struct LineTable {
    files: Vec<String>,
    /// By their addresses. Those of one address are in the order of the table.
    rows: Vec<Row>,
}

impl LineTable {
    /// Reads it. `whose` names the file for a person.
    ///
    /// # Errors
    /// The file has no debug information, or it is damaged.
    pub fn read(elf: &object::File<'_>, whose: &str) -> Result<Self> {
        let dwarf = dwarf(elf, whose)?;
        let mut table = Self::of(&dwarf)
            .with_context(|| format!("the line table of {whose} is damaged; build it again"))?;
        // The linker leaves rows of code that it has dropped, at addresses where nothing is.
        let code: Vec<_> = elf
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        let is_there = |row: &Row| code.iter().any(|section| section.contains(&row.start));
        table.rows.retain(is_there);
        Ok(table)
    }

    fn of(dwarf: &gimli::Dwarf<Slice<'_>>) -> Result<Self> {
        let mut table = Self::default();
        let mut numbers = HashMap::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let Some(program) = unit.line_program.clone() else {
                continue;
            };
            let mut known = HashMap::new();
            let mut open: Option<Row> = None;
            let mut rows = program.rows();
            while let Some((header, row)) = rows.next_row()? {
                if let Some(before) = open.take() {
                    table.rows.push(Row {
                        end: row.address(),
                        ..before
                    });
                }
                if row.end_sequence() {
                    continue;
                }
                let index = row.file_index();
                let file = match known.get(&index) {
                    Some(file) => *file,
                    None => {
                        let path = path(dwarf, &unit, header, index)?;
                        let files = &mut table.files;
                        let file = *numbers.entry(path).or_insert_with_key(|path: &String| {
                            files.push(path.clone());
                            files.len() as u32 - 1
                        });
                        known.insert(index, file);
                        file
                    }
                };
                open = Some(Row {
                    start: row.address(),
                    end: row.address(),
                    file,
                    line: row.line().map_or(0, |line| line.get() as u32),
                    is_statement: row.is_stmt(),
                });
            }
        }
        // A stable sort keeps the order of rows of the same address.
        table.rows.sort_by_key(|row| row.start);
        Ok(table)
    }

    fn source(&self, row: &Row) -> SourceLine<'_> {
        SourceLine {
            file: self.files.get(row.file as usize).map_or("", |file| file),
            line: row.line,
        }
    }

    /// The source line of an instruction. For an inlined function it is the line in that function.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<SourceLine<'_>> {
        let behind = self.rows.partition_point(|row| row.start <= address);
        let row = self.rows.get(behind.checked_sub(1)?)?;
        (address < row.end).then(|| self.source(row))
    }

    /// The addresses at which statements begin, in ascending order, and their lines.
    pub fn statements(&self) -> impl Iterator<Item = (u64, SourceLine<'_>)> {
        let begin = self
            .rows
            .iter()
            .filter(|row| row.is_statement && row.line != 0);
        begin.map(|row| (row.start, self.source(row)))
    }
}

/// The path of a file of a line program.
fn path(
    dwarf: &gimli::Dwarf<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
    header: &gimli::LineProgramHeader<Slice<'_>>,
    index: u64,
) -> Result<String> {
    let mut path = String::new();
    let mut push = |part: &str| {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    };
    let Some(file) = header.file(index) else {
        return Ok(path);
    };
    if let Some(directory) = &unit.comp_dir {
        push(&directory.to_string_lossy());
    }
    // The directory with the number 0 is that of the unit.
    if file.directory_index() != 0
        && let Some(directory) = file.directory(header)
    {
        push(&dwarf.attr_string(unit, directory)?.to_string_lossy());
    }
    push(&dwarf.attr_string(unit, file.path_name())?.to_string_lossy());
    Ok(super::plain(&path))
}

#[cfg(test)]
pub(crate) mod tests {
    use object::{
        Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope,
        write::{Object, Symbol, SymbolSection},
    };

    use super::*;
    use crate::symbols::debug::tests::sections;

    /// A guest's file with `outer` at 1000-100F and `idle` at 1010-101F, compiled from a.rs. Line 10 begins at 1000, 30 at
    /// 1008, and 40 at 1010 and 1012. At 100C is an instruction of line 31 that begins no statement.
    pub(crate) fn guest() -> Vec<u8> {
        let lines = [
            &[3, 9, 1][..],
            &[2, 8, 3, 20, 1],
            &[6, 2, 4, 3, 1, 1, 6],
            &[2, 4, 3, 9, 1],
            &[2, 2, 1],
            &[2, 14, 0, 1, 1],
        ];
        let mut file = Object::new(BinaryFormat::Elf, Architecture::S390x, Endianness::Big);
        let text = file.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        file.append_section_data(text, &[7; 32], 1);
        for (name, value) in [("outer", 0x1000), ("idle", 0x1010)] {
            file.add_symbol(Symbol {
                name: name.as_bytes().to_vec(),
                value,
                size: 16,
                kind: SymbolKind::Text,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            });
        }
        for (name, _, bytes) in sections(&lines.concat()) {
            let name = name.as_bytes().to_vec();
            let section = file.add_section(Vec::new(), name, SectionKind::Debug);
            file.append_section_data(section, &bytes, 1);
        }
        let mut bytes = file.write().unwrap();
        // The address of the first section, after the empty one.
        let headers = u64::from_be_bytes(bytes[0x28..0x30].try_into().unwrap());
        let at = usize::try_from(headers).unwrap() + 64 + 16;
        bytes[at..at + 8].copy_from_slice(&0x1000_u64.to_be_bytes());
        bytes
    }

    #[test]
    fn the_table_has_the_line_of_each_instruction_and_the_statements() {
        let bytes = guest();
        let elf = object::File::parse(&bytes[..]).unwrap();
        let table = LineTable::read(&elf, "the file").unwrap();
        let line = |address| table.at(address).map(|source| (source.file, source.line));
        for (address, expected) in [
            (0xFFF, None),
            (0x1000, Some(10)),
            (0x1007, Some(10)),
            (0x100A, Some(30)),
            (0x100C, Some(31)),
            (0x101F, Some(40)),
            (0x1020, None),
        ] {
            assert_eq!(line(address), expected.map(|line| ("a.rs", line)));
        }
        let statements: Vec<(u64, u32)> = table
            .statements()
            .map(|(address, source)| (address, source.line))
            .collect();
        let expected = [(0x1000, 10), (0x1008, 30), (0x1010, 40), (0x1012, 40)];
        assert_eq!(statements, expected);
    }

    #[test]
    fn rows_of_code_that_the_linker_dropped_are_left_out() {
        let mut bytes = guest();
        let headers = u64::from_be_bytes(bytes[0x28..0x30].try_into().unwrap());
        let at = usize::try_from(headers).unwrap() + 64 + 16;
        bytes[at..at + 8].copy_from_slice(&0x1010_u64.to_be_bytes());
        let elf = object::File::parse(&bytes[..]).unwrap();
        let table = LineTable::read(&elf, "the file").unwrap();
        assert_eq!(table.at(0x1000), None);
        assert_eq!(table.statements().count(), 2);
    }
}
