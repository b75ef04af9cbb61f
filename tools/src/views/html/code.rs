//! The guest's own file: the bytes of its instructions, and the source lines that they come from.
//!
//! The file is used only if its routines are those that the run wrote down.

use std::{fs, path::Path};

use anyhow::Result;
use object::{Object, ObjectSection, SectionFlags, elf::SHF_EXECINSTR};

use super::sources::Sources;
use crate::{
    computer::visible::visible,
    symbols::{SymbolTable, debug::DebugInformation, guest_file},
};

/// Directories of a source file that are shown with its name.
const DIRECTORIES: usize = 3;

/// Parts of the paths of Rust's own libraries.
const LIBRARIES: [&str; 3] = ["/library/core/", "/library/alloc/", "/library/std/"];

/// The content of the guest's file.
pub struct Code<'d> {
    /// Addresses and bytes of its instructions.
    sections: Vec<(u64, &'d [u8])>,
    debug: Option<DebugInformation<'d>>,
    sources: Option<Sources>,
    /// Why there are no source lines; `None` if there are.
    pub without_source: Option<String>,
}

impl<'d> Code<'d> {
    /// Parses the file. `symbols` are the routines that the run wrote down.
    pub fn parse(data: &'d [u8], guest: &str, symbols: &SymbolTable) -> Result<Self> {
        let elf = guest_file::parse(data, guest, symbols)?;
        let sections = elf.sections().filter_map(|section| {
            let SectionFlags::Elf { sh_flags } = section.flags() else {
                return None;
            };
            let is_code = sh_flags & u64::from(SHF_EXECINSTR) != 0;
            let bytes = section
                .data()
                .ok()
                .filter(|bytes| is_code && !bytes.is_empty())?;
            Some((section.address(), bytes))
        });
        let sections = sections.collect();
        let (debug, without_source) = match DebugInformation::read(&elf, "the guest's file") {
            Ok(debug) => (Some(debug), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        Ok(Self {
            sections,
            debug,
            sources: None,
            without_source,
        })
    }

    /// The bytes from this address up to `end`, or up to the end of the section.
    pub fn bytes(&self, start: u64, end: u64) -> &'d [u8] {
        let found = self.sections.iter().find_map(|(address, bytes)| {
            let from = usize::try_from(start.checked_sub(*address)?).ok()?;
            let bytes = bytes.get(from..).filter(|bytes| !bytes.is_empty())?;
            let length = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            Some(&bytes[..length.min(bytes.len())])
        });
        found.unwrap_or_default()
    }

    /// Shows the text of source lines, too, from files that are not newer than the guest's file.
    #[must_use]
    pub fn with_sources(self, guest_file: &Path) -> Self {
        let written = fs::metadata(guest_file).and_then(|data| data.modified());
        Self {
            sources: written.ok().map(Sources::before),
            ..self
        }
    }

    /// The source line that an instruction comes from, as `directory/file:line`. For an inlined function it is the line
    /// in that function. If the function is in Rust's own libraries, it is the line that called them, because a reader
    /// can change that one.
    pub fn source(&self, address: u64) -> Option<String> {
        let (file, line) = self.place(address)?;
        let file = shortened(file);
        Some(match line {
            0 => file,
            line => format!("{file}:{line}"),
        })
    }

    /// The text of this source line, if its file is still the one that was compiled.
    pub fn source_text(&self, address: u64) -> Option<String> {
        let (file, line) = self.place(address)?;
        self.sources.as_ref()?.line(Path::new(file), line)
    }

    /// The source file and the line.
    fn place(&self, address: u64) -> Option<(&str, u32)> {
        let mut innermost = None;
        for (file, line) in self
            .debug
            .as_ref()?
            .frames(address)
            .filter_map(|frame| frame.place())
        {
            if !LIBRARIES.iter().any(|library| file.contains(library)) {
                return Some((file, line));
            }
            innermost = innermost.or(Some((file, line)));
        }
        innermost
    }
}

/// The last parts of a path.
fn shortened(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
    let first = parts.len().saturating_sub(DIRECTORIES + 1);
    visible(&parts[first..].join("/"))
}
