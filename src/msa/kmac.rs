//! COMPUTE MESSAGE AUTHENTICATION CODE, and the last block of CMAC as PCC computes it.

use super::cipher::{Cipher, exclusive_or};

/// KMAC: cipher block chaining; the only output is the chaining value.
pub(super) fn process(cipher: &Cipher, chaining: &mut [u8], input: &[u8]) {
    for input in input.chunks_exact(chaining.len().max(1)) {
        exclusive_or(chaining, input);
        cipher.encipher(chaining);
    }
}

/// PCC, Compute-Last-Block-CMAC (SP 800-38B): the code from the chaining value that KMAC left after
/// all blocks except the last, and `bits` bits of the last one. A block that is not whole is padded
/// with a one and zeros.
pub(super) fn last_block(cipher: &Cipher, chaining: &mut [u8], message: &[u8], bits: usize) {
    let block = chaining.len().min(16);
    let mut subkey = [0; 16];
    let subkey = subkey.split_at_mut(block).0;
    cipher.encipher(subkey);
    double(subkey);
    let mut last = [0; 16];
    let last = last.split_at_mut(block).0;
    for (to, from) in last.iter_mut().zip(message) {
        *to = *from;
    }
    if bits < 8 * block {
        double(subkey);
        let (byte, bit) = (bits / 8, bits % 8);
        let mut behind = last.iter_mut().skip(byte);
        if let Some(byte) = behind.next() {
            *byte = *byte & !(0xFF >> bit) | 0x80 >> bit;
        }
        behind.for_each(|byte| *byte = 0);
    }
    exclusive_or(last, subkey);
    process(cipher, chaining, last);
}

/// The product with x in the field of 64 or 128 bits, the highest power leftmost.
fn double(element: &mut [u8]) {
    let reduction = if element.len() == 8 { 0x1B } else { 0x87 };
    let highest = element.first().map_or(0, |byte| byte >> 7);
    let mut carry = 0;
    for byte in element.iter_mut().rev() {
        (*byte, carry) = (*byte << 1 | carry, *byte >> 7);
    }
    if let Some(lowest) = element.last_mut() {
        *lowest ^= highest * reduction;
    }
}
