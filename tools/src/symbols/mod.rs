//! Names for addresses: the table of routines, and the other sources of names.
//!
//! The table is taken from the guest's ELF once, before the run, and kept beside the raw data as plain text. So a
//! report can be made again without the guest, and a person can read the table.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

pub mod debug;
pub mod guest_file;
pub mod kallsyms;
pub mod lines;
pub mod linux;
pub mod map;
pub mod map_file;
pub mod mapped;
pub mod markers;
pub mod names;
pub mod places;
pub mod signed;

/// Line of the table for samples taken in the wait state.
pub const WAIT: &str = "(wait)";

/// Line of the table for addresses that belong to no known routine.
pub const UNKNOWN: &str = "(unknown address)";

/// Line of the table for limited samples of a secure guest.
pub const LIMITED: &str = "(secure guest)";

/// A routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Address of its first byte.
    pub start: u64,
    /// Address behind its last byte.
    pub end: u64,
    /// The program that it is part of.
    pub module: String,
    /// Its name, demangled.
    pub name: String,
}

/// The routine of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine<'n> {
    /// The routine, at the addresses that its image or file gives.
    pub symbol: &'n Symbol,
    /// The instruction, by the same addresses.
    pub address: u64,
    /// The number of the file that a process of Linux mapped; `None` for the image of the guest.
    pub file: Option<usize>,
}

/// A name without characters that would end a field or a line of the table's text.
pub fn plain(name: &str) -> String {
    name.replace(char::is_control, "\u{FFFD}")
}

/// Routines in ascending order; no two overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolTable {
    symbols: Vec<Symbol>,
}

/// A name in the ELF before overlaps are resolved.
struct Candidate {
    end: u64,
    /// A routine with a size beats a label without one, and a global name beats a local one.
    rank: (bool, bool),
    name: String,
}

impl SymbolTable {
    /// The routines of an ELF that has been parsed.
    pub fn from_elf(elf: &object::File<'_>, module: &str) -> Self {
        let module = plain(module);
        let mut by_start: BTreeMap<u64, Candidate> = BTreeMap::new();
        // A library that is stripped still has those that programs call.
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            let Some(section) = symbol
                .section_index()
                .and_then(|index| elf.section_by_index(index).ok())
                .filter(|section| section.kind() == SectionKind::Text)
            else {
                continue;
            };
            let Ok(name) = symbol.name() else { continue };
            let is_routine = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
            let is_label = matches!(
                symbol.kind(),
                SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown
            );
            if name.is_empty() || name.starts_with(".L") || !(is_routine || is_label) {
                continue;
            }
            let section_end = section.address().saturating_add(section.size());
            let end = if is_routine {
                symbol.address().saturating_add(symbol.size())
            } else {
                section_end
            };
            let candidate = Candidate {
                end: end.min(section_end),
                rank: (is_routine, symbol.is_global()),
                name: plain(&format!("{:#}", rustc_demangle::demangle(name))),
            };
            let place = by_start.entry(symbol.address());
            let known = place.or_insert_with(|| Candidate {
                name: String::new(),
                rank: (false, false),
                end: 0,
            });
            if known.name.is_empty() || candidate.rank > known.rank {
                *known = candidate;
            }
        }
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut routine_end = 0;
        for (start, candidate) in by_start {
            if start < routine_end && !candidate.rank.0 {
                continue; // a label inside a routine
            }
            if let Some(last) = symbols.last_mut() {
                last.end = last.end.min(start);
            }
            if candidate.rank.0 {
                routine_end = candidate.end;
            }
            symbols.push(Symbol {
                start,
                end: candidate.end,
                module: module.clone(),
                name: candidate.name,
            });
        }
        symbols.retain(|symbol| symbol.start < symbol.end);
        Self { symbols }
    }

    /// A table of these routines, in any order. Where two overlap, the first one ends earlier.
    pub fn of(mut symbols: Vec<Symbol>) -> Self {
        symbols.sort_by_key(|symbol| symbol.start);
        for place in 1..symbols.len() {
            let start = symbols[place].start;
            let before = &mut symbols[place - 1];
            before.end = before.end.min(start);
        }
        symbols.retain(|symbol| symbol.start < symbol.end);
        Self { symbols }
    }

    /// The routine that holds this address.
    pub fn find(&self, address: u64) -> Option<&Symbol> {
        let behind = self
            .symbols
            .partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols.get(behind.checked_sub(1)?)?;
        (address < symbol.end).then_some(symbol)
    }

    /// Every routine, in ascending order.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The table as text: start, end, module and name, separated by tabs, one routine a line.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for symbol in &self.symbols {
            let Symbol {
                start,
                end,
                module,
                name,
            } = symbol;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{start:016X}\t{end:016X}\t{module}\t{name}");
        }
        text
    }

    /// Reads what [`Self::to_text`] wrote.
    pub fn from_text(text: &str) -> Result<Self> {
        let mut symbols: Vec<Symbol> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let mut fields = line.splitn(4, '\t');
            let mut next = || {
                fields
                    .next()
                    .with_context(|| format!("line {}: a field is missing", number + 1))
            };
            let address = |text: &str| {
                u64::from_str_radix(text, 16)
                    .with_context(|| format!("line {}: not an address: {text}", number + 1))
            };
            let (start, end) = (address(next()?)?, address(next()?)?);
            let (module, name) = (next()?.to_owned(), next()?.to_owned());
            if symbols.last().is_some_and(|last| start < last.end) || end <= start {
                bail!("line {}: out of order", number + 1);
            }
            symbols.push(Symbol {
                start,
                end,
                module,
                name,
            });
        }
        Ok(Self { symbols })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> SymbolTable {
        SymbolTable::from_text(
            "0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\tg\tloop of a\ttab\n",
        )
        .unwrap()
    }

    #[test]
    fn an_address_belongs_to_the_routine_around_it_and_gaps_to_none() {
        let name = |address| table().find(address).map(|symbol| symbol.name.clone());
        assert_eq!(name(0x1F_FFFF), None);
        assert_eq!(name(0x20_0000).as_deref(), Some("start"));
        assert_eq!(name(0x20_000F).as_deref(), Some("start"));
        assert_eq!(name(0x20_0010), None);
        assert_eq!(name(0x20_003F).as_deref(), Some("loop of a\ttab"));
        assert_eq!(name(0x20_0040), None);
    }

    #[test]
    fn the_text_form_is_read_back() {
        assert_eq!(SymbolTable::from_text(&table().to_text()).unwrap(), table());
    }

    #[test]
    fn whatever_names_and_sizes_an_elf_file_has_its_routines_are_read_back() {
        use object::write::{Object, Symbol, SymbolSection};
        let (format, architecture) = (object::BinaryFormat::Elf, object::Architecture::S390x);
        let mut file = Object::new(format, architecture, object::Endianness::Big);
        let text = file.section_id(object::write::StandardSection::Text);
        file.append_section_data(text, &[0; 0x100], 16);
        let mut add = |value, size, name: &[u8]| {
            file.add_symbol(Symbol {
                name: name.to_vec(),
                value,
                size,
                kind: SymbolKind::Text,
                scope: object::SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(text),
                flags: object::SymbolFlags::None,
            });
        };
        add(0, 0x10, b"two\nlines\r");
        add(0x10, 0x10, b"a\ttab and \x1B[2J");
        add(0x20, u64::MAX, b"endless");
        add(0xF0, u64::MAX - 0xEF, b"last");
        add(u64::MAX, 2, b"beyond");
        let bytes = file.write().unwrap();
        let elf = object::File::parse(&bytes[..]).unwrap();
        let table = SymbolTable::from_elf(&elf, "a\tguest\n");
        let names: Vec<&str> = table
            .symbols()
            .iter()
            .map(|symbol| &symbol.name[..])
            .collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert_eq!(names[0], "two\u{FFFD}lines\u{FFFD}");
        assert_eq!(SymbolTable::from_text(&table.to_text()).unwrap(), table);
        assert_eq!(table.symbols()[0].module, "a\u{FFFD}guest\u{FFFD}");
    }

    #[test]
    fn a_damaged_text_is_refused_with_its_line() {
        for (text, line) in [
            ("zz\t1\tm\tn", "line 1"),
            ("1\t2\tm\tn\n1\t3\tm\tn", "line 2"),
            ("1\t2\tm", "line 1"),
        ] {
            let error = format!("{:#}", SymbolTable::from_text(text).unwrap_err());
            assert!(error.contains(line), "{error}");
        }
    }
}
