//! CIPHER MESSAGE: each data block by itself.

use super::cipher::Cipher;

/// KM with a block cipher. The parameter block is the key, and nothing is chained.
pub(super) fn process(cipher: &Cipher, decipher: bool, input: &[u8], output: &mut [u8]) {
    output.copy_from_slice(input);
    if decipher {
        cipher.decipher(output);
    } else {
        cipher.encipher(output);
    }
}
