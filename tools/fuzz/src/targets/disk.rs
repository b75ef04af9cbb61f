//! A guest's disk: its boot record.

use std::io::Cursor;

use measure::formats::ipl_record;

use super::{about, shape};
use crate::Target;

/// The guest's storage.
const STORAGE: u64 = 1 << 30;

pub const ALL: &[Target] = &[Target {
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
}];

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
