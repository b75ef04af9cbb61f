//! `bios`: for `qemu-system-s390x -bios`.
//!
//! QEMU takes an ELF as firmware and moves it as a whole: it adds the same distance to the address of every segment, namely the
//! end of storage (2 GiB at most) less 2 MiB, rounded down to 64 KiB, and enters it at its entry with the distance added,
//! in 64-bit addressing (hw/s390x/ipl.c). There is no IPL PSW. The form holds only what is loaded.
//!
//! So no segment can be loaded at an address of its own. What is carried becomes one more segment directly below the image,
//! with a list in front, and the entry is a routine that puts it in place (`boot/parts.s`). The segment is longer than
//! the room below the image, so its address is negative: the sum with the distance is what counts, and it is right for
//! any amount of storage.

use anyhow::{Context, Result};
use object::BigEndian;
use object::read::elf::{FileHeader, ProgramHeader};

use super::{Carried, File, Form, elf, flat};

/// An entry of the list: a distance, an address and a length.
const ENTRY: usize = 24;

/// What QEMU leaves between the place of the firmware and the end of storage, 2 GiB at most.
const TO_THE_END: u64 = 2 << 20;

/// The form.
pub fn file(elf: &[u8], carried: &Carried) -> Result<File> {
    let mut bytes = stripped(elf)?;
    if !carried.parts.is_empty() {
        let flat = flat::flatten(elf)?;
        let segment = segment(carried);
        let length = segment.len() as u64;
        check(carried, flat.address, length)?;
        let parts = [(flat.address.wrapping_sub(length), &segment[..])];
        bytes = elf::with_segments(&bytes, &parts)?;
        let entry = flat::symbol(elf, "_start_with_parts")?;
        bytes[24..32].copy_from_slice(&entry.to_be_bytes());
    }
    Ok(File {
        name: "millimeter.bios",
        bytes,
    })
}

/// The segment must not lie where what is in it belongs.
fn check(carried: &Carried, image: u64, length: u64) -> Result<()> {
    let distance = carried.storage.min(2 << 30).saturating_sub(TO_THE_END) & !0xFFFF;
    let end = carried.parts.iter().map(super::Part::end).max();
    if distance + image < end.unwrap_or(0) + length {
        return Err(carried.too_large(
            Form::Bios,
            &format!(
                "{length} bytes must lie beside their place in {}M of storage",
                carried.storage >> 20
            ),
            "choose more with --storage, or the form elf",
        ));
    }
    Ok(())
}

/// What is carried, with its list in front and its length behind.
fn segment(carried: &Carried) -> Vec<u8> {
    let parts = flat::merged(carried.parts.iter().cloned());
    let mut list = Vec::new();
    let mut data = Vec::new();
    let start = (parts.len() + 1) * ENTRY;
    for part in &parts {
        let words = [
            (start + data.len()) as u64,
            part.address,
            part.bytes.len() as u64,
        ];
        list.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        data.extend(&part.bytes);
        data.resize(data.len().next_multiple_of(8), 0);
    }
    list.resize(start, 0);
    list.extend(data);
    let length = (list.len() + 8).next_multiple_of(4096);
    list.resize(length - 8, 0);
    list.extend((length as u64).to_be_bytes());
    list
}

/// The ELF with its segments only: without section headers, symbols and the text of the log.
fn stripped(elf: &[u8]) -> Result<Vec<u8>> {
    let header = flat::parse(elf)?;
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
    use super::{
        super::test_image::{carried, elf},
        *,
    };

    #[test]
    fn the_stripped_image_ends_with_its_last_segment_and_still_parses() {
        let stripped = stripped(&elf()).unwrap();
        assert_eq!(stripped.len(), 184);
        assert_eq!(
            flat::flatten(&stripped).unwrap(),
            flat::flatten(&elf()).unwrap()
        );
        assert!(object::File::parse(&stripped[..]).is_ok());
    }

    #[test]
    fn the_list_says_where_each_part_is_and_where_it_belongs() {
        let segment = segment(&carried());
        assert_eq!(segment.len() % 4096, 0);
        let word = |at: usize| {
            let bytes = segment[at..at + 8].try_into().unwrap();
            u64::from_be_bytes(bytes)
        };
        assert_eq!(word(segment.len() - 8), segment.len() as u64);
        assert_eq!((word(0), word(8), word(16)), (72, 0x1F_0000, 4096));
        assert_eq!(
            (word(24), word(32), word(40)),
            (72 + 4096, 0x100_0000, 1000)
        );
        assert_eq!(word(64), 0, "the list has an end");
        assert_eq!(segment[72..72 + 4096], [0xB; 4096]);
        assert_eq!(segment[72 + 4096..][..1000], [0xA; 1000]);
    }

    #[test]
    fn a_guest_that_lies_where_it_belongs_is_refused_with_a_remedy() {
        let mut large = carried();
        large.storage = 20 << 20;
        large.parts[1].bytes = vec![1; 2 << 20];
        let error = check(&large, 0x2_0000, 2 << 20).unwrap_err().to_string();
        for word in ["guest g", "form bios", "20M", "--storage"] {
            assert!(error.contains(word), "{error}");
        }
        large.storage = 64 << 20;
        assert!(check(&large, 0x2_0000, 2 << 20).is_ok());
    }
}
