//! Reading sample-data blocks.
//!
//! The bytes are the machine's own: the same structures that the firmware fills are read here. A
//! raw file can be cut off anywhere (a full disk, a run that was ended), so everything that is not
//! a whole block of the expected form is counted and passed by.

use millimeter::{
    cpumf::sampling::block::{BASIC_FORMAT, BasicEntry, SampleDataBlock},
    link::data::SAMPLE_DATA_BLOCK,
};
use zerocopy::FromBytes;

/// What the blocks of one CPU hold.
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
    /// Blocks that are none: entries of another size, or bytes behind the last whole block.
    pub malformed: u64,
    /// Samples that found no room, by the trailers.
    pub overflow: u64,
}

/// Reads blocks that lie one behind the other.
pub fn read(cpu: u16, bytes: &[u8]) -> CpuSamples {
    let mut samples = CpuSamples {
        cpu,
        ..CpuSamples::default()
    };
    let (blocks, rest) = bytes.as_chunks::<SAMPLE_DATA_BLOCK>();
    samples.malformed += u64::from(!rest.is_empty());
    for block in blocks {
        let Ok(block) = SampleDataBlock::ref_from_bytes(block) else {
            continue;
        };
        let trailer = &block.trailer;
        // The facility stores the size of its entries with the F bit, when a block becomes full.
        let size = usize::from(trailer.bsdes.get());
        if size != size_of::<BasicEntry>() && (size != 0 || trailer.full()) {
            samples.malformed += 1;
            continue;
        }
        samples.blocks += 1;
        samples.overflow = samples
            .overflow
            .saturating_add(trailer.overflow_count.get());
        for entry in block
            .entries
            .iter()
            .take_while(|entry| entry.format() == BASIC_FORMAT)
        {
            if entry.invalid() {
                samples.invalid += 1;
            } else {
                samples.entries.push(*entry);
            }
        }
    }
    samples
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
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
    fn the_last_block_of_a_run_is_read_though_it_never_became_full() {
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
    fn a_block_whose_trailer_says_another_entry_size_is_passed_by() {
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
