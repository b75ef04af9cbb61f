//! Channel monitoring: the measurement blocks of subchannels.
//!
//! The machine below never gets SET CHANNEL MONITOR. It would count in storage at any address that a program names. It
//! keeps what a program sets in a subchannel, and the machine counts, in the guest's storage only. As on QEMU a block has
//! the count of starts and resumptions. Its times stay unchanged, because no channel here takes any.

use crate::hardware::{ChannelBlock, Hardware};
use crate::state::configuration::Configuration;
use crate::storage;
use arch::address::Absolute;
use arch::channel::{PMCW_BLOCK_FORMAT_1, PMCW_BLOCK_UPDATE};

/// Bytes of a measurement block of format 0.
const BLOCK: u64 = 32;

/// A channel program has been started or resumed. The subchannel had this information: counts it in its measurement
/// block. If storage is not available there, nothing is stored.
#[inline]
pub fn count<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    information: &ChannelBlock,
) {
    if let Some(origin) = configuration.channels.monitor.origin()
        && information.0[1] & PMCW_BLOCK_UPDATE != 0
    {
        count_from(configuration, hardware, information, origin);
    }
}

#[cold]
fn count_from<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    information: &ChannelBlock,
    origin: u64,
) {
    let words = &information.0;
    if words[6] & PMCW_BLOCK_FORMAT_1 != 0 {
        let at = Absolute(u64::from(words[10]) << 32 | u64::from(words[11]));
        add_one(configuration, hardware, at, &mut [0; 4]);
    } else {
        let index = u64::from(words[3] >> 16);
        // A sum beyond the last address is not available, either.
        let at = Absolute(origin.saturating_add(index * BLOCK));
        add_one(configuration, hardware, at, &mut [0; 2]);
    }
}

/// Adds one to a count in storage that is as long as `count`.
fn add_one<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    count: &mut [u8],
) {
    if storage::fetch_absolute(configuration, hardware, at, count).is_err() {
        return;
    }
    for byte in count.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    let _ = storage::put_absolute(configuration, hardware, at, count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine::Bench;

    /// A subchannel with these measurement controls: word 1, index, word 6, address.
    fn information(word: u32, index: u32, characteristics: u32, address: u64) -> ChannelBlock {
        let mut block = ChannelBlock::ZEROS;
        (block.0[1], block.0[3], block.0[6]) = (word, index << 16, characteristics);
        (block.0[10], block.0[11]) = ((address >> 32) as u32, address as u32);
        block
    }

    fn counts(bench: &mut Bench, information: &ChannelBlock) {
        count(&bench.configuration, &mut bench.hardware, information);
    }

    #[test]
    fn a_start_is_counted_in_the_block_of_the_subchannels_format() {
        let mut bench = Bench::new();
        bench.configuration.channels.monitor.set(Some(0x4000));
        bench.set(0x4060, &[0xFF, 0xFF, 7, 7]);
        bench.set(0x5004, &[0, 0, 0xFF, 0xFF]);
        for _ in 0..2 {
            counts(&mut bench, &information(PMCW_BLOCK_UPDATE, 3, 0, 0x5004));
            let format_1 = information(PMCW_BLOCK_UPDATE, 3, PMCW_BLOCK_FORMAT_1, 0x5004);
            counts(&mut bench, &format_1);
        }
        assert_eq!(bench.word(0x4060), 0x0001_0707, "a halfword");
        assert_eq!(bench.word(0x5004), 0x0001_0001, "a word");
    }

    #[test]
    fn nothing_is_counted_unless_both_the_monitor_and_the_subchannel_are_on() {
        let mut bench = Bench::new();
        counts(&mut bench, &information(PMCW_BLOCK_UPDATE, 0, 0, 0));
        bench.configuration.channels.monitor.set(Some(0));
        counts(&mut bench, &information(0x08 << 16, 0, 0, 0));
        bench.configuration.channels.monitor.set(None);
        counts(&mut bench, &information(PMCW_BLOCK_UPDATE, 0, 0, 0));
        assert!(bench.hardware.storage.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_block_that_does_not_lie_in_storage_is_not_updated() {
        let mut bench = Bench::new();
        let end = bench.configuration.storage.end();
        let hsa = bench.hardware.hsa.clone();
        for origin in [end - 0x20, end, !0x1F] {
            bench.configuration.channels.monitor.set(Some(origin));
            counts(&mut bench, &information(PMCW_BLOCK_UPDATE, 1, 0, 0));
        }
        for address in [end - 3, end, u64::MAX - 1] {
            let beyond = information(PMCW_BLOCK_UPDATE, 0, PMCW_BLOCK_FORMAT_1, address);
            counts(&mut bench, &beyond);
        }
        assert!(bench.hardware.storage.iter().all(|&byte| byte == 0));
        assert!(bench.hardware.hsa == hsa);
    }
}
