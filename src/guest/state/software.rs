//! The software counters of the machine's own level: they count a program's monitor calls one level below it.
//!
//! While HIS counts, the machine enables monitor classes of its own besides those of the program. A monitor call of
//! such a class adds one to the counter with the number of its monitor code. The program does not notice: its own
//! monitor masks decide what the call does, and if they are zero it has no effect. Each CPU has its own counters,
//! which all classes share, as with the enhanced-monitor facility. A monitor code without a counter is counted as
//! dropped.

use core::sync::atomic::{AtomicU64, Ordering};

/// The software counters of a CPU.
#[derive(Clone, Copy, Debug)]
pub struct SoftwareCounters {
    /// The classes that are counted, as in bits 48-63 of control register 8; none unless HIS collects.
    pub classes: u16,
    /// Monitor calls whose code has no counter.
    pub dropped: u64,
    counters: &'static [AtomicU64],
}

impl SoftwareCounters {
    /// No counters.
    pub const NONE: Self = Self::new(&[]);

    /// These counters, not counting yet.
    #[must_use]
    pub const fn new(counters: &'static [AtomicU64]) -> Self {
        Self {
            classes: 0,
            dropped: 0,
            counters,
        }
    }

    /// A monitor call of a class that is counted.
    #[inline]
    pub fn count(&mut self, code: u64) {
        let counter = usize::try_from(code)
            .ok()
            .and_then(|n| self.counters.get(n));
        match counter {
            // No other CPU counts here.
            Some(counter) => counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed),
            None => self.dropped += 1,
        }
    }

    /// What a counter has counted; zero if there is none with this number.
    #[must_use]
    pub fn read(&self, number: u16) -> u64 {
        self.counters
            .get(usize::from(number))
            .map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// Sets all counters to zero.
    pub fn clear(&mut self) {
        self.dropped = 0;
        for counter in self.counters {
            counter.store(0, Ordering::Relaxed);
        }
    }
}
