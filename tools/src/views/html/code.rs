//! The guest's own file: the bytes of its instructions, and the source lines that they come from.
//!
//! If the guest was built again since the run, its file usually has other routines. So the file is used only if its
//! routines are those that the run wrote down.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection, SectionFlags, elf::SHF_EXECINSTR};

use super::sources::Sources;
use crate::{
    computer::{input_file, visible::visible},
    symbols::{SymbolTable, debug::DebugInformation},
};

/// Directories of a source file that are shown with its name.
const DIRECTORIES: usize = 3;

/// Parts of the paths of Rust's own libraries.
const LIBRARIES: [&str; 3] = ["/library/core/", "/library/alloc/", "/library/std/"];

/// A guest's file is not longer than this: a guest is loaded below 2 GiB.
const LONGEST_FILE: u64 = 4 << 30;

/// Reads the guest's file.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    let about = || format!("cannot read the guest's file {}", file.display());
    let data = fs::metadata(file).with_context(about)?;
    if !data.is_file() || data.len() > LONGEST_FILE {
        bail!("the guest's file {} is not an ELF file", file.display());
    }
    input_file::read(file).with_context(about)
}

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
        if data.get(..6) != Some(&b"\x7FELF\x02\x02"[..]) {
            bail!("the guest's file is not an ELF file of 64 bits, big-endian");
        }
        let elf = object::File::parse(data).context("the guest's ELF file is damaged")?;
        if elf.architecture() != object::Architecture::S390x {
            bail!("the guest's ELF file is not for s390x");
        }
        if SymbolTable::from_elf(&elf, guest) != *symbols {
            bail!(
                "the guest's file has other routines than the guest of this run: it was built again since then"
            );
        }
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
