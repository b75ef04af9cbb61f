//! Text that looks like text, made from a seed: words of uneven frequency, numbers and addresses.

use alloc::vec::Vec;

const WORDS: [&str; 64] = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "for",
    "it",
    "storage",
    "with",
    "as",
    "was",
    "on",
    "be",
    "program",
    "at",
    "by",
    "an",
    "this",
    "interruption",
    "are",
    "from",
    "or",
    "counter",
    "one",
    "had",
    "not",
    "block",
    "condition",
    "code",
    "machine",
    "key",
    "which",
    "address",
    "register",
    "all",
    "there",
    "when",
    "can",
    "sample",
    "instruction",
    "control",
    "operand",
    "clock",
    "external",
    "more",
    "entry",
    "table",
    "state",
    "page",
    "segment",
    "real",
    "absolute",
    "virtual",
    "channel",
    "signal",
    "processor",
    "timer",
    "comparator",
    "alert",
    "facility",
    "millicode",
];

/// The generator: xorshift64* of Marsaglia and Vigna.
pub struct Generator(u64);

impl Generator {
    /// Starts from a seed that is not zero.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// `size` bytes of text.
#[must_use]
pub fn generate(seed: u64, size: usize) -> Vec<u8> {
    let mut generator = Generator::new(seed);
    let mut text = Vec::with_capacity(size + 64);
    while text.len() < size {
        let r = generator.next();
        match r >> 60 {
            0 => number(&mut text, r & 0xFFFF),
            1 => {
                word(&mut text, r);
                text.push(b'@');
                word(&mut text, r >> 16);
                text.extend_from_slice(b".org");
            }
            _ => word(&mut text, r),
        }
        text.extend_from_slice(match r >> 20 & 15 {
            0 => b".\n",
            1 => b", ",
            _ => b" ",
        });
    }
    text.truncate(size);
    text
}

/// One word; the product of two uniform values makes the first words frequent.
fn word(text: &mut Vec<u8>, r: u64) {
    let index = (r & 63) * (r >> 8 & 63) >> 6;
    text.extend_from_slice(WORDS[index as usize].as_bytes());
}

fn number(text: &mut Vec<u8>, value: u64) {
    if value >= 10 {
        number(text, value / 10);
    }
    text.push(b'0' + (value % 10) as u8);
}
