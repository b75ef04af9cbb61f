//! CIPHER MESSAGE WITH AUTHENTICATION: Galois/counter mode with AES (SP 800-38D).
//!
//! The parameter block:
//!
//! | bytes | field |
//! |---|---|
//! | 0-11 | reserved |
//! | 12-15 | counter value: that of the last block that was enciphered |
//! | 16-31 | tag |
//! | 32-47 | hash subkey |
//! | 48-55 | total length of the additional authenticated data in bits |
//! | 56-63 | total length of the text in bits |
//! | 64-79 | initial counter value J0 |
//! | 80- | key |

use super::cipher::{Cipher, exclusive_or};
use super::ghash;

const COUNTER_VALUE: usize = 12;
const TAG: usize = 16;
const HASH_SUBKEY: usize = 32;
const TOTAL_LENGTHS: usize = 48;
const INITIAL_COUNTER: usize = 64;
/// Where the key begins.
pub(super) const KEY: usize = 80;

/// The 16 bytes of the parameter block at `offset`.
fn field(parameter: &[u8], offset: usize) -> [u8; 16] {
    let field = parameter.get(offset..);
    let field = field.and_then(|bytes| bytes.first_chunk());
    field.copied().unwrap_or_default()
}

/// The hash subkey is the block of zeros, enciphered.
pub(super) fn supply_hash_subkey(cipher: &Cipher, parameter: &mut [u8]) {
    if let Some(subkey) = parameter.get_mut(HASH_SUBKEY..HASH_SUBKEY + 16) {
        subkey.fill(0);
        cipher.encipher(subkey);
    }
}

/// Takes `data` into the tag; a short last block is padded with zeros.
pub(super) fn authenticate(parameter: &mut [u8], data: &[u8]) {
    let subkey = field(parameter, HASH_SUBKEY);
    let mut tag = field(parameter, TAG);
    ghash::process(&mut tag, subkey, data);
    let rest = data.as_chunks::<16>().1;
    if !rest.is_empty() {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        ghash::process(&mut tag, subkey, &last);
    }
    parameter[TAG..TAG + 16].copy_from_slice(&tag);
}

/// Enciphers or deciphers, and takes the ciphertext into the tag. Increments the counter value before each
/// block, including a short last one.
pub(super) fn process(
    cipher: &Cipher,
    decipher: bool,
    parameter: &mut [u8],
    input: &[u8],
    output: &mut [u8],
) {
    if decipher {
        authenticate(parameter, input);
    }
    let mut counter = field(parameter, INITIAL_COUNTER);
    let mut value = u32::from_be_bytes(
        parameter[COUNTER_VALUE..]
            .first_chunk()
            .copied()
            .unwrap_or_default(),
    );
    output.copy_from_slice(input);
    // The software cipher is fast with four blocks at once.
    for output in output.chunks_mut(64) {
        let mut mask = [0; 64];
        let blocks = mask.as_chunks_mut::<16>().0.iter_mut();
        for block in blocks.take(output.len().div_ceil(16)) {
            value = value.wrapping_add(1);
            counter[12..].copy_from_slice(&value.to_be_bytes());
            *block = counter;
        }
        cipher.encipher(&mut mask);
        exclusive_or(output, &mask);
    }
    parameter[COUNTER_VALUE..TAG].copy_from_slice(&value.to_be_bytes());
    if !decipher {
        authenticate(parameter, output);
    }
}

/// Takes the total lengths into the tag and masks it with the enciphered initial counter value.
pub(super) fn tag(cipher: &Cipher, parameter: &mut [u8]) {
    let lengths = field(parameter, TOTAL_LENGTHS);
    authenticate(parameter, &lengths);
    let mut mask = field(parameter, INITIAL_COUNTER);
    cipher.encipher(&mut mask);
    exclusive_or(&mut parameter[TAG..TAG + 16], &mask);
}
