//! Channel monitoring: whether the starts of channel programs are counted, and where.

use core::sync::atomic::{AtomicU64, Ordering};

/// Beside an origin, which is on a 32-byte boundary: measurement blocks are updated.
const ACTIVE: u64 = 1;

/// What SET CHANNEL MONITOR has set.
#[derive(Debug, Default)]
pub struct ChannelMonitor(AtomicU64);

impl ChannelMonitor {
    /// Measurement blocks are updated from now on, those of format 0 from this absolute address on; or not any more.
    pub fn set(&self, origin: Option<u64>) {
        let word = origin.map_or(0, |origin| origin | ACTIVE);
        self.0.store(word, Ordering::Relaxed);
    }

    /// The measurement-block origin, if measurement blocks are updated.
    #[must_use]
    #[inline]
    pub fn origin(&self) -> Option<u64> {
        let word = self.0.load(Ordering::Relaxed);
        (word & ACTIVE != 0).then_some(word & !ACTIVE)
    }
}
