//! The guest's clock, if it stands still while the machine works, from turn to turn.
//!
//! The CPUs have one clock, so what it shows the guest is handed over with the turn. The CPU that gets the turn then sets
//! the clock back on its way out, also by what the CPU that passed the turn has taken.
//!
//! A wait that the clock ends, ends for the guest when its clock shows that time, as it would without a machine below.

use crate::arch::interruption::external;
use crate::guest::measuring::still_rest::{self, Rest};
use crate::machine::hardware::instruction;
use crate::machine::hardware::wait::{Taken, Waited};
use crate::machine::state::machine::Cpu;
use core::sync::atomic::Ordering;

/// The guest's clock, as far as the trap is complete.
#[inline(always)]
pub fn now(cpu: &Cpu) -> u64 {
    if cpu.native.still.clock == 0 {
        instruction::stckf()
    } else {
        standing(cpu)
    }
}

#[cold]
#[inline(never)]
fn standing(cpu: &Cpu) -> u64 {
    let still = &cpu.native.still;
    match still.total {
        Some(total) => {
            let account = &cpu.vcpu.account;
            let executed = account.total().wrapping_sub(total);
            let ticks = executed + cpu.machine.configuration.charges.exit;
            account.left.wrapping_add(account.units(ticks))
        }
        None => still.clock,
    }
}

/// This CPU is about to pass the turn.
#[inline(always)]
pub fn hand_over(cpu: &Cpu) {
    let stands = cpu.native.still.clock != 0;
    let clock = if stands { standing(cpu) } else { 0 };
    let handed = &cpu.machine.shared.still_clock;
    handed.store(clock, Ordering::Relaxed);
}

/// The CPU begins to rest. Returns what the guest's clock shows.
#[inline(always)]
pub fn stop(cpu: &mut Cpu) -> u64 {
    let real = instruction::stckf();
    if cpu.native.still.clock == 0 {
        real
    } else {
        stop_standing(cpu, real)
    }
}

#[cold]
#[inline(never)]
fn stop_standing(cpu: &mut Cpu, real: u64) -> u64 {
    let clock = standing(cpu);
    let still = cpu.native.still;
    let account = &mut cpu.vcpu.account;
    let from = if still.total.is_some() {
        clock
    } else {
        still.own
    };
    account.hidden += account.ticks(from, real);
    cpu.native.rested(clock, real);
    clock
}

/// How a rest ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// With what this CPU, which has the turn, waited for.
    WithTurn,
    /// With the turn of another CPU.
    ByTurn,
}

/// The rest has ended. Returns when it began and ended by the guest's clock, which has been set `forward` meanwhile.
#[inline(always)]
pub fn go_on(cpu: &mut Cpu, waited: &Waited, ends: Ends, forward: u64) -> (u64, u64) {
    let handed = match ends {
        Ends::WithTurn => 0,
        Ends::ByTurn => cpu.machine.shared.still_clock.load(Ordering::Relaxed),
    };
    if cpu.native.still.clock == 0 && handed == 0 {
        (waited.from.wrapping_add(forward), waited.to)
    } else {
        go_on_standing(cpu, waited, ends, handed)
    }
}

#[cold]
#[inline(never)]
fn go_on_standing(cpu: &mut Cpu, waited: &Waited, ends: Ends, handed: u64) -> (u64, u64) {
    let comparator = matches!(waited.taken, Taken::External(external::CLOCK_COMPARATOR));
    let rest = Rest {
        from: waited.from,
        to: waited.to,
        comparator: comparator.then(instruction::stckc),
    };
    let handed = matches!(ends, Ends::ByTurn).then_some(handed);
    let (began, clock) = still_rest::span(cpu.native.still.clock, &rest, handed);
    cpu.native.rested(clock, waited.to);
    (began, clock)
}
