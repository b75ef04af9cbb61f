//! Sample-data blocks, one at a time: the basic-sampling data entries of each, and when it became full.
//!
//! A file can be cut off anywhere (a full disk, a run that was ended). So everything that is not a whole block of the
//! expected form is counted and skipped.

use std::io::{self, Read};

use {
    cpumf::sampling::block::{BasicEntry, Trailer},
    record::smp::{Entry, Sizes},
};

use crate::formats::samples;

/// Counts of blocks and samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Whole blocks.
    pub blocks: u64,
    /// Damaged blocks: entries of another size, or bytes behind the last whole block.
    pub malformed: u64,
    /// Samples that found no room, by the trailers.
    pub overflow: u64,
    /// Entries whose I bit says that they are invalid.
    pub invalid: u64,
    /// Samples that are not marked invalid.
    pub samples: u64,
}

impl BlockCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.malformed += other.malformed;
        self.overflow = self.overflow.saturating_add(other.overflow);
        self.invalid += other.invalid;
        self.samples += other.samples;
    }
}

/// The samples of one file, block by block.
pub struct Blocks<R> {
    file: samples::Blocks<R>,
    length: usize,
    sizes: Sizes,
    /// The basic-sampling data entries of the last block, invalid ones included.
    pub entries: Vec<BasicEntry>,
    /// When the last block became full: TOD clock, bits 0-63.
    pub full_at: Option<u64>,
    /// The counts up to now. The caller counts the samples.
    pub found: BlockCounts,
}

impl<R: Read> Blocks<R> {
    /// Reads a file with blocks of `length` bytes.
    pub fn new(file: R, length: usize) -> Self {
        Self {
            file: samples::Blocks::new(file, length),
            length,
            sizes: Sizes::default(),
            entries: Vec::new(),
            full_at: None,
            found: BlockCounts::default(),
        }
    }

    /// Goes on to the next valid block; false at the end of the file. If a block is damaged after some entries, these
    /// are kept.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.entries.clear();
        while let Some((_, bytes)) = self.file.next_block()? {
            // The last one of a file that was cut off is shorter.
            let is_whole = bytes.len() == self.length;
            let Some(block) = self.sizes.block(bytes).ok().filter(|_| is_whole) else {
                self.found.malformed += 1;
                continue;
            };
            self.found.blocks += 1;
            let overflow = block.trailer.overflow_count.get();
            self.found.overflow = self.found.overflow.saturating_add(overflow);
            let full = block.trailer.full();
            self.full_at = full.then(|| tod(block.trailer)).filter(|tod| *tod != 0);
            for entry in block.entries() {
                match entry {
                    Ok((_, Entry::Basic(entry))) => {
                        self.found.invalid += u64::from(entry.invalid());
                        self.entries.push(*entry);
                    }
                    Ok((_, Entry::Diagnostic { .. })) => {}
                    Err(_) => self.found.malformed += 1,
                }
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// When the block became full, bits 0-63 of the TOD clock.
fn tod(trailer: &Trailer) -> u64 {
    let whole = u128::from_be_bytes(trailer.timestamp);
    // In STORE CLOCK EXTENDED format the first byte counts epochs.
    match trailer.timestamp_extended() {
        true => (whole >> 56) as u64,
        false => (whole >> 64) as u64,
    }
}
