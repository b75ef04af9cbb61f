//! The image in the forms that machines can IPL.
//!
//! - `elf`: for `qemu-system-s390x -kernel`, with symbols.
//! - `bios`: for `qemu-system-s390x -bios`, which also takes an ELF and moves it. It holds only what is loaded.
//! - `ins`: a list of files and addresses, as a hardware management console and Hercules IPL them.
//!   Such a machine takes its first PSW from absolute 0, so the list provides one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use object::{
    BigEndian,
    elf::{FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

/// A form of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For `-kernel`.
    Elf,
    /// For `-bios`.
    Bios,
    /// A list for an IPL from files.
    Ins,
}

/// IPL PSW of 64 bits: disabled, 31-bit addressing (bits 12 and 32 one).
const IPL_PSW: u64 = 0x0008_0000_8000_0000;

/// Name of the flat image in the list: eight and three characters, as in old file systems.
const FLAT: &str = "millimet.img";
/// Name of the file with the IPL PSW.
const PSW: &str = "millimet.psw";
/// Name of the list.
const LIST: &str = "millimet.ins";

/// Writes a form of the image into a directory, and returns the file to give to a machine.
pub fn write(form: Form, image: &Path, directory: &Path) -> Result<PathBuf> {
    let elf =
        fs::read(image).with_context(|| format!("cannot read the image {}", image.display()))?;
    fs::create_dir_all(directory).with_context(|| {
        format!(
            "cannot create {}; choose another directory with --out",
            directory.display()
        )
    })?;
    let put = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok::<_, anyhow::Error>(path)
    };
    match form {
        Form::Elf => put("millimeter.elf", &elf),
        Form::Bios => put("millimeter.bios", &stripped(&elf)?),
        Form::Ins => {
            let flat = flatten(&elf)?;
            put(FLAT, &flat.bytes)?;
            put(PSW, &(IPL_PSW | flat.entry).to_be_bytes())?;
            put(LIST, list(flat.address).as_bytes())
        }
    }
}

fn list(address: u64) -> String {
    format!("* Millimeter\n{FLAT} 0x{address:08x}\n{PSW} 0x00000000\n")
}

/// The bytes of the image in storage, from its first to its last address.
#[derive(Debug, PartialEq, Eq)]
struct Flat {
    address: u64,
    entry: u64,
    bytes: Vec<u8>,
}

type Header = FileHeader64<BigEndian>;

fn parse(elf: &[u8]) -> Result<&Header> {
    let header = Header::parse(elf).context("the image's ELF header is damaged; build it again")?;
    Ok(header)
}

fn flatten(elf: &[u8]) -> Result<Flat> {
    let header = parse(elf)?;
    let segments = header
        .program_headers(BigEndian, elf)
        .context("the image's program headers are damaged; build it again")?;
    let loads = || {
        segments.iter().filter(|segment| {
            segment.p_type(BigEndian) == PT_LOAD && segment.p_memsz(BigEndian) > 0
        })
    };
    let Some(address) = loads().map(|segment| segment.p_paddr(BigEndian)).min() else {
        bail!("the image has no segments; build it again");
    };
    let mut bytes = Vec::new();
    for segment in loads() {
        let start = (segment.p_paddr(BigEndian) - address) as usize;
        let Ok(data) = segment.data(BigEndian, elf) else {
            bail!("the image's segments are damaged; build it again")
        };
        let end = start + (segment.p_memsz(BigEndian) as usize).max(data.len());
        if end > 16 << 20 {
            bail!("the image is spread over {end} bytes; it must be in one piece");
        }
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..start + data.len()].copy_from_slice(data);
    }
    Ok(Flat {
        address,
        entry: header.e_entry(BigEndian),
        bytes,
    })
}

/// The ELF with its segments only: without section headers, symbols and the text of the log.
fn stripped(elf: &[u8]) -> Result<Vec<u8>> {
    let header = parse(elf)?;
    let segments = header
        .program_headers(BigEndian, elf)
        .context("the image's program headers are damaged; build it again")?;
    let table_end = header.e_phoff(BigEndian)
        + segments.len() as u64 * size_of::<object::elf::ProgramHeader64<BigEndian>>() as u64;
    let end = segments
        .iter()
        .map(|segment| segment.p_offset(BigEndian) + segment.p_filesz(BigEndian))
        .chain([table_end])
        .max()
        .unwrap_or(table_end);
    let mut kept = elf
        .get(..end as usize)
        .context("the image's segments are damaged; build it again")?
        .to_vec();
    // e_shoff, e_shnum and e_shstrndx: there are no sections any more.
    kept[40..48].fill(0);
    kept[60..64].fill(0);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two segments with a gap, and a tail of sections.
    fn elf() -> Vec<u8> {
        let mut data = b"\x7FELF\x02\x02\x01\0\0\0\0\0\0\0\0\0".to_vec();
        for half in [2u16, 22] {
            data.extend(half.to_be_bytes());
        }
        data.extend(1u32.to_be_bytes());
        for word in [0x2_0004u64, 64, 184] {
            data.extend(word.to_be_bytes());
        }
        data.extend([0; 4]);
        for half in [64u16, 56, 2, 64, 3, 2] {
            data.extend(half.to_be_bytes());
        }
        for (offset, address, file, storage) in
            [(176u64, 0x2_0000u64, 4u64, 4u64), (180, 0x2_0010, 4, 8)]
        {
            data.extend(1u32.to_be_bytes());
            data.extend(5u32.to_be_bytes());
            for word in [offset, address, address, file, storage, 0x1000] {
                data.extend(word.to_be_bytes());
            }
        }
        data.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        data.extend([0xEE; 192]);
        data
    }

    #[test]
    fn the_flat_image_has_every_segment_at_its_distance_and_zeros_behind_it() {
        let flat = flatten(&elf()).unwrap();
        assert_eq!(
            (flat.address, flat.entry, flat.bytes.len()),
            (0x2_0000, 0x2_0004, 0x18)
        );
        assert_eq!(flat.bytes[..4], [1, 2, 3, 4]);
        assert_eq!(flat.bytes[4..16], [0; 12]);
        assert_eq!(flat.bytes[16..], [5, 6, 7, 8, 0, 0, 0, 0]);
    }

    #[test]
    fn the_stripped_image_ends_with_its_last_segment_and_still_parses() {
        let stripped = stripped(&elf()).unwrap();
        assert_eq!(stripped.len(), 184);
        assert_eq!(flatten(&stripped).unwrap(), flatten(&elf()).unwrap());
        assert!(object::File::parse(&stripped[..]).is_ok());
    }

    #[test]
    fn the_list_provides_an_ipl_psw_of_31_bits() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::write(&image, elf()).unwrap();
        let list = write(Form::Ins, &image, &directory.path().join("out")).unwrap();
        let text = fs::read_to_string(&list).unwrap();
        assert_eq!(
            text,
            "* Millimeter\nmillimet.img 0x00020000\nmillimet.psw 0x00000000\n"
        );
        let psw = fs::read(list.with_file_name("millimet.psw")).unwrap();
        assert_eq!(psw, 0x0008_0000_8002_0004u64.to_be_bytes());
    }
}
