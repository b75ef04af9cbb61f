//! A Linux that is installed on a disk of the guest: `zipl` has written there what an IPL loads.
//!
//! The host follows the disk's boot record, as a machine's IPL from the disk would, and loads what it finds. So kernel,
//! first file system and parameters are the disk's own, and so is the program of `zipl` that puts them into place.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::{
    computer::{input_file, progress::Progress},
    formats::ipl_record::{self, Component, Program},
    linux::names,
    machine::{
        guest::{Guest, Piece},
        parameter_area::ENTRY,
    },
    numbers::quantities::{LOAD_LIMIT, Storage},
    options::disk::Disk,
    symbols::{SymbolTable, places::PlaceNames},
};

/// The disk, and which program of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IplDisk {
    /// The disk.
    pub disk: Disk,
    /// The number of the program in the boot record; 0 is the default.
    pub program: usize,
    /// A file with the symbols of the kernel, instead of those in its image.
    pub symbols: Option<PathBuf>,
}

/// In a short PSW: the bit that is one there, and is no bit of the long one.
const SHORT: u64 = 1 << 51;
/// In both: the basic-addressing bit.
const BASIC_ADDRESSING: u64 = 1 << 31;

/// Bits 0-63 and 64-127 of the PSW that a short one stands for.
const fn long_psw(short: u64) -> Option<(u64, u64)> {
    if short & SHORT == 0 {
        return None;
    }
    let mask = short & !SHORT & !(BASIC_ADDRESSING - 1);
    Some((mask, short & (BASIC_ADDRESSING - 1)))
}

/// What the boot record of the disk loads, as a guest.
pub fn guest(from: &IplDisk, storage: Storage, progress: &Progress) -> Result<Guest> {
    let disk = &from.disk;
    disk.check()?;
    let file = &disk.file;
    let Program { components, psw } = read(file, from.program, storage).with_context(|| {
        format!(
            "{} cannot be IPLed; run `zipl` for this disk in the guest, or choose another program of it with --loadparm",
            file.display()
        )
    })?;
    let (psw_mask, psw_address) = long_psw(psw).with_context(|| {
        format!(
            "{} cannot be IPLed: its program ends with the PSW {psw:016X}, which is no short PSW; run `zipl` for this disk again",
            file.display()
        )
    })?;
    let symbols = kernel_names(&components, from.symbols.as_deref(), progress)?;
    let pieces = components.into_iter().map(|component| Piece {
        destination: component.address,
        length: component.bytes.len() as u64,
        bytes: component.bytes,
    });
    Ok(Guest {
        nonce: None,
        open_piece: None,
        archives: Vec::new(),
        name: "linux".to_owned(),
        file: file.clone(),
        psw_mask,
        psw_address,
        pieces: pieces.collect(),
        symbols,
        names: PlaceNames::default(),
        is_linux: true,
        cpus: 1,
    })
}

fn read(file: &Path, program: usize, storage: Storage) -> Result<Program> {
    let disk = input_file::open(file)?;
    let length = disk.metadata()?.len();
    let found = ipl_record::read(disk, length, program, storage.0.min(LOAD_LIMIT))?;
    let entry = found.psw & (BASIC_ADDRESSING - 1);
    let is_loaded = |component: &Component| {
        (component.address..component.address + component.bytes.len() as u64).contains(&entry)
    };
    ensure!(
        found.components.iter().any(is_loaded),
        "program {program} begins at {entry:X}, where it loads nothing"
    );
    Ok(found)
}

/// The kernel's routines, if one of the components is a kernel with names.
fn kernel_names(
    components: &[Component],
    file: Option<&Path>,
    progress: &Progress,
) -> Result<SymbolTable> {
    // What the image has below its entry is not loaded.
    let kernel = components
        .iter()
        .find(|component| component.address == ENTRY);
    let image = kernel.map(|kernel| [&vec![0; ENTRY as usize][..], &kernel.bytes].concat());
    match names::of_image(&image.unwrap_or_default(), file) {
        Err(error) if file.is_none() => {
            progress.note(&format!(
                "the routines of the kernel have no names: {error:#}"
            ));
            Ok(SymbolTable::default())
        }
        names => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_psw_becomes_the_long_one_that_is_loaded() {
        assert_eq!(long_psw(0x0008_0000_8000_A050), Some((0x8000_0000, 0xA050)));
        assert_eq!(
            long_psw(0x0709_0000_0001_0000),
            Some((0x0701_0000_0000_0000, 0x1_0000))
        );
        assert_eq!(long_psw(0x0000_0001_8000_0000), None);
    }

    #[test]
    fn a_disk_without_a_boot_record_is_refused_with_the_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0; 4096]).unwrap();
        let from = IplDisk {
            disk: Disk {
                file: file.path().to_owned(),
                read_only: false,
            },
            program: 0,
            symbols: None,
        };
        let refused = guest(&from, Storage(512 << 20), &Progress::Silent).unwrap_err();
        let refused = format!("{refused:#}");
        assert!(
            refused.contains("does not begin with zIPL") && refused.contains("run `zipl`"),
            "{refused}"
        );
    }
}
