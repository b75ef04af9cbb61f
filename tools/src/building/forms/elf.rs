//! `elf`: for `qemu-system-s390x -kernel`, with symbols.
//!
//! QEMU loads every segment of an ELF at its physical address and enters it at its entry (hw/s390x/ipl.c), so what is
//! carried becomes more segments. The table of segments moves behind everything else, where it can grow.

use anyhow::{Context, Result};
use object::elf::{PF_R, PT_LOAD, ProgramHeader64};
use object::read::elf::FileHeader;
use object::{BigEndian, U16, U32, U64, bytes_of};

use super::{Carried, File, flat};

/// The alignment of segments in the file.
const ALIGNMENT: usize = 4096;

/// The form.
pub fn file(elf: &[u8], carried: &Carried) -> Result<File> {
    let parts: Vec<(u64, &[u8])> = carried
        .parts
        .iter()
        .map(|part| (part.address, &part.bytes[..]))
        .collect();
    Ok(File {
        name: "millimeter.elf",
        bytes: with_segments(elf, &parts)?,
    })
}

/// An ELF with more segments: bytes, each with its address.
pub fn with_segments(elf: &[u8], parts: &[(u64, &[u8])]) -> Result<Vec<u8>> {
    let mut bytes = elf.to_vec();
    if parts.is_empty() {
        return Ok(bytes);
    }
    let header = flat::parse(elf)?;
    let mut headers = header
        .program_headers(BigEndian, elf)
        .context("the image's program headers are damaged; build it again")?
        .to_vec();
    for (address, part) in parts {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        let big = |value: u64| U64::new(BigEndian, value);
        headers.push(ProgramHeader64 {
            p_type: U32::new(BigEndian, PT_LOAD),
            p_flags: U32::new(BigEndian, PF_R),
            p_offset: big(bytes.len() as u64),
            p_vaddr: big(*address),
            p_paddr: big(*address),
            p_filesz: big(part.len() as u64),
            p_memsz: big(part.len() as u64),
            p_align: big(ALIGNMENT as u64),
        });
        bytes.extend_from_slice(part);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let table = bytes.len() as u64;
    for header in &headers {
        bytes.extend_from_slice(bytes_of(header));
    }
    // e_phoff and e_phnum.
    bytes[32..40].copy_from_slice(&table.to_be_bytes());
    let count = U16::new(BigEndian, headers.len() as u16);
    bytes[56..58].copy_from_slice(bytes_of(&count));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_image::{carried, elf},
        *,
    };
    use object::read::elf::ProgramHeader;

    #[test]
    fn what_is_carried_becomes_segments_behind_those_of_the_image() {
        let bytes = file(&elf(), &carried()).unwrap().bytes;
        let header = flat::parse(&bytes).unwrap();
        let segments = header.program_headers(BigEndian, &bytes[..]).unwrap();
        let found: Vec<(u64, u64)> = segments
            .iter()
            .map(|segment| (segment.p_paddr(BigEndian), segment.p_memsz(BigEndian)))
            .collect();
        let expected = [
            (0x2_0000, 4),
            (0x2_0010, 8),
            (0x1F_0000, 4096),
            (0x100_0000, 1000),
        ];
        assert_eq!(found, expected);
        let data = segments[3].data(BigEndian, &bytes[..]).unwrap();
        assert_eq!(data, [0xA; 1000]);
    }

    #[test]
    fn an_image_without_a_guest_stays_as_it_is() {
        let nothing = Carried::nothing(512 << 20);
        assert_eq!(file(&elf(), &nothing).unwrap().bytes, elf());
    }
}
