//! CIPHER MESSAGE WITH OUTPUT FEEDBACK (SP 800-38A).

use super::cipher::{Cipher, exclusive_or};

/// KMO: enciphers the chaining value again for each block; deciphering is the same.
pub(super) fn process(cipher: &Cipher, chaining: &mut [u8], input: &[u8], output: &mut [u8]) {
    // A chaining value has a byte at least.
    let block = chaining.len().max(1);
    for (output, input) in output
        .chunks_exact_mut(block)
        .zip(input.chunks_exact(block))
    {
        cipher.encipher(chaining);
        output.copy_from_slice(input);
        exclusive_or(output, chaining);
    }
}
