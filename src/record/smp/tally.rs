//! What is in the blocks of a file, by the states of their samples.

use zerocopy::IntoBytes;

use super::{Block, Entry, Sizes};
use crate::Malformed;
use cpumf::sampling::block::{BasicEntry, Trailer};

/// The number of each kind of thing in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTally {
    /// Whole blocks.
    pub blocks: u64,
    /// Blocks that are full.
    pub full: u64,
    /// Damaged blocks, and bytes after the last whole one.
    pub malformed: u64,
    /// Basic-sampling data entries.
    pub basic: u64,
    /// Diagnostic-sampling data entries.
    pub diagnostic: u64,
    /// Samples that found no room, by the trailers.
    pub overflow: u64,
    /// Entries whose I bit says that they are invalid. The states below count the others.
    pub invalid: u64,
    /// Limited samples of a secure guest (LS).
    pub limited: u64,
    /// Samples in the wait state (W).
    pub wait: u64,
    /// Samples in the problem state (P), wait state aside.
    pub problem: u64,
    /// Samples in the supervisor state, wait state aside.
    pub supervisor: u64,
    /// Samples with DAT (T), by address-space control.
    pub spaces: [u64; 4],
    /// Samples by the code of their configuration level.
    pub levels: [u64; 4],
    /// Samples with the host indicator (H).
    pub host: u64,
    /// Unique instructions at the sampling points (U).
    pub instructions: u64,
    /// The sum of the doublewords of all entries and trailers. Any other bit gives another sum.
    pub sum: u64,
}

impl BlockTally {
    /// Counts what is in a whole block. Nothing reads samples faster: any other use does more with each one. What is in
    /// front of an error counts.
    pub fn add_block(&mut self, sizes: &mut Sizes, bytes: &[u8]) -> Result<(), Malformed> {
        let block: Block<'_> = sizes.block(bytes)?;
        self.trailer(block.trailer);
        for entry in block.entries() {
            match entry?.1 {
                Entry::Basic(entry) => self.basic(entry),
                Entry::Diagnostic { bytes, .. } => {
                    self.diagnostic += 1;
                    self.add(bytes);
                }
            }
        }
        Ok(())
    }

    fn trailer(&mut self, trailer: &Trailer) {
        self.blocks += 1;
        self.full += u64::from(trailer.full());
        self.overflow = self.overflow.saturating_add(trailer.overflow_count.get());
        self.add(trailer.as_bytes());
    }

    #[inline]
    fn basic(&mut self, entry: &BasicEntry) {
        let [guest, host] = [
            entry.guest_program_parameter.get(),
            entry.host_program_parameter.get(),
        ];
        let address = entry.instruction_address.get();
        let sum = self.sum.wrapping_add(entry.head.get());
        self.sum = sum
            .wrapping_add(address)
            .wrapping_add(guest)
            .wrapping_add(host);
        self.basic += 1;
        if entry.invalid() {
            self.invalid += 1;
            return;
        }
        let (wait, problem) = (entry.wait(), entry.problem_state());
        self.limited += u64::from(entry.limited());
        self.wait += u64::from(wait);
        self.problem += u64::from(!wait && problem);
        self.supervisor += u64::from(!wait && !problem);
        self.spaces[usize::from(entry.address_space() & 3)] += u64::from(entry.dat());
        self.levels[usize::from(entry.configuration_level() & 3)] += 1;
        self.host += u64::from(entry.host_indicator());
        self.instructions += u64::from(entry.unique_instructions());
    }

    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.sum = self.sum.wrapping_add(u64::from_be_bytes(*word));
        }
        for byte in rest {
            self.sum = self.sum.wrapping_add((*byte).into());
        }
    }
}
