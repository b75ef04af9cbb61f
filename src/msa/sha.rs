//! SHA-1, SHA-256 and SHA-512 (FIPS 180-4) for KIMD and KLMD.
//!
//! The parameter block is the chaining value; for KLMD the length of the whole message in bits follows,
//! which the program supplies. The program computes SHA-224 and SHA-384 with the same functions, from
//! another initial value.

use sha1::block_api::compress as compress160;
use sha2::block_api::{compress256, compress512};

use super::algorithm::Algorithm;

/// Takes whole data blocks into the chaining value at the left of `parameter`.
pub(super) fn process(algorithm: Algorithm, parameter: &mut [u8], input: &[u8]) {
    match algorithm {
        Algorithm::Sha1 => {
            let mut state = words(parameter).map(u32::from_be_bytes);
            compress160(&mut state, input.as_chunks().0);
            put(parameter, state.map(u32::to_be_bytes));
        }
        Algorithm::Sha256 => {
            let mut state = words(parameter).map(u32::from_be_bytes);
            compress256(&mut state, input.as_chunks().0);
            put(parameter, state.map(u32::to_be_bytes));
        }
        Algorithm::Sha512 => {
            let mut state = words(parameter).map(u64::from_be_bytes);
            compress512(&mut state, input.as_chunks().0);
            put(parameter, state.map(u64::to_be_bytes));
        }
        _ => (),
    }
}

/// KLMD: pads `rest`, which is shorter than a data block of `block` bytes, with a one, zeros and
/// the message length in `parameter` after the chaining value of `chaining` bytes.
pub(super) fn last(
    algorithm: Algorithm,
    chaining: usize,
    block: usize,
    parameter: &mut [u8],
    rest: &[u8],
) {
    let mut padded = [0; 256];
    let Some(length) = parameter.get(chaining..) else {
        return;
    };
    let end = (rest.len() + 1 + length.len()).next_multiple_of(block);
    let message = rest.iter().chain(&[0x80]);
    for (to, from) in padded.iter_mut().zip(message) {
        *to = *from;
    }
    let padded = padded.split_at_mut(end.min(256)).0;
    for (to, from) in padded.iter_mut().rev().zip(length.iter().rev()) {
        *to = *from;
    }
    process(algorithm, parameter, padded);
}

/// The first `N` words of `W` bytes; zeros where there are none.
fn words<const N: usize, const W: usize>(parameter: &[u8]) -> [[u8; W]; N] {
    let mut words = [[0; W]; N];
    for (word, bytes) in words.iter_mut().zip(parameter.as_chunks().0) {
        *word = *bytes;
    }
    words
}

fn put<const N: usize, const W: usize>(parameter: &mut [u8], words: [[u8; W]; N]) {
    for (bytes, word) in parameter.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word;
    }
}
