//! The block ciphers, each as one pair of operations on whole data blocks.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use des::{Des, TdesEde2, TdesEde3};

use super::algorithm::Algorithm;

/// A block cipher with its expanded key.
///
/// The parity bits of the keys of DEA and TDEA do not matter, and equal keys are not refused.
pub(super) enum Cipher {
    Dea(Des),
    Tdea128(TdesEde2),
    Tdea192(TdesEde3),
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Cipher {
    /// The cipher of `algorithm` with `key`; `None` if the algorithm is not a block cipher, or the key has
    /// another length. For XTS the key is one of the two.
    pub(super) fn new(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        match algorithm {
            Algorithm::Dea => Des::new_from_slice(key).ok().map(Self::Dea),
            Algorithm::Tdea128 => TdesEde2::new_from_slice(key).ok().map(Self::Tdea128),
            Algorithm::Tdea192 => TdesEde3::new_from_slice(key).ok().map(Self::Tdea192),
            Algorithm::Aes128 | Algorithm::XtsAes128 => {
                Aes128::new_from_slice(key).ok().map(Self::Aes128)
            }
            Algorithm::Aes192 => Aes192::new_from_slice(key).ok().map(Self::Aes192),
            Algorithm::Aes256 | Algorithm::XtsAes256 => {
                Aes256::new_from_slice(key).ok().map(Self::Aes256)
            }
            _ => None,
        }
    }

    /// Enciphers each whole block of `text` in place.
    pub(super) fn encipher(&self, text: &mut [u8]) {
        match self {
            Self::Dea(cipher) => encipher(cipher, text),
            Self::Tdea128(cipher) => encipher(cipher, text),
            Self::Tdea192(cipher) => encipher(cipher, text),
            Self::Aes128(cipher) => encipher(cipher, text),
            Self::Aes192(cipher) => encipher(cipher, text),
            Self::Aes256(cipher) => encipher(cipher, text),
        }
    }

    /// Deciphers each whole block of `text` in place.
    pub(super) fn decipher(&self, text: &mut [u8]) {
        match self {
            Self::Dea(cipher) => decipher(cipher, text),
            Self::Tdea128(cipher) => decipher(cipher, text),
            Self::Tdea192(cipher) => decipher(cipher, text),
            Self::Aes128(cipher) => decipher(cipher, text),
            Self::Aes192(cipher) => decipher(cipher, text),
            Self::Aes256(cipher) => decipher(cipher, text),
        }
    }
}

fn encipher<C: BlockCipherEncrypt + BlockSizeUser>(cipher: &C, text: &mut [u8]) {
    cipher.encrypt_blocks(Array::slice_as_chunks_mut(text).0);
}

fn decipher<C: BlockCipherDecrypt + BlockSizeUser>(cipher: &C, text: &mut [u8]) {
    cipher.decrypt_blocks(Array::slice_as_chunks_mut(text).0);
}

/// `target` exclusive-or `other`, up to the shorter length.
pub(super) fn exclusive_or(target: &mut [u8], other: &[u8]) {
    for (target, other) in target.iter_mut().zip(other) {
        *target ^= other;
    }
}
