//! `scsi`: a disk that QEMU's own boot loader (pc-bios/s390-ccw) starts from a virtio-blk device.
//!
//! The boot loader starts what the command `zipl` writes for SCSI disks. Its tables, each in a block of 512 bytes
//! (pc-bios/s390-ccw/bootmap.h):
//!
//! | block | content |
//! |---|---|
//! | 0 | `zIPL`, the version 1, and at 16 a pointer to the program table |
//! | 1 | the program table: `zIPL`, and from 16 a pointer to each program; the first is the default |
//! | 2 | the program: a header of 32 bytes with `zIPL`, and an entry of 32 bytes for each component |
//! | 3 … | for each component to load, the pointers to its extents, up to a zero |
//! | behind | the components themselves |
//!
//! A pointer has 16 bytes: the block's number (8), the size of a block (2), and the number of blocks less one (2). An entry of
//! a component has such a pointer, at 23 its type, and at 24 the address that it is loaded at; for the last,
//! which is not loaded but entered, a PSW of 64 bits.

use anyhow::Result;

use super::{Carried, File, Form, channel::ipl_psw, flat};

const BLOCK: usize = 512;
const MAGIC: &[u8; 4] = b"zIPL";
/// The type of a component that is loaded.
const LOAD: u8 = 2;
/// The type of the PSW that is loaded at the end.
const ENTER: u8 = 1;
/// The most components: what is left of a block beside the header and the PSW.
const MOST_COMPONENTS: usize = BLOCK / 32 - 2;
/// The blocks of an extent, at most. The number has 16 bits, and a single transfer should not be too long.
const EXTENT: usize = 0x4000;
/// The extents of a component, at most: what is left of a block beside the zero.
const MOST_EXTENTS: usize = BLOCK / 16 - 1;

/// The form.
pub fn file(elf: &[u8], carried: &Carried) -> Result<File> {
    let image = flat::flatten(elf)?;
    let entry = image.entry;
    let parts = flat::contents(image, carried);
    let too_large = |what: &str| carried.too_large(Form::Scsi, what, "choose the form elf");
    if parts.len() > MOST_COMPONENTS {
        return Err(too_large(&format!(
            "it is spread over {} places of storage, and the disk has room for {MOST_COMPONENTS}",
            parts.len()
        )));
    }
    let mut disk = vec![0; (3 + parts.len()) * BLOCK];
    put(&mut disk, 0, MAGIC);
    put(&mut disk, 4, &1u32.to_be_bytes());
    put(&mut disk, 16, &pointer(1, 1));
    put(&mut disk, BLOCK, MAGIC);
    put(&mut disk, BLOCK + 16, &pointer(2, 1));
    put(&mut disk, 2 * BLOCK, MAGIC);
    for (number, part) in parts.iter().enumerate() {
        let list = 3 + number;
        let component = 2 * BLOCK + 32 * (number + 1);
        put(&mut disk, component, &pointer(list, 1));
        put(&mut disk, component + 23, &[LOAD]);
        put(&mut disk, component + 24, &part.address.to_be_bytes());
        let first = disk.len() / BLOCK;
        disk.extend(&part.bytes);
        disk.resize(disk.len().next_multiple_of(BLOCK), 0);
        let blocks = disk.len() / BLOCK - first;
        if blocks > EXTENT * MOST_EXTENTS {
            return Err(too_large(&format!(
                "{} bytes go to {:X}, and the disk can load {} to one place",
                part.bytes.len(),
                part.address,
                EXTENT * MOST_EXTENTS * BLOCK
            )));
        }
        for (place, start) in (0..blocks).step_by(EXTENT).enumerate() {
            let extent = pointer(first + start, EXTENT.min(blocks - start));
            put(&mut disk, list * BLOCK + 16 * place, &extent);
        }
    }
    let last = 2 * BLOCK + 32 * (parts.len() + 1);
    put(&mut disk, last + 23, &[ENTER]);
    put(&mut disk, last + 24, &ipl_psw(entry).to_be_bytes());
    Ok(File {
        name: "millimeter.disk",
        bytes: disk,
    })
}

fn put(disk: &mut [u8], at: usize, bytes: &[u8]) {
    disk[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A pointer to so many blocks.
fn pointer(block: usize, count: usize) -> [u8; 16] {
    let mut pointer = [0; 16];
    put(&mut pointer, 0, &(block as u64).to_be_bytes());
    put(&mut pointer, 8, &(BLOCK as u16).to_be_bytes());
    put(&mut pointer, 10, &(count as u16 - 1).to_be_bytes());
    pointer
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_image::{carried, elf},
        *,
    };

    /// What a boot loader finds at an address, following the tables.
    fn loaded(disk: &[u8]) -> (Vec<(u64, Vec<u8>)>, u64) {
        let word = |at: usize| {
            let bytes = disk[at..at + 8].try_into().unwrap();
            u64::from_be_bytes(bytes)
        };
        let block = |at: usize| word(at) as usize * BLOCK;
        let table = block(16);
        let program = block(table + 16);
        for place in [0, table, program] {
            assert_eq!(&disk[place..place + 4], MAGIC);
        }
        let mut components = Vec::new();
        let mut entry = program + 32;
        while disk[entry + 23] == LOAD {
            let mut extent = block(entry);
            let mut bytes = Vec::new();
            while word(extent) != 0 {
                let count = u16::from_be_bytes([disk[extent + 10], disk[extent + 11]]);
                let start = block(extent);
                bytes.extend(&disk[start..start + (usize::from(count) + 1) * BLOCK]);
                extent += 16;
            }
            components.push((word(entry + 24), bytes));
            entry += 32;
        }
        assert_eq!(disk[entry + 23], ENTER);
        (components, word(entry + 24))
    }

    #[test]
    fn the_tables_lead_to_every_part_and_to_the_entry() {
        let mut large = carried();
        large.parts[1].bytes = (0..EXTENT * BLOCK + 100).map(|n| n as u8).collect();
        let disk = file(&elf(), &large).unwrap().bytes;
        assert_eq!(disk.len() % BLOCK, 0);
        let (components, psw) = loaded(&disk);
        assert_eq!(psw, 0x0008_0000_8002_0004);
        let [(image, bytes), (block, _), (staged, guest)] = &components[..] else {
            panic!("{} components", components.len());
        };
        assert_eq!((*image, *block, *staged), (0x2_0000, 0x1F_0000, 0x100_0000));
        assert_eq!(bytes[..4], [1, 2, 3, 4]);
        assert_eq!(guest[..large.parts[1].bytes.len()], large.parts[1].bytes);
    }

    #[test]
    fn a_guest_with_too_many_places_is_refused_with_a_remedy() {
        let mut many = carried();
        many.parts = (1..20u64)
            .map(|number| super::super::Part {
                address: number << 20,
                bytes: vec![1],
            })
            .collect();
        let error = file(&elf(), &many).unwrap_err().to_string();
        for word in ["guest g", "form scsi", "20 places", "the form elf"] {
            assert!(error.contains(word), "{error}");
        }
    }
}
