//! An image for tests of the forms, and something to carry.

use super::{Carried, Part};

/// Two segments with a gap, and a tail of sections.
pub fn elf() -> Vec<u8> {
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

/// A loader block and a staged piece.
pub fn carried() -> Carried {
    Carried {
        guest: "g".to_owned(),
        storage: 512 << 20,
        cpus: 1,
        parts: vec![
            Part {
                address: 0x1F_0000,
                bytes: vec![0xB; 4096],
            },
            Part {
                address: 0x100_0000,
                bytes: vec![0xA; 1000],
            },
        ],
    }
}
