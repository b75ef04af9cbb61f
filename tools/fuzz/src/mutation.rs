//! Mutations of good input.

use fastrand::Rng;

/// The greatest length of an input.
pub const LONGEST: usize = 1 << 16;

/// Numbers at which errors in lengths and offsets show.
const EXTREMES: [u64; 14] = [
    0,
    1,
    3,
    4,
    7,
    0x20,
    0x7F,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    u64::MAX,
];

/// Words of the texts, with which confusions are found sooner.
const WORDS: [&str; 40] = [
    "HIS019I",
    "COUNTER SET= ",
    "COUNTER VALUES",
    "START TIME: ",
    "END TOD:   ",
    "YES",
    "NO",
    "0-  3",
    ":",
    "=",
    ",",
    "'",
    "''",
    "(",
    ")",
    "\n",
    "\r",
    "\t",
    "\0",
    "*",
    " ",
    "-",
    "\u{1F600}",
    "é",
    "ALL",
    "F HIS,",
    "B",
    "CTRSET=",
    "SAMPFREQ=",
    "99999999999999999999",
    "-1",
    "FFFFFFFFFFFFFFFF",
    "{",
    "}",
    "[",
    "\"",
    "null",
    "1e999",
    "--",
    "=ON",
];

/// Spoils inputs, in the same way for the same seed.
#[derive(Clone, Debug)]
pub struct Mutator {
    random: Rng,
}

impl Mutator {
    /// Begins with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let random = Rng::with_seed(seed);
        Self { random }
    }

    /// One of these.
    pub fn choose<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        (!all.is_empty()).then(|| &all[self.random.usize(..all.len())])
    }

    /// Spoils `bytes` in one to eight places; pieces may come from `other`.
    pub fn spoil(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let times = 1 << self.random.u32(..4);
        for _ in 0..self.random.u32(1..=times) {
            self.once(bytes, other);
        }
        bytes.truncate(LONGEST);
    }

    fn once(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        if bytes.is_empty() {
            bytes.extend_from_slice(other);
            return;
        }
        let at = self.random.usize(..bytes.len());
        match self.random.u32(..14) {
            0..=2 => bytes[at] ^= 1 << self.random.u32(..8),
            3 => bytes[at] = self.random.u8(..),
            4 | 5 => self.number(bytes, at),
            6 => self.little_endian(bytes, at),
            7 => bytes.truncate(at),
            8 => {
                let end = self.end(at, bytes.len());
                bytes.drain(at..end);
            }
            9 => {
                let piece = bytes[at..self.end(at, bytes.len())].to_vec();
                self.insert(bytes, &piece);
            }
            10 => self.splice(bytes, at, other),
            11 => {
                let word = WORDS[self.random.usize(..WORDS.len())];
                self.insert(bytes, word.as_bytes());
            }
            12 => {
                let end = self.end(at, bytes.len());
                let byte = [0, 0xFF, b' ', b'0', 0x40][self.random.usize(..5)];
                bytes[at..end].fill(byte);
            }
            _ => {
                let number = self.random.u32(..).to_string();
                self.insert(bytes, number.as_bytes());
            }
        }
    }

    /// Sets a field of 2, 4 or 8 bytes to an extreme, or to a little more or less than its value or than the
    /// length of the input.
    fn number(&mut self, bytes: &mut [u8], at: usize) {
        let width = [2, 2, 4, 8][self.random.usize(..4)];
        // Most fields have a boundary of their own width.
        let at = if self.random.bool() {
            at & !(width - 1)
        } else {
            at
        };
        let length = bytes.len() as u64;
        let Some(field) = bytes.get_mut(at..at + width) else {
            return;
        };
        let is = field
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let near = self.random.u64(..9).wrapping_sub(4);
        let number = match self.random.u32(..4) {
            0 => is.wrapping_add(near),
            1 => length.wrapping_add(near),
            _ => EXTREMES[self.random.usize(..EXTREMES.len())],
        };
        field.copy_from_slice(&number.to_be_bytes()[8 - width..]);
    }

    /// Reverses the bytes of a field, or of all of the same width.
    fn little_endian(&mut self, bytes: &mut [u8], at: usize) {
        let width = [2, 4, 8][self.random.usize(..3)];
        let at = at & !(width - 1);
        if self.random.u32(..8) == 0 {
            bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        } else if let Some(field) = bytes.get_mut(at..at + width) {
            field.reverse();
        }
    }

    /// The end of a piece that begins at `at`: most are short.
    fn end(&mut self, at: usize, length: usize) -> usize {
        let most = 1 << self.random.u32(..14);
        length.min(at + self.random.usize(1..=most))
    }

    fn insert(&mut self, bytes: &mut Vec<u8>, piece: &[u8]) {
        let at = self.random.usize(..=bytes.len());
        bytes.splice(at..at, piece.iter().copied());
    }

    /// Puts a piece of the other input at `at`, in place of the rest, of no bytes, or of as many bytes.
    fn splice(&mut self, bytes: &mut Vec<u8>, at: usize, other: &[u8]) {
        if other.is_empty() {
            return;
        }
        let from = self.random.usize(..other.len());
        let piece = &other[from..self.end(from, other.len())];
        let end = match self.random.u32(..3) {
            0 => bytes.len(),
            1 => at,
            _ => bytes.len().min(at + piece.len()),
        };
        bytes.splice(at..end, piece.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_spoils_in_the_same_way() {
        let spoiled = |seed| {
            let mut mutator = Mutator::new(seed);
            let mut bytes = vec![7; 100];
            for _ in 0..50 {
                mutator.spoil(&mut bytes, &[1, 2, 3, 4]);
            }
            bytes
        };
        assert_eq!(spoiled(1), spoiled(1));
        assert_ne!(spoiled(1), spoiled(2));
    }

    #[test]
    fn no_input_becomes_too_long_or_stays_empty() {
        let mut mutator = Mutator::new(3);
        let mut bytes = Vec::new();
        for _ in 0..5000 {
            mutator.spoil(&mut bytes, &[5; 5000]);
            assert!(bytes.len() <= LONGEST);
        }
        bytes.clear();
        mutator.once(&mut bytes, &[5; 50]);
        assert_eq!(bytes.len(), 50);
    }
}
