//! How far each CPU has come in the requests, where CPUs execute at the same time.
//!
//! A CPU has *passed* a request when neither its shadow nor its TLB has anything left of what the request drops, and
//! when it has ended the instruction that it was performing. A CPU that is not in the guest, and uses nothing that it
//! found in the guest's tables, is *aside*: it passes the requests before it continues.

use arch::cpu::MAXIMUM_CPUS;
use core::sync::atomic::{AtomicU64, Ordering, fence};

/// In place of a number: the CPU is aside.
const ASIDE: u64 = u64::MAX;

/// What the CPUs tell each other about it.
#[derive(Debug)]
pub(crate) struct Passed {
    /// The number of the first request that each CPU may not have passed.
    passed: [AtomicU64; MAXIMUM_CPUS],
    /// The number up to which a CPU waits for the others before its guest continues; only this CPU uses it.
    awaited: [AtomicU64; MAXIMUM_CPUS],
}

impl Passed {
    /// Every CPU is aside.
    pub(crate) const fn new() -> Self {
        Self {
            passed: [const { AtomicU64::new(ASIDE) }; MAXIMUM_CPUS],
            awaited: [const { AtomicU64::new(0) }; MAXIMUM_CPUS],
        }
    }

    /// CPU `cpu` has passed all requests before this one. What it loads from now on is what it was after these.
    pub(crate) fn passes(&self, cpu: u16, before: u64) {
        self.put(cpu, before);
    }

    /// CPU `cpu` steps aside. Returns what [`Self::comes_back`] needs.
    pub(crate) fn steps_aside(&self, cpu: u16) -> u64 {
        self.passed[index(cpu)].swap(ASIDE, Ordering::SeqCst)
    }

    /// CPU `cpu` is as it was when it stepped aside.
    pub(crate) fn comes_back(&self, cpu: u16, then: u64) {
        self.put(cpu, then);
    }

    /// Others are to see the word before this CPU looks at anything that they change.
    fn put(&self, cpu: u16, value: u64) {
        self.passed[index(cpu)].store(value, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether CPU `cpu` has passed all requests before this one, or is aside.
    pub(crate) fn has_passed(&self, cpu: u16, before: u64) -> bool {
        self.passed[index(cpu)].load(Ordering::SeqCst) >= before
    }

    /// The guest of CPU `cpu` must not continue before all CPUs have passed the requests before this one.
    pub(crate) fn await_others(&self, cpu: u16, before: u64) {
        self.awaited[index(cpu)].store(before, Ordering::Relaxed);
    }

    /// The number that was last given to [`Self::await_others`], if it has not been taken yet.
    pub(crate) fn take_awaited(&self, cpu: u16) -> Option<u64> {
        let before = self.awaited[index(cpu)].swap(0, Ordering::Relaxed);
        (before != 0).then_some(before)
    }
}

/// The place of a CPU.
const fn index(cpu: u16) -> usize {
    cpu as usize & (MAXIMUM_CPUS - 1)
}
