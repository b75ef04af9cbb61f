//! COMPUTE MESSAGE AUTHENTICATION CODE, and the last block of CMAC as PCC computes it.

use super::cipher::{Cipher, exclusive_or};

/// KMAC: cipher block chaining; the only output is the chaining value.
pub(super) fn process(cipher: &Cipher, chaining: &mut [u8], input: &[u8]) {
    for input in input.chunks_exact(chaining.len()) {
        exclusive_or(chaining, input);
        cipher.encipher(chaining);
    }
}

/// PCC, Compute-Last-Block-CMAC (SP 800-38B): the code from the chaining value that KMAC left after
/// all blocks except the last, and `bits` bits of the last one. A block that is not whole is padded
/// with a one and zeros.
pub(super) fn last_block(cipher: &Cipher, chaining: &mut [u8], message: &[u8], bits: usize) {
    let block = chaining.len();
    let mut subkey = [0; 16];
    let subkey = &mut subkey[..block];
    cipher.encipher(subkey);
    double(subkey);
    let mut last = [0; 16];
    let last = &mut last[..block];
    last.copy_from_slice(message);
    if bits < 8 * block {
        double(subkey);
        let (byte, bit) = (bits / 8, bits % 8);
        last[byte] = last[byte] & !(0xFF >> bit) | 0x80 >> bit;
        last[byte + 1..].fill(0);
    }
    exclusive_or(last, subkey);
    process(cipher, chaining, last);
}

/// The product with x in the field of 64 or 128 bits, the highest power leftmost.
fn double(element: &mut [u8]) {
    let reduction = if element.len() == 8 { 0x1B } else { 0x87 };
    let highest = element[0] >> 7;
    let mut carry = 0;
    for byte in element.iter_mut().rev() {
        (*byte, carry) = (*byte << 1 | carry, *byte >> 7);
    }
    element[element.len() - 1] ^= highest * reduction;
}
