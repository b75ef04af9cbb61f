//! The way out: what is done before the guest goes on.

use crate::arch::psw::{self, Psw};
use crate::guest::dispatch::{LIVE, Next};
use crate::guest::hardware::Hardware;
use crate::guest::measuring::schedule;
use crate::guest::recording::per;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::due::Due;
use crate::guest::state::vcpu::{CpuState, Vcpu};
use crate::guest::storage::shadow;
use crate::guest::{delivery, millicode};

/// PSW bits of the guest that the hardware runs with.
const MIRRORED: u64 = LIVE | psw::IO | psw::MACHINE_CHECK;

/// What is more to do than to set the clock comparator.
const SETTLED: Due = Due::ATTENTION
    .with(Due::CONTROLS)
    .with(Due::OPENED)
    .with(Due::PER);

/// PSW bits that the hardware always runs a guest with: its own clock must reach a guest that runs
/// disabled, or no sample would ever fall into disabled code. Its address-space control is what
/// [`shadow::load_controls`] says.
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

/// What is done before the firmware is left: orders, pending interruptions, controls, the clock.
#[inline(always)]
pub fn leave<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    if !shadow::stale(cpu, configuration) {
        if !cpu.due.any(SETTLED) {
            if cpu.due.is_empty() {
                return Next::Run;
            }
            schedule::arm(cpu, configuration, hardware);
            // The clock may have passed the guest's comparator meanwhile.
            if cpu.due.is_empty() {
                return Next::Run;
            }
        } else if cpu.due == Due::OPENED && !delivery::any_pending(cpu, configuration) {
            // Nothing waits behind the masks that were opened.
            cpu.due.clear(Due::OPENED);
            return Next::Run;
        }
    }
    settle(cpu, configuration, hardware)
}

/// Does what is due before the firmware is left.
#[inline(never)]
fn settle<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    loop {
        let mut next = Next::Run;
        if cpu.due.any(Due::PER) {
            per::deliver(cpu, configuration, hardware);
        }
        if cpu.due.any(Due::OPENED) {
            cpu.due.clear(Due::OPENED);
            if delivery::any_pending(cpu, configuration) {
                cpu.due |= Due::ATTENTION;
            }
        }
        if cpu.due.any(Due::ATTENTION) {
            next = attend(cpu, configuration, hardware);
        }
        let controls = cpu.due.any(Due::CONTROLS);
        if controls {
            cpu.change_translations();
            per::renew(cpu, configuration, hardware);
        }
        if controls || shadow::stale(cpu, configuration) {
            shadow::load_controls(cpu, configuration, hardware);
        }
        if cpu.due.any(Due::PER) {
            if cpu.per.held.is_some() {
                return Next::Held;
            }
            let again = match next {
                Next::Run => per::arm(cpu, configuration, hardware),
                _ => per::rest(cpu),
            };
            if again {
                continue;
            }
        }
        if next == Next::Run && cpu.due.any(Due::CLOCK | Due::SAMPLING) {
            schedule::arm(cpu, configuration, hardware);
            if cpu.due.any(Due::ATTENTION) {
                // The clock has passed the guest's comparator meanwhile.
                continue;
            }
        }
        return next;
    }
}

/// Carries out orders and delivers what is pending and open.
#[cold]
fn attend<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    cpu.due.clear(Due::ATTENTION);
    millicode::take_orders(cpu, configuration, hardware);
    match cpu.state {
        CpuState::Stopped => return Next::Stopped,
        CpuState::CheckStop => return Next::Ended,
        CpuState::Operating => delivery::refresh(cpu, hardware),
    }
    // One after the other, each as the new PSW of the last one allows.
    while delivery::deliver_pending(cpu, configuration, hardware) {}
    match cpu.state {
        CpuState::Stopped => return Next::Stopped,
        CpuState::CheckStop => return Next::Ended,
        CpuState::Operating => {}
    }
    if !cpu.psw.wait() {
        cpu.due.clear(Due::ATTENTION | Due::OPENED);
        return Next::Run;
    }
    let open = psw::EXTERNAL | psw::IO | psw::MACHINE_CHECK;
    if cpu.psw.mask & open == 0 {
        Next::Ended
    } else {
        Next::Wait
    }
}
