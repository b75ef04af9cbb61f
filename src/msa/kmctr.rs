//! CIPHER MESSAGE WITH COUNTER (SP 800-38A): the program makes the counter blocks.

use super::cipher::{Cipher, exclusive_or};

/// KMCTR: the enciphered counters, exclusive-or the input; deciphering is the same.
pub(super) fn process(cipher: &Cipher, counters: &[u8], input: &[u8], output: &mut [u8]) {
    output.copy_from_slice(counters);
    cipher.encipher(output);
    exclusive_or(output, input);
}
