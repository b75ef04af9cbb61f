//! The way out: what is done before the guest continues.

use crate::dispatch::Next;
use crate::hardware::Hardware;
use crate::measuring::schedule;
use crate::recording::per;
use crate::state::configuration::Configuration;
use crate::state::looping::AT_ONCE;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::LIVE;
use crate::state::vcpu::{CpuState, Vcpu};
use crate::storage::shadow;
use crate::{delivery, millicode};
use arch::interruption::Class;
use arch::psw::{self, Psw};

/// The bits of the guest's PSW that the hardware runs with.
const MIRRORED: u64 = LIVE | psw::MACHINE_CHECK;

/// The work that is more than setting the clock comparator.
const SETTLED: PendingWork = PendingWork::ATTENTION
    .with(PendingWork::CONTROLS)
    .with(PendingWork::SPACE)
    .with(PendingWork::OPENED)
    .with(PendingWork::PER)
    .with(PendingWork::PASSED)
    .with(PendingWork::HELD);

/// What every supervisor call and every return to a program leaves to do.
const LIGHT: PendingWork = PendingWork::OPENED.with(PendingWork::SPACE);

/// PSW bits that the hardware always runs a guest with. The machine's own clock must interrupt even
/// a guest that runs disabled, or no sample would ever fall into disabled code.
/// [`shadow::load_controls`] determines the address-space control.
const MACHINE: u64 = psw::DAT | psw::EXTERNAL | psw::PROBLEM;

/// The real PSW that the guest runs under.
#[must_use]
#[inline]
pub fn real_psw(cpu: &Vcpu) -> Psw {
    Psw {
        mask: (cpu.psw.mask & MIRRORED) | MACHINE | cpu.real_space,
        address: cpu.psw.address,
    }
}

/// Does what must be done before the firmware leaves to the guest: orders, pending interruptions,
/// controls, the clock.
#[inline(always)]
pub fn leave<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    if !shadow::stale(cpu, configuration) {
        if cpu.pending_work.is_empty() {
            return Next::Run;
        }
        // Control programs open their interruptions all the time, and nearly always none is pending.
        if cpu.pending_work == PendingWork::OPENED && !delivery::any_pending(cpu, configuration) {
            cpu.pending_work = PendingWork::NOTHING;
            return Next::Run;
        }
        if !cpu.pending_work.any(SETTLED) {
            schedule::arm(cpu, configuration, hardware);
            // The clock may have passed the guest's comparator meanwhile.
            if cpu.pending_work.is_empty() {
                return Next::Run;
            }
        } else if cpu.pending_work.is_only(LIGHT)
            && (!cpu.pending_work.any(PendingWork::SPACE) || shadow::switch(cpu))
            && (!cpu.pending_work.any(PendingWork::OPENED)
                || !delivery::any_pending(cpu, configuration))
        {
            // The tables are loaded, and no interruption is pending for the masks that were opened.
            cpu.pending_work.clear(LIGHT);
            return Next::Run;
        }
    }
    settle(cpu, configuration, hardware)
}

/// Does the pending work before the firmware leaves to the guest.
#[inline(never)]
fn settle<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    if per::goes_on(cpu, hardware) && !shadow::stale(cpu, configuration) {
        return Next::Run;
    }
    if !shadow::stale(cpu, configuration) && per::slots::goes_on(cpu, configuration, hardware) {
        return Next::Run;
    }
    settle_all(cpu, configuration, hardware)
}

#[inline(never)]
fn settle_all<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    let mut events = 0;
    loop {
        let mut next = Next::Run;
        if cpu.pending_work.any(PendingWork::PER) {
            per::slots::forget(cpu);
            per::deliver(cpu, configuration, hardware);
        }
        if cpu.pending_work.any(PendingWork::OPENED) {
            cpu.pending_work.clear(PendingWork::OPENED);
            if delivery::any_pending(cpu, configuration) {
                cpu.pending_work |= PendingWork::ATTENTION;
            }
        }
        if cpu.pending_work.any(PendingWork::ATTENTION) {
            next = attend(cpu, configuration, hardware);
        }
        let controls = cpu
            .pending_work
            .any(PendingWork::CONTROLS.with(PendingWork::SPACE));
        if controls {
            cpu.change_translations();
            per::renew(cpu, configuration, hardware);
        }
        if controls || shadow::stale(cpu, configuration) {
            shadow::load_controls(cpu, configuration, hardware);
        }
        if cpu.pending_work.any(PendingWork::PASSED) {
            shadow::settle(cpu, configuration, hardware);
            if next == Next::Run && shadow::stale(cpu, configuration) {
                // Others have posted requests meanwhile.
                continue;
            }
        }
        if cpu.pending_work.any(PendingWork::HELD) {
            return Next::Held;
        }
        if cpu.pending_work.any(PendingWork::PER) {
            let again = match next {
                Next::Run => per::arm(cpu, configuration, hardware),
                _ => per::rest(cpu),
            };
            if again {
                // A nullifying event may interrupt the handler of the one before.
                events += 1;
                if events < AT_ONCE || next != Next::Run {
                    continue;
                }
                let total = cpu.account.total();
                cpu.looping.add(total, events, Class::Program);
                cpu.looping.pauses = false;
                next = Next::Pause;
            }
        }
        if next == Next::Run {
            shadow::alone::enter(cpu, configuration, hardware);
        }
        // The last step: what comes behind it would be taken from the time of the guest.
        if next == Next::Run
            && cpu
                .pending_work
                .any(PendingWork::CLOCK | PendingWork::SAMPLING)
        {
            schedule::arm(cpu, configuration, hardware);
            if cpu.pending_work.any(PendingWork::ATTENTION) {
                // The clock has passed the guest's comparator meanwhile.
                continue;
            }
        }
        if next == Next::Run {
            per::slots::go(cpu);
        }
        return next;
    }
}

/// Carries out orders, delivers what is pending and enabled, and tells the other CPUs what this one does then.
#[cold]
fn attend<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    cpu.pending_work.clear(PendingWork::ATTENTION);
    millicode::take_orders(cpu, configuration, hardware);
    millicode::watch(cpu, configuration, hardware);
    let next = deliver(cpu, configuration, hardware);
    let runs = !matches!(next, Next::Wait | Next::Stopped | Next::Ended);
    millicode::publish(cpu, configuration, hardware, runs);
    next
}

/// Delivers what is pending and enabled.
fn deliver<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    match cpu.state {
        CpuState::Stopped => return Next::Stopped,
        CpuState::CheckStop => return Next::Ended,
        CpuState::Operating => delivery::refresh(cpu, hardware),
    }
    // One after the other, each under the new PSW of the one before. A new PSW may be open to the next one for ever.
    let mut delivered = 0;
    while delivered < AT_ONCE && delivery::deliver_pending(cpu, configuration, hardware) {
        delivered += 1;
    }
    if delivered == AT_ONCE {
        let total = cpu.account.total();
        cpu.looping.add(total, delivered, Class::External);
        if cpu.looping.is_endless() {
            delivery::check_stop(cpu);
        }
    }
    match cpu.state {
        CpuState::Stopped => return Next::Stopped,
        CpuState::CheckStop => return Next::Ended,
        CpuState::Operating => {}
    }
    if core::mem::take(&mut cpu.looping.pauses) {
        cpu.pending_work |= PendingWork::ATTENTION;
        return Next::Pause;
    }
    if !cpu.psw.wait() {
        cpu.pending_work
            .clear(PendingWork::ATTENTION | PendingWork::OPENED);
        return Next::Run;
    }
    let open = psw::EXTERNAL | psw::IO | psw::MACHINE_CHECK;
    if cpu.psw.mask & open == 0 {
        Next::Ended
    } else {
        Next::Wait
    }
}
