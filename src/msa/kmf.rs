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
    if feedback == 0 || feedback > chaining.len() {
        return;
    }
    for (output, input) in output
        .chunks_exact_mut(feedback)
        .zip(input.chunks_exact(feedback))
    {
        let mut mask = [0; 16];
        let mask = mask.split_at_mut(chaining.len().min(16)).0;
        for (to, from) in mask.iter_mut().zip(&*chaining) {
            *to = *from;
        }
        cipher.encipher(mask);
        output.copy_from_slice(input);
        exclusive_or(output, mask);
        chaining.rotate_left(feedback);
        let right = chaining.iter_mut().rev();
        let text = if decipher { input } else { output };
        for (to, from) in right.zip(text.iter().rev()) {
            *to = *from;
        }
    }
}
