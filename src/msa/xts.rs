//! XTS-AES, as KM performs it and as PCC prepares it (IEEE 1619, SP 800-38E).
//!
//! KM has one of the two keys and the XTS parameter, which is the tweak value of the next data
//! block: KM never enciphers a tweak. PCC enciphers the tweak with the other key and multiplies it
//! up to the block with which the program begins. The program does ciphertext stealing.

use super::cipher::{Cipher, exclusive_or};
use super::ghash;

/// KM with XTS: data blocks of 16 bytes with the tweak values from `xts_parameter`, which becomes
/// that of the block after the last.
pub(super) fn process(
    cipher: &Cipher,
    decipher: bool,
    xts_parameter: &mut [u8; 16],
    input: &[u8],
    output: &mut [u8],
) {
    let mut first = *xts_parameter;
    output.copy_from_slice(input);
    exclusive_or_tweaks(xts_parameter, output);
    if decipher {
        cipher.decipher(output);
    } else {
        cipher.encipher(output);
    }
    exclusive_or_tweaks(&mut first, output);
}

/// Exclusive-ors each block with its tweak value and leaves the value of the block after the last.
fn exclusive_or_tweaks(tweak: &mut [u8; 16], text: &mut [u8]) {
    let mut value = u128::from_le_bytes(*tweak);
    for block in text.chunks_exact_mut(16) {
        exclusive_or(block, &value.to_le_bytes());
        value = double(value);
    }
    *tweak = value.to_le_bytes();
}

/// The product with the primitive element, modulo x^128 + x^7 + x^2 + x + 1.
const fn double(value: u128) -> u128 {
    value << 1 ^ if value >> 127 == 1 { 0x87 } else { 0 }
}

/// PCC: the XTS parameter of the block with the sequential number `block`, the leftmost bit first,
/// for the tweak `tweak` under the key of `cipher`.
pub(super) fn parameter(cipher: &Cipher, tweak: [u8; 16], block: u128) -> [u8; 16] {
    let mut value = tweak;
    cipher.encipher(&mut value);
    // The primitive element to the power of `block`, by squares.
    let mut power = 1_u128.to_le_bytes();
    for bit in (0..u128::BITS - block.leading_zeros()).rev() {
        power = product(power, power);
        if block >> bit & 1 == 1 {
            power = double(u128::from_le_bytes(power)).to_le_bytes();
        }
    }
    product(value, power)
}

/// The product of two elements. GHASH has the same polynomial with the bits of each byte mirrored.
fn product(left: [u8; 16], right: [u8; 16]) -> [u8; 16] {
    ghash::product(left.map(u8::reverse_bits), right.map(u8::reverse_bits)).map(u8::reverse_bits)
}
