//! What the processes of Linux map for execution, and the files: for addresses in a program's or a library's routines.
//!
//! The guest says so in lines, each a change, in the order of their times:
//!
//! | line | meaning |
//! |---|---|
//! | `fork PID PARENT` | a process begins with what its parent maps |
//! | `thread TID PID` | a thread shares what its process maps |
//! | `exec PID` | a process begins another program, and maps nothing |
//! | `map PID START END OFFSET PATH` | it maps bytes of a file, from the offset on |
//!
//! The folder of a run has the lines, and the files that they name as far as the host knows them. Nothing in them is
//! trusted: a line that is damaged changes nothing, and a file that is not ELF has no routines.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use object::{
    BigEndian, Object as _, ObjectSection as _,
    elf::{FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

use crate::{
    folder::{self, MAPPED, OBJECTS},
    symbols::{Symbol, SymbolTable},
};

/// The most mappings of a process, and the most lines: a guest cannot make the host work for ever.
const MOST_MAPPINGS: usize = 4096;
const MOST_LINES: usize = 200_000;

/// The most mappings of all processes: one that begins with its parent's has a copy of them.
const MOST_IN_ALL: usize = 1 << 20;

/// Bytes of a file in the address space of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// Where the first byte is in the file.
    pub offset: u64,
    /// The number of the file.
    pub file: usize,
}

/// A part of a file that is loaded.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    length: u64,
    address: u64,
}

/// The content of a file.
#[derive(Debug, Default)]
pub struct Content {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
    /// The routines at the addresses that the file itself gives.
    pub symbols: SymbolTable,
}

impl Content {
    fn of(bytes: Vec<u8>, name: &str) -> Self {
        let segments = segments(&bytes).unwrap_or_default();
        let symbols = object::File::parse(&bytes[..])
            .map(|elf| SymbolTable::from_elf(&elf, name))
            .unwrap_or_default();
        Self {
            bytes,
            segments,
            symbols,
        }
    }

    /// The bytes at these addresses, as the file gives them: fewer if it does not have so many.
    #[must_use]
    pub fn text(&self, range: std::ops::Range<u64>) -> &[u8] {
        let found = self.segments.iter().find_map(|segment| {
            let inside = range.start.checked_sub(segment.address)?;
            let length = segment.length.checked_sub(inside)?;
            let length = length.min(range.end.checked_sub(range.start)?);
            let first = usize::try_from(segment.offset.checked_add(inside)?).ok()?;
            let rest = self.bytes.get(first..)?;
            rest.get(..usize::try_from(length).ok()?.min(rest.len()))
        });
        found.unwrap_or_default()
    }

    /// Where the byte at an address is in the file.
    fn offset(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let inside = address.checked_sub(segment.address)?;
            (inside < segment.length).then(|| segment.offset.saturating_add(inside))
        })
    }

    /// A section with its address.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<(u64, &[u8])> {
        let elf = object::File::parse(&self.bytes[..]).ok()?;
        let section = elf.section_by_name(name)?;
        Some((section.address(), section.data().ok()?))
    }
}

fn segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    let header = FileHeader64::<BigEndian>::parse(bytes).ok()?;
    let headers = header.program_headers(BigEndian, bytes).ok()?;
    let loaded = headers
        .iter()
        .filter(|header| header.p_type(BigEndian) == PT_LOAD);
    let segment = loaded.map(|header| Segment {
        offset: header.p_offset(BigEndian),
        length: header.p_filesz(BigEndian),
        address: header.p_vaddr(BigEndian),
    });
    Some(segment.collect())
}

/// A file that processes map.
#[derive(Debug)]
pub struct ProgramFile {
    /// Its name in the guest.
    pub path: String,
    /// Where the host has it.
    pub kept: PathBuf,
    content: OnceLock<Content>,
}

impl ProgramFile {
    /// Its last name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Its bytes; none if the host does not have it.
    pub fn bytes(&self) -> &[u8] {
        &self.content().bytes
    }

    /// Its content; empty if the host does not have it.
    pub fn content(&self) -> &Content {
        self.content
            .get_or_init(|| Content::of(folder::read(&self.kept).unwrap_or_default(), self.name()))
    }
}

/// A place in a file.
#[derive(Clone, Copy, Debug)]
pub struct FilePlace<'p> {
    /// The file.
    pub file: &'p ProgramFile,
    /// The number of the file.
    pub number: usize,
    /// The address as the file itself gives it.
    pub address: u64,
}

impl<'p> FilePlace<'p> {
    /// The routine there.
    #[must_use]
    pub fn routine(&self) -> Option<&'p Symbol> {
        self.file.content().symbols.find(self.address)
    }
}

/// What all processes map.
#[derive(Debug, Default)]
pub struct Programs {
    spaces: BTreeMap<u32, Vec<Mapping>>,
    threads: BTreeMap<u32, u32>,
    files: Vec<ProgramFile>,
    /// Mappings of all processes.
    in_all: usize,
}

impl Programs {
    /// What the processes of a run mapped; nothing if the run did not follow call stacks.
    #[must_use]
    pub fn of_run(directory: &Path) -> Self {
        let text = folder::read(&directory.join(MAPPED)).unwrap_or_default();
        Self::new(&String::from_utf8_lossy(&text), directory)
    }

    /// Made from the lines.
    #[must_use]
    pub fn new(text: &str, directory: &Path) -> Self {
        let mut programs = Self::default();
        let mut numbers = BTreeMap::new();
        for line in text.lines().take(MOST_LINES) {
            programs.change(line, directory, &mut numbers);
        }
        programs
    }

    fn change(
        &mut self,
        line: &str,
        directory: &Path,
        numbers: &mut BTreeMap<String, usize>,
    ) -> Option<()> {
        let mut words = line.splitn(6, ' ');
        let kind = words.next()?;
        let process: u32 = words.next()?.parse().ok()?;
        match kind {
            "fork" => {
                let parent: u32 = words.next()?.parse().ok()?;
                let parent = self.process_of(parent);
                let space = self.spaces.get(&parent).map_or(&[][..], |space| space);
                let room = MOST_IN_ALL.saturating_sub(self.in_all);
                let space = space[..space.len().min(room)].to_vec();
                self.replace(process, space);
            }
            "thread" => {
                let of = words.next()?.parse().ok()?;
                self.threads.insert(process, of);
            }
            "exec" => {
                self.replace(process, Vec::new());
            }
            "map" => {
                let mut number = || u64::from_str_radix(words.next()?, 16).ok();
                let (start, end, offset) = (number()?, number()?, number()?);
                let path = words.next()?.trim();
                let is_path = path.starts_with('/') && !path.contains(char::is_control);
                if start >= end || !is_path {
                    return None;
                }
                let files = &mut self.files;
                let file = *numbers.entry(path.to_owned()).or_insert_with(|| {
                    files.push(ProgramFile {
                        path: path.to_owned(),
                        kept: directory.join(OBJECTS).join(files.len().to_string()),
                        content: OnceLock::new(),
                    });
                    files.len() - 1
                });
                let space = self.spaces.entry(process).or_default();
                self.in_all -= space.len();
                space.retain(|known| known.end <= start || end <= known.start);
                if space.len() < MOST_MAPPINGS && self.in_all < MOST_IN_ALL {
                    space.push(Mapping {
                        start,
                        end,
                        offset,
                        file,
                    });
                }
                self.in_all += space.len();
            }
            _ => {}
        }
        Some(())
    }

    /// What a process maps from now on.
    fn replace(&mut self, process: u32, space: Vec<Mapping>) {
        self.in_all += space.len();
        let before = self.spaces.insert(process, space);
        self.in_all -= before.map_or(0, |before| before.len());
    }

    /// The process of a thread, or the process itself.
    fn process_of(&self, number: u32) -> u32 {
        self.threads.get(&number).copied().unwrap_or(number)
    }

    /// Whether something is known to be mapped in a process, or in that of a thread.
    #[must_use]
    pub fn has(&self, process: u32) -> bool {
        !self.mappings(process).is_empty()
    }

    /// What a process maps, or that of a thread.
    #[must_use]
    pub fn mappings(&self, process: u32) -> &[Mapping] {
        let space = self.spaces.get(&self.process_of(process));
        space.map_or(&[], |space| &space[..])
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[ProgramFile] {
        &self.files
    }

    /// The routines of the files, where processes have them.
    #[must_use]
    pub fn routines(&self) -> Vec<Symbol> {
        let mut mappings: Vec<&Mapping> = self.spaces.values().flatten().collect();
        mappings.sort_unstable_by_key(|mapping| (mapping.file, mapping.start, mapping.offset));
        mappings.dedup();
        let mut found = Vec::new();
        for mapping in mappings.into_iter().take(MOST_MAPPINGS) {
            let content = self.files[mapping.file].content();
            for symbol in content.symbols.symbols() {
                let start = content.offset(symbol.start).and_then(|offset| {
                    let inside = offset.checked_sub(mapping.offset)?;
                    (inside < mapping.end - mapping.start).then(|| mapping.start + inside)
                });
                let length = symbol.end.saturating_sub(symbol.start);
                found.extend(start.map(|start| Symbol {
                    start,
                    end: start.saturating_add(length).min(mapping.end),
                    ..symbol.clone()
                }));
            }
        }
        found
    }

    /// What an address of a process, or of a thread, designates.
    #[must_use]
    pub fn find(&self, process: u32, address: u64) -> Option<FilePlace<'_>> {
        let mut mappings = self.mappings(process).iter();
        let mapping = mappings.find(|known| (known.start..known.end).contains(&address))?;
        let file = &self.files[mapping.file];
        let offset = (address - mapping.start).checked_add(mapping.offset)?;
        let content = file.content();
        let of_file = content.segments.iter().find_map(|segment| {
            let inside = offset.checked_sub(segment.offset)?;
            (inside < segment.length).then(|| segment.address.wrapping_add(inside))
        });
        Some(FilePlace {
            file,
            number: mapping.file,
            address: of_file.unwrap_or(offset),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn programs(text: &str) -> Programs {
        Programs::new(text, Path::new("/nowhere"))
    }

    #[test]
    fn a_process_begins_with_what_its_parent_maps_and_loses_it_when_it_performs_a_program() {
        let text = "map 1 1000 3000 0 /bin/busybox\nfork 7 1\nthread 8 7\nfork 9 8\nexec 7\n\
                    map 7 10000 12000 1000 /root/a b\nmap 7 11000 11800 0 /lib/c.so\n";
        let found = programs(text);
        let at = |process, address| {
            let place = found.find(process, address)?;
            Some((place.file.name(), place.address))
        };
        assert_eq!(at(1, 0x1004), Some(("busybox", 4)));
        assert_eq!(at(9, 0x1004), Some(("busybox", 4)));
        assert_eq!(at(7, 0x1004), None);
        // A later mapping takes the place of an earlier one.
        assert_eq!(at(8, 0x11010), Some(("c.so", 0x10)));
        assert_eq!(at(8, 0x10010), None);
        assert!(found.has(8) && !found.has(10));
        assert_eq!(found.files().len(), 3);
        // No file has such a name, and no bytes are there.
        for line in [
            "map 7 5000 6000 0 /a\u{1B}b",
            "map 7 5000 6000 0 [vdso]",
            "map 7 6000 5000 0 /a",
        ] {
            assert!(!programs(line).has(7), "{line:?}");
        }
    }

    #[test]
    fn a_guest_cannot_fill_the_storage_of_the_host_with_processes_that_begin_alike() {
        let maps = (0..MOST_MAPPINGS).map(|page| format!("map 1 {page:x}000 {page:x}fff 0 /a\n"));
        let forks = (2..20_000).map(|process| format!("fork {process} 1\n"));
        let found = programs(&maps.chain(forks).collect::<String>());
        let all: usize = (1..20_000)
            .map(|process| found.mappings(process).len())
            .sum();
        assert!(
            (MOST_IN_ALL - MOST_MAPPINGS..=MOST_IN_ALL).contains(&all),
            "{all}"
        );
        assert_eq!(found.in_all, all);
        // What is mapped no longer leaves room.
        let again =
            "exec 1\nexec 2\nmap 1 1000 2000 0 /b\nfork 3 1\nfork 2 1\nmap 2 1800 1900 0 /c\n";
        let found = programs(again);
        assert_eq!(found.in_all, 3);
    }

    proptest! {
        #[test]
        fn whatever_the_guest_says_is_heeded_or_ignored(
            lines in prop::collection::vec("(map|fork|exec|thread|lost) [0-9]{0,3} ?[0-9a-f]{0,17} ?[0-9a-f]{0,4} ?[0-9a-f]? ?/?[a-z]*", 0..20),
            address: u64,
        ) {
            let found = programs(&lines.join("\n"));
            for process in 0..10 {
                let _ = found.find(process, address);
            }
        }
    }
}
