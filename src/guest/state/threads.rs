//! The cores of a configuration, and the state of a CPU that is a thread of one.

use arch::cpu::MAXIMUM_CPUS;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The number of the first MT-diagnostic counter.
pub const FIRST_COUNTER: u64 = 448;

/// The cycles of a core with one thread active, and with two.
pub(crate) type CoreCycles = [AtomicU64; 2];

/// The cores of a configuration.
#[derive(Debug, Default)]
pub struct Threads {
    /// Threads of a core; zero counts as one.
    pub(crate) per_core: u16,
    pub(crate) enabled: AtomicBool,
    /// The program-specified maximum thread identification that was last accepted.
    pub(crate) specified: AtomicU8,
    /// The cycles of each core while multithreading was enabled: totals that only grow.
    pub(crate) cycles: [CoreCycles; MAXIMUM_CPUS],
    /// The same when multithreading was last enabled.
    pub(crate) before: [CoreCycles; MAXIMUM_CPUS],
}

impl Threads {
    /// Cores of so many threads, multithreading disabled.
    #[must_use]
    pub fn new(per_core: u16) -> Self {
        Self {
            per_core,
            ..Self::default()
        }
    }

    /// Whether the multithreading facility is installed.
    #[must_use]
    #[inline]
    pub const fn installed(&self) -> bool {
        self.per_core > 1
    }

    /// Whether multithreading is enabled.
    #[must_use]
    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    /// The maximum thread identification: one less than the threads of a core.
    #[must_use]
    pub const fn maximum(&self) -> u8 {
        self.per_core.saturating_sub(1) as u8
    }

    /// The maximum thread identification that the program last specified.
    #[must_use]
    pub fn specified(&self) -> u8 {
        self.specified.load(Ordering::Acquire)
    }

    /// For how many threads one CPU address stands at present.
    fn step(&self) -> u16 {
        if self.installed() && !self.enabled() {
            self.per_core.max(1)
        } else {
            1
        }
    }

    /// The number of cores that so many CPUs are.
    #[must_use]
    pub const fn cores(&self, cpus: u16) -> u16 {
        if self.installed() {
            cpus / self.per_core
        } else {
            cpus
        }
    }

    /// The address of CPU `number` at present, as the program sees it.
    #[must_use]
    pub fn address_of(&self, number: u16) -> u16 {
        number / self.step()
    }

    /// The number of the CPU that the program sees at `address` at present. It may exceed the highest
    /// number.
    #[must_use]
    pub fn number_of(&self, address: u16) -> Option<u16> {
        address.checked_mul(self.step())
    }

    /// Whether CPU `number` is the first thread of its core, or a core by itself.
    #[must_use]
    pub const fn is_first(&self, number: u16) -> bool {
        !self.installed() || number.is_multiple_of(self.per_core)
    }

    /// The core of CPU `number`, and which thread of it the CPU is.
    #[must_use]
    pub const fn thread_of(&self, number: u16) -> (u16, u8) {
        if self.installed() {
            (number / self.per_core, (number % self.per_core) as u8)
        } else {
            (number, 0)
        }
    }

    /// Enables multithreading: from now on a program counts the cycles of every core.
    pub fn enable(&self) {
        for (before, cycles) in self
            .before
            .iter()
            .flatten()
            .zip(self.cycles.iter().flatten())
        {
            before.store(cycles.load(Ordering::Acquire), Ordering::Relaxed);
        }
        self.specified.store(self.maximum(), Ordering::Release);
        self.enabled.store(true, Ordering::Release);
    }

    /// Disables multithreading, as a clear reset and a load do. The program-specified maximum is
    /// kept.
    pub fn disable(&self) {
        self.enabled.store(false, Ordering::Release);
    }

    pub(crate) fn core(&self, number: u16) -> usize {
        const { assert!(MAXIMUM_CPUS.is_power_of_two()) };
        let core = number / self.per_core.max(1);
        usize::from(core) & (MAXIMUM_CPUS - 1)
    }

    /// The cycles counted so far for the core of CPU `number`, with one thread active and with two.
    #[must_use]
    pub fn cycles(&self, number: u16) -> [u64; 2] {
        let cycles = &self.cycles[self.core(number)];
        cycles
            .each_ref()
            .map(|cycles| cycles.load(Ordering::Acquire))
    }
}

/// What a CPU knows of its core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread {
    /// Whether the CPU has noticed that multithreading is enabled.
    pub(crate) enabled: bool,
    /// Whether the other thread of the core has work during this turn.
    pub(crate) other_active: bool,
    /// The cycles of this CPU that are counted for the core.
    pub(crate) booked: u64,
    /// The cycles of the core that this CPU's counters include.
    pub(crate) seen: [u64; 2],
}
