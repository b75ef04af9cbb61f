//! Random bytes of a machine that draws its seed from the machine below, once.
//!
//! The state of a generator below is not in storage, and nothing saves it. So a run that goes on from a kept state would
//! draw other numbers than one that has not been kept. This generator is in storage: number after number is the digest of
//! the seed and a count.

use sha2::{Digest, Sha512};

/// Bytes that the generator makes at once.
const BLOCK: usize = 64;

/// The generator.
#[derive(Debug, Default)]
pub struct Noise {
    seed: [u64; 8],
    drawn: u64,
}

impl Noise {
    /// A generator without a seed.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            seed: [0; 8],
            drawn: 0,
        }
    }

    /// Begins anew with random bytes.
    pub fn seed(&mut self, bytes: &[u8; BLOCK]) {
        let (words, _) = bytes.as_chunks();
        for (seed, &bytes) in self.seed.iter_mut().zip(words) {
            *seed = u64::from_be_bytes(bytes);
        }
        self.drawn = 0;
    }

    /// Draws random bytes.
    pub fn fill(&mut self, into: &mut [u8]) {
        for part in into.chunks_mut(BLOCK) {
            let mut digest = Sha512::new();
            for word in self.seed {
                digest.update(word.to_be_bytes());
            }
            digest.update(self.drawn.to_be_bytes());
            self.drawn = self.drawn.wrapping_add(1);
            for (to, from) in part.iter_mut().zip(digest.finalize()) {
                *to = from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_no_byte_twice() {
        let draw = |seed, lengths: &[usize]| {
            let mut noise = Noise::new();
            noise.seed(&[seed; BLOCK]);
            let mut all = Vec::new();
            for &length in lengths {
                let mut bytes = vec![0; length];
                noise.fill(&mut bytes);
                all.push(bytes);
            }
            all
        };
        let first = draw(1, &[64, 32, 200]);
        assert_eq!(first, draw(1, &[64, 32, 200]));
        assert_ne!(first, draw(2, &[64, 32, 200]));
        assert_ne!(first[0][..32], first[1][..]);
        assert_ne!(first[2][..64], first[2][64..128]);
        assert_ne!(first[0], first[2][..64]);
    }
}
