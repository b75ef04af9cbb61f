//! Reading sample-data blocks from files.
//!
//! The bytes are the machine's own: the same structures that the firmware fills are read here
//! ([`record::smp`]). [`Blocks`] reads a file of any length through one buffer; the
//! caller takes samples from there, entry by entry.
//!
//! A raw file can be cut off anywhere (a full disk, a run that was ended). So for a report everything that is not a
//! whole block of the expected form is counted and skipped.

use std::io::{self, Read};

use {
    cpumf::sampling::block::{BasicEntry, Trailer},
    link::data::SAMPLE_DATA_BLOCK,
    record::{
        Malformed,
        smp::{Block, BlockTally, Entry, Sizes},
    },
};

/// How much of a file of small blocks is read at a time.
const AT_A_TIME: usize = 1 << 18;

/// Reads the consecutive blocks of a file.
pub struct Blocks<R> {
    file: R,
    size: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are filled, and where the next block is in it.
    filled: usize,
    next: usize,
    /// Where the buffer's first byte is in the file.
    base: u64,
}

impl<R: Read> Blocks<R> {
    /// A reader of blocks of `size` bytes.
    pub fn new(file: R, size: usize) -> Self {
        let size = size.max(size_of::<Trailer>());
        Self {
            file,
            size,
            buffer: vec![0; size.max(AT_A_TIME / size * size)],
            filled: 0,
            next: 0,
            base: 0,
        }
    }

    /// The next block and its offset in the file. The last one of a file that was cut off is shorter than a block.
    pub fn next_block(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        if self.next == self.filled {
            self.base += self.filled as u64;
            (self.next, self.filled) = (0, 0);
            while self.filled < self.buffer.len() {
                match self.file.read(&mut self.buffer[self.filled..]) {
                    Ok(0) => break,
                    Ok(read) => self.filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let start = self.next;
        self.next = self.filled.min(start + self.size);
        let offset = self.base + start as u64;
        Ok((start < self.next).then(|| (offset, &self.buffer[start..self.next])))
    }

    /// Shows every valid block and all its entries. Counts damaged blocks, blocks that are damaged after some entries,
    /// and bytes behind the last whole block.
    pub fn read(mut self, mut visit: impl FnMut(BlockPart<'_>)) -> io::Result<u64> {
        let size = self.size;
        let (mut sizes, mut malformed) = (Sizes::default(), 0);
        while let Some((_, bytes)) = self.next_block()? {
            let is_read = bytes.len() == size && show(&mut sizes, bytes, &mut visit).is_ok();
            malformed += u64::from(!is_read);
        }
        Ok(malformed)
    }
}

/// A part of a file of blocks.
#[derive(Clone, Copy, Debug)]
pub enum BlockPart<'a> {
    /// A block: its trailer. Its entries follow.
    Block(&'a Trailer),
    /// A data entry.
    Entry(Entry<'a>),
}

#[inline]
fn show(
    sizes: &mut Sizes,
    bytes: &[u8],
    visit: &mut impl FnMut(BlockPart<'_>),
) -> Result<(), Malformed> {
    let block: Block<'_> = sizes.block(bytes)?;
    visit(BlockPart::Block(block.trailer));
    for entry in block.entries() {
        let (_, entry) = entry?;
        visit(BlockPart::Entry(entry));
    }
    Ok(())
}

/// Counts what is in blocks of `size` bytes.
pub fn tally(file: impl Read, size: usize) -> io::Result<BlockTally> {
    let mut blocks = Blocks::new(file, size);
    let (mut tally, mut sizes) = (BlockTally::default(), Sizes::default());
    let size = blocks.size;
    while let Some((_, bytes)) = blocks.next_block()? {
        let is_read = bytes.len() == size && tally.add_block(&mut sizes, bytes).is_ok();
        tally.malformed += u64::from(!is_read);
    }
    Ok(tally)
}

/// The samples of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSamples {
    /// CPU address.
    pub cpu: u16,
    /// Samples, in the order in which they were taken; invalid ones are left out.
    pub entries: Vec<BasicEntry>,
    /// Entries whose I bit says that they are invalid.
    pub invalid: u64,
    /// Whole blocks.
    pub blocks: u64,
    /// Damaged blocks: entries of another size or of no known form, or bytes behind the last whole block.
    pub malformed: u64,
    /// Samples that found no room, by the trailers.
    pub overflow: u64,
}

impl CpuSamples {
    /// Adds the samples in consecutive blocks of `size` bytes.
    pub fn add(&mut self, bytes: &[u8], size: usize) {
        let blocks = Blocks::new(bytes, size);
        let malformed = blocks.read(|found| match found {
            BlockPart::Block(trailer) => {
                let lost = trailer.overflow_count.get();
                self.blocks += 1;
                self.overflow = self.overflow.saturating_add(lost);
            }
            BlockPart::Entry(Entry::Basic(entry)) if entry.invalid() => self.invalid += 1,
            BlockPart::Entry(Entry::Basic(entry)) => self.entries.push(*entry),
            BlockPart::Entry(Entry::Diagnostic { .. }) => {}
        });
        // Reading from storage cannot fail.
        self.malformed += malformed.unwrap_or_default();
    }
}

/// Reads consecutive blocks.
pub fn read(cpu: u16, bytes: &[u8]) -> CpuSamples {
    let mut samples = CpuSamples {
        cpu,
        ..CpuSamples::default()
    };
    samples.add(bytes, SAMPLE_DATA_BLOCK);
    samples
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cpumf::sampling::block::{BASIC_FORMAT, SampleDataBlock};
    use proptest::prelude::*;
    use zerocopy::{FromZeros, IntoBytes};

    /// A block with samples at these addresses; bit 27 of an entry is W, bit 31 is I.
    pub(crate) fn block(addresses: &[(u64, u64)], overflow: u64) -> Vec<u8> {
        let mut block = SampleDataBlock::new_zeroed();
        for (entry, (address, state)) in block.entries.iter_mut().zip(addresses) {
            entry.head = (u64::from(BASIC_FORMAT) << 48 | state).into();
            entry.instruction_address = (*address).into();
        }
        block.trailer.bsdes = 32.into();
        block.trailer.overflow_count = overflow.into();
        block.as_bytes().to_vec()
    }

    pub(crate) const WAIT: u64 = 1 << (63 - 27);
    pub(crate) const LIMITED: u64 = 1 << (63 - 35);
    pub(crate) const INVALID: u64 = 1 << (63 - 31);

    #[test]
    fn samples_are_read_up_to_the_first_unused_entry() {
        let mut bytes = block(
            &[(0x20_0000, 0), (0x20_0004, INVALID), (0x20_0008, WAIT)],
            5,
        );
        bytes.extend(block(&[(0x30_0000, 0)], 1));
        let samples = read(2, &bytes);
        let addresses: Vec<u64> = samples
            .entries
            .iter()
            .map(|entry| entry.instruction_address.get())
            .collect();
        assert_eq!(addresses, [0x20_0000, 0x20_0008, 0x30_0000]);
        assert_eq!(
            (
                samples.cpu,
                samples.blocks,
                samples.invalid,
                samples.overflow
            ),
            (2, 2, 1, 6)
        );
        assert!(samples.entries[1].wait());
    }

    #[test]
    fn a_file_that_was_cut_off_loses_its_last_block_only() {
        let mut bytes = block(&[(1, 0)], 0);
        bytes.extend(&block(&[(2, 0)], 0)[..100]);
        let samples = read(0, &bytes);
        assert_eq!(
            (samples.entries.len(), samples.blocks, samples.malformed),
            (1, 1, 1)
        );
    }

    #[test]
    fn the_last_block_of_a_run_is_read_although_it_never_became_full() {
        let mut bytes = block(&[(1, 0)], 0);
        bytes[4032..].fill(0);
        let samples = read(0, &bytes);
        assert_eq!(
            (samples.entries.len(), samples.blocks, samples.malformed),
            (1, 1, 0)
        );
        bytes[4032] = 0x80;
        assert_eq!(read(0, &bytes).malformed, 1);
    }

    #[test]
    fn blocks_come_with_their_offsets_however_the_file_gives_its_bytes() {
        /// Gives few bytes at a time.
        struct Slow<'b>(&'b [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let few = buffer.len().min(1000);
                self.0.read(&mut buffer[..few])
            }
        }
        let mut bytes: Vec<u8> = (0..100).flat_map(|at| block(&[(at, 0)], 0)).collect();
        bytes.extend([0; 9]);
        let mut blocks = Blocks::new(Slow(&bytes), SAMPLE_DATA_BLOCK);
        let mut offsets = Vec::new();
        while let Some((offset, block)) = blocks.next_block().unwrap() {
            let at = offset as usize;
            assert_eq!(block, &bytes[at..(at + 4096).min(bytes.len())]);
            offsets.push(offset);
        }
        assert_eq!(offsets, (0..101).map(|at| at * 4096).collect::<Vec<u64>>());
    }

    #[test]
    fn a_tally_counts_every_entry_by_its_state_and_sums_every_field() {
        let state = |bits: &[u32]| bits.iter().fold(0, |state, bit| state | 1 << (63 - bit));
        let entries = [
            (1, state(&[23, 26, 28])),
            (2, state(&[23, 26, 29, 33])),
            (3, WAIT),
            (4, INVALID),
            (5, LIMITED | state(&[32, 34])),
        ];
        let mut bytes = block(&entries, 3);
        bytes.extend(block(&[(6, 0)], 4));
        bytes[4096 + 32..4096 + 36].copy_from_slice(&[0x80, 6, 0, 0]);
        bytes.extend([1, 2]);
        let tally = super::tally(&bytes[..], SAMPLE_DATA_BLOCK).unwrap();
        let expected = BlockTally {
            blocks: 2,
            malformed: 1,
            basic: 6,
            diagnostic: 1,
            overflow: 7,
            invalid: 1,
            limited: 1,
            wait: 1,
            problem: 1,
            supervisor: 3,
            spaces: [1, 0, 1, 0],
            levels: [3, 1, 1, 0],
            host: 1,
            instructions: 2,
            sum: tally.sum,
            ..BlockTally::default()
        };
        assert_eq!(tally, expected);
        // Any bit of an entry or a trailer makes another sum.
        for at in [2, 9, 17, 25, 4032 + 9, 4032 + 40, 4096 + 40] {
            let mut other = bytes.clone();
            other[at] ^= 4;
            let other = super::tally(&other[..], SAMPLE_DATA_BLOCK).unwrap();
            assert_ne!(other.sum, tally.sum, "{at}");
        }
    }

    #[test]
    fn samples_behind_a_diagnostic_entry_are_read() {
        let mut bytes = block(&[(1, 0), (2, 0)], 0);
        bytes.copy_within(32..64, 32 + 85);
        bytes[32..36].copy_from_slice(&[0x80, 1, 0, 0]);
        bytes[4032 + 7] = 85;
        let samples = read(0, &bytes);
        assert_eq!((samples.entries.len(), samples.malformed), (2, 0));
    }

    #[test]
    fn a_block_whose_trailer_gives_another_entry_size_is_skipped() {
        let mut bytes = block(&[(1, 0)], 0);
        bytes[4032 + 5] = 64;
        assert_eq!(
            read(0, &bytes),
            CpuSamples {
                malformed: 1,
                ..CpuSamples::default()
            }
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let samples = read(0, &bytes);
            prop_assert!(samples.entries.len() as u64 <= samples.blocks * 126);
        }
    }
}
