//! The guest's own file.
//!
//! If the guest was built again since the run, its file usually has other routines. So the file is used only if its
//! routines are those that the run wrote down.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

use crate::{folder, symbols::SymbolTable};

/// A guest's file is not longer than this: a guest is loaded below 2 GiB.
const LONGEST_FILE: u64 = 4 << 30;

/// Reads the guest's file.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    let about = || format!("cannot read the guest's file {}", file.display());
    let data = fs::metadata(file).with_context(about)?;
    if !data.is_file() || data.len() > LONGEST_FILE {
        bail!("the guest's file {} is not an ELF file", file.display());
    }
    folder::read(file).with_context(about)
}

/// Parses its bytes. `symbols` are the routines that the run wrote down.
pub fn parse<'d>(data: &'d [u8], guest: &str, symbols: &SymbolTable) -> Result<object::File<'d>> {
    if data.get(..6) != Some(&b"\x7FELF\x02\x02"[..]) {
        bail!("the guest's file is not an ELF file of 64 bits, big-endian");
    }
    let elf = object::File::parse(data).context("the guest's ELF file is damaged")?;
    if object::Object::architecture(&elf) != object::Architecture::S390x {
        bail!("the guest's ELF file is not for s390x");
    }
    if SymbolTable::from_elf(&elf, guest) != *symbols {
        bail!(
            "the guest's file has other routines than the guest of this run: it was built again since then"
        );
    }
    Ok(elf)
}
