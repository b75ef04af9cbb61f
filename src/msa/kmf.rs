//! CIPHER MESSAGE WITH CIPHER FEEDBACK (SP 800-38A).

use super::cipher::{Cipher, exclusive_or};

/// KMF with `feedback` bytes (1 up to the block): the chaining value shifts the ciphertext in from
/// the right.
pub(super) fn process(
    cipher: &Cipher,
    decipher: bool,
    feedback: usize,
    chaining: &mut [u8],
    input: &[u8],
    output: &mut [u8],
) {
    for (output, input) in output
        .chunks_exact_mut(feedback)
        .zip(input.chunks_exact(feedback))
    {
        let mut mask = [0; 16];
        let mask = &mut mask[..chaining.len()];
        mask.copy_from_slice(chaining);
        cipher.encipher(mask);
        output.copy_from_slice(input);
        exclusive_or(output, mask);
        chaining.copy_within(feedback.., 0);
        let right = chaining.len() - feedback;
        chaining[right..].copy_from_slice(if decipher { input } else { output });
    }
}
