//! Multithreading: CPUs that are threads of a core.
//!
//! A configuration may have cores of two threads. Each thread is a CPU of its own in every respect
//! but two: its address, and what the MT-diagnostic counters count. Until the control program enables
//! multithreading (SIGNAL PROCESSOR, set multithreading) it sees the first thread of each core only, by
//! the core's address; afterwards it sees them all, by core address × threads + thread.
//!
//! Everywhere else in this room a CPU is known by its *number*, which never changes: that of its first
//! thread is core × threads. Only what a program sees is translated.
//!
//! # What is counted
//!
//! A core here performs its threads in turn, one instruction a cycle. A cycle is one *with two threads
//! active* when the other thread has work meanwhile, that is when it is operating and does not wait;
//! else it is one *with one thread active*. So the two counters of a core add up to the cycles of
//! its threads. A thread books what it did whenever it gives its turn up or looks.

use crate::guest::configuration::{Configuration, MAXIMUM_CPUS};
use crate::guest::vcpu::Vcpu;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The number of the first MT-diagnostic counter.
pub const FIRST_COUNTER: u64 = 448;

/// The cycles of a core with one thread active, and with two.
type CoreCycles = [AtomicU64; 2];

/// The cores of a configuration.
#[derive(Debug, Default)]
pub struct Threads {
    /// Threads of a core; zero counts as one.
    per_core: u16,
    enabled: AtomicBool,
    /// The program-specified maximum thread identification that was last accepted.
    specified: AtomicU8,
    /// The cycles of each core while multithreading was enabled: totals that only grow.
    cycles: [CoreCycles; MAXIMUM_CPUS],
    /// The same when multithreading was last enabled.
    before: [CoreCycles; MAXIMUM_CPUS],
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

    /// How many threads a CPU address stands for at present.
    fn step(&self) -> u16 {
        if self.installed() && !self.enabled() {
            self.per_core
        } else {
            1
        }
    }

    /// How many cores so many CPUs are.
    #[must_use]
    pub const fn cores(&self, cpus: u16) -> u16 {
        if self.installed() {
            cpus / self.per_core
        } else {
            cpus
        }
    }

    /// The address by which the program knows CPU `number` at present.
    #[must_use]
    pub fn address_of(&self, number: u16) -> u16 {
        number / self.step()
    }

    /// The CPU that the program knows by `address` at present; there may be none with this number.
    #[must_use]
    pub fn number_of(&self, address: u16) -> Option<u16> {
        address.checked_mul(self.step())
    }

    /// Whether CPU `number` is the first thread of its core, which it has to itself.
    #[must_use]
    pub const fn is_first(&self, number: u16) -> bool {
        !self.installed() || number.is_multiple_of(self.per_core)
    }

    /// Enables multithreading: a program counts the cycles of every core from now on.
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

    /// Disables multithreading, as a clear reset and a load do. What the program last specified stays
    /// known.
    pub fn disable(&self) {
        self.enabled.store(false, Ordering::Release);
    }

    fn core(&self, number: u16) -> usize {
        const { assert!(MAXIMUM_CPUS.is_power_of_two()) };
        let core = number / self.per_core.max(1);
        usize::from(core) & (MAXIMUM_CPUS - 1)
    }

    /// The cycles of the core of CPU `number` that are booked, with one thread active and with two.
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
    /// Whether the CPU has taken note that multithreading is enabled.
    enabled: bool,
    /// Whether the other thread of the core has work during this turn.
    other_active: bool,
    /// The cycles of this CPU that are booked.
    booked: u64,
    /// The cycles of the core that this CPU's counters have.
    seen: [u64; 2],
}

/// Takes note that multithreading was enabled or disabled: the MT-diagnostic counter set becomes
/// active or disabled. Every CPU does this for itself, before it executes another instruction.
pub fn take_note(cpu: &mut Vcpu, configuration: &Configuration) {
    let enabled = configuration.threads.enabled();
    if enabled != cpu.thread.enabled {
        settle(cpu, configuration);
        let threads = &configuration.threads;
        cpu.known_as = threads.address_of(cpu.address);
        let before = &threads.before[threads.core(cpu.address)];
        cpu.thread = Thread {
            enabled,
            booked: cpu.account.total(),
            seen: before
                .each_ref()
                .map(|cycles| cycles.load(Ordering::Acquire)),
            ..Thread::default()
        };
        let activity = cpu.account.activity();
        cpu.own.multithreading(enabled, &activity);
        // A program that loses its counters does not take those of the level below with it.
        if enabled {
            cpu.machine.multithreading(true, &activity);
        }
    }
}

/// Books what this CPU did since it last booked, and brings its MT-diagnostic counters up to date.
pub fn settle(cpu: &mut Vcpu, configuration: &Configuration) {
    if !cpu.thread.enabled {
        return;
    }
    let core = &configuration.threads.cycles[configuration.threads.core(cpu.address)];
    let total = cpu.account.total();
    let since = total.wrapping_sub(cpu.thread.booked);
    cpu.thread.booked = total;
    core[usize::from(cpu.thread.other_active)].fetch_add(since, Ordering::AcqRel);
    for (threads, (cycles, seen)) in (1..).zip(core.iter().zip(&mut cpu.thread.seen)) {
        let cycles = cycles.load(Ordering::Acquire);
        cpu.own
            .count_thread_cycles(threads, cycles.wrapping_sub(*seen));
        *seen = cycles;
    }
}

/// A turn of this CPU begins; the other thread of its core has work during it, or has none.
pub fn begin_turn(cpu: &mut Vcpu, configuration: &Configuration, other_active: bool) {
    settle(cpu, configuration);
    cpu.thread.other_active = other_active;
}

/// The other thread of the core of CPU `number`, if there is one.
#[must_use]
pub const fn sibling(configuration: &Configuration, number: u16) -> Option<u16> {
    if configuration.threads.installed() {
        Some(number ^ 1)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
