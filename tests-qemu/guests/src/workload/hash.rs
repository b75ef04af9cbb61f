//! SHA-256 and SHA3-256 of 1 MiB of text, again and again.

use sha2::Sha256;
use sha3::{Digest, Sha3_256};

use super::text;
use crate::supervisor::task;

pub const SEED: u64 = 2;
pub const SIZE: usize = 1 << 20;
const ROUNDS: usize = 8;
/// Digests of the text (see known.py).
pub const SHA_256: [u8; 32] = bytes(
    0x95aa601f96e15b575df59513ddcc9447,
    0xd3f5438865ab89046a84b65b090a8261,
);
const SHA3_256: [u8; 32] = bytes(
    0xb9544cacc18d01bd2194f9bfe82d1057,
    0x077bf09e245a79dad6e83a0b7224b461,
);

const fn bytes(high: u128, low: u128) -> [u8; 32] {
    let (high, low) = (high.to_be_bytes(), low.to_be_bytes());
    let mut digest = [0; 32];
    let mut n = 0;
    while n < 16 {
        digest[n] = high[n];
        digest[16 + n] = low[n];
        n += 1;
    }
    digest
}

/// Returns 0 if every digest of every round is the known one.
pub fn work() -> u64 {
    let text = text::generate(SEED, SIZE);
    let mut wrong = 0;
    for _ in 0..ROUNDS {
        wrong += u64::from(Sha256::digest(&text)[..] != SHA_256);
        task::yield_turn();
        wrong += u64::from(Sha3_256::digest(&text)[..] != SHA3_256);
        task::yield_turn();
    }
    task::print(format_args!(
        "hash: {ROUNDS} rounds over {} bytes, {}\n",
        text.len(),
        if wrong == 0 {
            "SHA-256 and SHA3-256 as known"
        } else {
            "WRONG"
        }
    ));
    wrong
}
