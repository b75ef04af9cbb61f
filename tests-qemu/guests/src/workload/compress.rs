//! Compression and decompression (DEFLATE, miniz_oxide) of 1 MiB of text, there and back.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;

use super::text;
use crate::supervisor::task;

pub const SEED: u64 = 1;
pub const SIZE: usize = 1 << 20;
/// Adler-32 of the text, which ends a zlib stream (see known.py).
pub const ADLER_32: [u8; 4] = 0xC801_F14D_u32.to_be_bytes();
pub const LEVELS: [u8; 4] = [1, 4, 6, 8];

/// Returns 0 if every level gave the text back and ended with its checksum.
pub fn work() -> u64 {
    let text = text::generate(SEED, SIZE);
    let mut wrong = 0;
    for level in LEVELS {
        let packed = compress_to_vec_zlib(&text, level);
        task::yield_turn();
        let checksum = packed.ends_with(&ADLER_32);
        let same = decompress_to_vec_zlib(&packed).is_ok_and(|unpacked| unpacked == text);
        task::print(format_args!(
            "compress: level {level}, {} bytes to {}, {}\n",
            text.len(),
            packed.len(),
            if same && checksum {
                "and back"
            } else {
                "NOT back"
            }
        ));
        wrong += u64::from(!(same && checksum));
    }
    wrong
}
