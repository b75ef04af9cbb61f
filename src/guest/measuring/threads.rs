//! Multithreading: CPUs that are threads of a core.
//!
//! A configuration may have cores of two threads. Each thread is a CPU of its own in every respect but two:
//! its address, and what the MT-diagnostic counters count. Until the control program enables multithreading
//! (SIGNAL PROCESSOR, set multithreading), it sees only the first thread of each core, by the core's
//! address. Afterwards it sees all threads; their addresses are core address × threads + thread.
//!
//! Elsewhere a CPU is known by its *number*, which never changes: that of a core's first thread is core ×
//! threads. Only addresses that a program sees are translated.
//!
//! # What is counted
//!
//! A core here runs its threads in turn, one instruction a cycle. A cycle counts as one *with two threads
//! active* if the other thread has work meanwhile, that is, if it is operating and does not wait; otherwise
//! as one *with one thread active*. So the two counters of a core add up to the cycles of its threads. A
//! thread adds its cycles whenever it gives up its turn or inspects the counters.

use crate::state::configuration::Configuration;
use crate::state::threads::Thread;
use crate::state::vcpu::Vcpu;
use core::sync::atomic::Ordering;

/// Notices that multithreading was enabled or disabled: the MT-diagnostic counter set becomes active or
/// disabled. Every CPU does this for itself before it executes another instruction.
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
        // If the program loses its counters, the level below keeps its own.
        if enabled {
            cpu.machine.multithreading(true, &activity);
        }
    }
}

/// Adds this CPU's cycles since the last time to its core, and brings its MT-diagnostic counters up to date.
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

/// A turn of this CPU begins; `other_active` tells whether the other thread of its core has work during it.
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
