//! A guest's disk: its boot record, and the kernel that this leads to.

use std::io::{Cursor, Write};

use flate2::{Compression, write::GzEncoder};
use measure::{formats::ipl_record, linux::names};

use super::{about, shape};
use crate::Target;

/// The guest's storage.
const STORAGE: u64 = 1 << 30;

pub const ALL: &[Target] = &[RECORD, KERNEL];

const RECORD: Target = Target {
    name: "ipl-record",
    what: "what zipl writes on a disk, and what it leads to",
    good: || vec![disk(3), disk(40)],
    read: |input| {
        let length = input.len() as u64;
        match ipl_record::read(Cursor::new(input), length, 0, STORAGE) {
            Ok(program) => {
                let loaded = program.components.iter().map(|found| found.bytes.len());
                let loaded: usize = loaded.sum();
                assert!(loaded <= input.len(), "{loaded} bytes of {length}");
                format!("{} components, {}", program.components.len(), about(loaded))
            }
            Err(refused) => shape(&format!("{refused:#}")),
        }
    },
    // A component grows as its extents are read.
    for_each_byte: 8,
    at_least: 1 << 20,
};

const KERNEL: Target = Target {
    name: "kernel",
    what: "the names in the image of a kernel, packed or not",
    good: || vec![kernel(), packed(&kernel())],
    read: |input| match names::of_image(input, None) {
        Ok(table) => {
            let mut last = 0;
            for symbol in table.symbols() {
                assert!(last <= symbol.start && symbol.start < symbol.end);
                last = symbol.end;
            }
            format!("{} routines", about(table.symbols().len()))
        }
        Err(refused) => shape(&format!("{refused:#}")),
    },
    // A byte of packed data may stand for a thousand.
    for_each_byte: 4096,
    at_least: 8 << 20,
};

/// What is left of a kernel that has only the list of its boot stage and its names: 300 routines.
fn kernel() -> Vec<u8> {
    const NUMBER: u32 = 300;
    let padded = |mut bytes: Vec<u8>| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let (mut names, mut markers) = (Vec::new(), Vec::new());
    for symbol in 0..NUMBER {
        if symbol % 256 == 0 {
            markers.extend((names.len() as u32).to_be_bytes());
        }
        let name = match symbol {
            0 => "T_stext".to_owned(),
            200 => "T_etext".to_owned(),
            201 => "T_sinittext".to_owned(),
            299 => "T_einittext".to_owned(),
            _ => format!("Troutine_{symbol}"),
        };
        names.push(name.len() as u8);
        names.extend(name.bytes());
    }
    let (mut tokens, mut index) = (Vec::new(), Vec::new());
    for token in 0..=u8::MAX {
        index.extend((tokens.len() as u16).to_be_bytes());
        if token.is_ascii_graphic() {
            tokens.push(token);
        }
        tokens.push(0);
    }
    let distances = (0..NUMBER).flat_map(|symbol| (16 * symbol).to_be_bytes());
    [
        padded(b"\x0010000 14 startup\0".to_vec()),
        padded(NUMBER.to_be_bytes().to_vec()),
        padded(names),
        padded(markers),
        padded(tokens),
        index,
        padded(distances.collect()),
        0x10_0000_u64.to_be_bytes().to_vec(),
    ]
    .concat()
}

/// The same as gzip packs it, behind a boot stage.
fn packed(kernel: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(b"\x0010000 14 startup\0".to_vec(), Compression::best());
    let written = encoder.write_all(kernel).and_then(|()| encoder.finish());
    written.expect("it is written to storage")
}

/// A disk with a program of two components. The first has so many extents, each of one block.
fn disk(extents: usize) -> Vec<u8> {
    const BLOCK: usize = ipl_record::BLOCK;
    let mut disk = vec![0; (8 + extents) * BLOCK];
    let mut put = |at: usize, bytes: &[u8]| disk[at..at + bytes.len()].copy_from_slice(bytes);
    let pointer = |block: usize| {
        let mut pointer = [0; 16];
        pointer[..8].copy_from_slice(&(block as u64).to_be_bytes());
        pointer[8..10].copy_from_slice(&(BLOCK as u16).to_be_bytes());
        pointer
    };
    for block in 0..3 {
        put(block * BLOCK, b"zIPL");
    }
    put(7, &[1]);
    put(16, &pointer(1));
    put(BLOCK + 16, &pointer(2));
    for (number, (table, kind, address)) in [(3, 2, 0x1_0000), (5, 2, 0xA000), (0, 1, 0xA050)]
        .into_iter()
        .enumerate()
    {
        let entry = 2 * BLOCK + 32 * (number + 1);
        if table != 0 {
            put(entry, &pointer(table));
        }
        put(entry + 23, &[kind]);
        put(entry + 24, &u64::to_be_bytes(address));
    }
    for number in 0..extents {
        let at = (3 + number / 31) * BLOCK + number % 31 * 16;
        put(at, &pointer(8 + number));
    }
    if extents > 31 {
        put(3 * BLOCK + 31 * 16, &pointer(4));
    }
    put(5 * BLOCK, &pointer(6));
    disk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_good_kernels_have_their_routines() {
        for good in (KERNEL.good)() {
            let table = names::of_image(&good, None).unwrap();
            assert_eq!(
                table.symbols().len(),
                299,
                "298 of the kernel, 1 of the boot stage"
            );
        }
    }
}
