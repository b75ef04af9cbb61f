//! Wrong input for every reader: targets, what is done to good input, and what no reader may do.
//!
//! A [`Target`] is a reader with good inputs, most of them made by the writers of the same records. A
//! [`mutation::Mutator`] spoils these: bits, lengths and offsets set to extremes, pieces cut out, doubled and
//! exchanged, the other order of bytes. What a reader answers to an input tells whether that input led it
//! somewhere new ([`runner`]): then it is kept and spoiled further. So the readers are searched in depth
//! without a compiler that counts branches, and stable Rust is enough.
//!
//! Of any input of N bytes a reader may make nothing but an answer: no panic, no more storage than K × N + C,
//! and no more time than [`runner::LONGEST`].

#![forbid(unsafe_code)]

pub mod mutation;
pub mod runner;
pub mod targets;

use peak_alloc::PeakAlloc;

/// Counts what is allocated.
#[global_allocator]
pub static STORAGE: PeakAlloc = PeakAlloc;

/// A reader.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What it reads, in a line.
    pub what: &'static str,
    /// Good inputs.
    pub good: fn() -> Vec<Vec<u8>>,
    /// Reads an input, and panics if what comes of it contradicts itself. The answer is what the input
    /// came to, in few words: inputs with other answers went other ways.
    pub read: fn(&[u8]) -> String,
    /// K: bytes of storage for each byte of the input.
    pub for_each_byte: usize,
    /// C: bytes of storage for any input.
    pub at_least: usize,
}

impl Target {
    /// The most storage that an input of so many bytes may take.
    #[must_use]
    pub const fn most_storage(&self, length: usize) -> usize {
        self.for_each_byte * length + self.at_least
    }
}
