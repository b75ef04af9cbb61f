//! CIPHER MESSAGE WITH CHAINING: cipher block chaining (SP 800-38A).

use super::cipher::{Cipher, exclusive_or};

/// KMC: the chaining value is the preceding ciphertext block.
pub(super) fn process(
    cipher: &Cipher,
    decipher: bool,
    chaining: &mut [u8],
    input: &[u8],
    output: &mut [u8],
) {
    // A chaining value has a byte at least.
    let block = chaining.len().max(1);
    if decipher {
        output.copy_from_slice(input);
        cipher.decipher(output);
        for (output, input) in output
            .chunks_exact_mut(block)
            .zip(input.chunks_exact(block))
        {
            exclusive_or(output, chaining);
            chaining.copy_from_slice(input);
        }
    } else {
        for (output, input) in output
            .chunks_exact_mut(block)
            .zip(input.chunks_exact(block))
        {
            exclusive_or(chaining, input);
            cipher.encipher(chaining);
            output.copy_from_slice(chaining);
        }
    }
}
