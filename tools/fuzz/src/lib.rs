//! Wrong input for every reader: targets, mutations of good input, and the limits of a reader.
//!
//! A [`Target`] is a reader with good inputs, most of them made by the writers of the same records. A
//! [`mutation::Mutator`] spoils them: it sets bits, lengths and offsets to extremes, removes, doubles and
//! exchanges pieces, and reverses the order of bytes. The reader's answer shows whether an input led it
//! somewhere new ([`runner`]): if so, the input is kept and spoiled further. So the readers are searched in
//! depth without a compiler that counts branches, and stable Rust is enough.
//!
//! A reader must answer any input of N bytes: without a panic, with at most K × N + C bytes of storage, and
//! within [`runner::LONGEST`].

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
    /// Reads an input, and panics if the result contradicts itself. The answer is a short summary of the
    /// result: inputs with different answers took different paths.
    pub read: fn(&[u8]) -> String,
    /// K: bytes of storage for each byte of the input.
    pub for_each_byte: usize,
    /// C: bytes of storage for any input.
    pub at_least: usize,
}

impl Target {
    /// The most storage that an input of `length` bytes may take.
    #[must_use]
    pub const fn most_storage(&self, length: usize) -> usize {
        self.for_each_byte * length + self.at_least
    }
}
