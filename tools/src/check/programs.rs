//! The routines of a program of Linux, by the addresses that its processes have.
//!
//! A program whose addresses are fixed has them in its file. One that can be anywhere, and has a loader, begins where Linux
//! puts every such program if it does not choose the address by chance (`ELF_ET_DYN_BASE`).

use std::path::Path;

use anyhow::{Context, Result};
use object::{
    Endianness,
    elf::{ET_DYN, FileHeader64, PT_INTERP},
    read::elf::{FileHeader, ProgramHeader},
};

use crate::{
    computer::input_file,
    symbols::{SymbolTable, UNKNOWN},
};

/// Where a program begins that can be anywhere: two thirds of a 42-bit address space, down to a multiple of 4 GiB.
const BEGIN: u64 = 0x2AA_0000_0000;

/// Above this are the libraries, the vDSO and the stack.
const LIBRARIES: u64 = 0x3FF_0000_0000;

/// The line of the libraries.
pub const IN_LIBRARIES: &str = "(libraries)";

/// The routines of a program.
#[derive(Clone, Debug, Default)]
pub struct Routines {
    table: SymbolTable,
    begin: u64,
}

impl Routines {
    /// Those of the program in this file.
    pub fn read(file: &Path) -> Result<Self> {
        let data =
            input_file::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::of(&data).with_context(|| format!("{} cannot be read", file.display()))
    }

    fn of(data: &[u8]) -> Result<Self> {
        let elf = object::File::parse(data)?;
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let has_loader = header
            .program_headers(endian, data)?
            .iter()
            .any(|segment| segment.p_type(endian) == PT_INTERP);
        let is_anywhere = header.e_type(endian) == ET_DYN;
        Ok(Self {
            table: SymbolTable::from_elf(&elf, ""),
            begin: if is_anywhere && has_loader { BEGIN } else { 0 },
        })
    }

    /// The routine at this address.
    pub fn name(&self, address: u64) -> &str {
        if address >= LIBRARIES {
            return IN_LIBRARIES;
        }
        let symbol = self.table.find(address.wrapping_sub(self.begin));
        symbol.map_or(UNKNOWN, |symbol| &symbol.name)
    }
}
