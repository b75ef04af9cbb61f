//! Multithreading: CPUs that are threads of a core.
//!
//! A configuration may have cores of two threads. Each thread is a CPU of its own in every respect
//! but two: its address, and what the MT-diagnostic counters count. Until the control program enables
//! multithreading (SIGNAL PROCESSOR, set multithreading) it sees the first thread of each core only, by
//! the core's address; afterwards it sees them all, by core address × threads + thread.
//!
//! Everywhere else in the virtual CPU a CPU is known by its *number*, which never changes: that of its first
//! thread is core × threads. Only what a program sees is translated.
//!
//! # What is counted
//!
//! A core here performs its threads in turn, one instruction a cycle. A cycle is one *with two threads
//! active* when the other thread has work meanwhile, that is when it is operating and does not wait;
//! else it is one *with one thread active*. So the two counters of a core add up to the cycles of
//! its threads. A thread books what it did whenever it gives its turn up or looks.

use crate::guest::state::configuration::Configuration;
use crate::guest::state::threads::Thread;
use crate::guest::state::vcpu::Vcpu;
use core::sync::atomic::Ordering;

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
