//! Pending interruptions and their order: external interruptions, and held I/O and machine-check interruptions.

use super::{interrupt, io, machine_check, prefix_area, refuse, refused};
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::mailbox::Mailbox;
use crate::state::vcpu::{CpuState, Vcpu};
use arch::control::{
    CR0_CLOCK_COMPARATOR, CR0_CPU_TIMER, CR0_EMERGENCY_SIGNAL, CR0_EXTERNAL_CALL,
    CR0_INTERRUPT_KEY, CR0_MEASUREMENT_ALERT, CR0_SERVICE_SIGNAL, CR14_CHANNEL_REPORT,
};
use arch::cpu::MAXIMUM_CPUS;
use arch::interruption::{Class, external as code};
use arch::lowcore;
use arch::psw::{EXTERNAL, IO, MACHINE_CHECK};
use core::sync::atomic::Ordering;

/// An external interruption, whatever the masks.
///
/// `cpu_address` is the address of the signalling CPU as the program sees it, and zero for a code without one.
/// `parameter` is stored at real 80 for a code that has one (bit 5 of the code); otherwise that location stays
/// unchanged.
#[inline]
pub fn external<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    code: u16,
    cpu_address: u16,
    parameter: Option<u32>,
) {
    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    if let Some(parameter) = parameter {
        hardware.store_u32(area.at(lowcore::EXTERNAL_PARAMETER), parameter);
    }
    hardware.store_u32(
        area.at(lowcore::EXTERNAL_CPU_ADDRESS),
        u32::from(cpu_address) << 16 | u32::from(code),
    );
    interrupt(cpu, configuration, hardware, area, Class::External);
}

/// The mailbox of a CPU.
#[inline]
fn mailbox<'a>(cpu: &Vcpu, configuration: &'a Configuration) -> &'a Mailbox {
    const { assert!(MAXIMUM_CPUS.is_power_of_two()) };
    &configuration.mailboxes[cpu.address as usize & (MAXIMUM_CPUS - 1)]
}

/// Computes again the two external conditions that are levels: the TOD clock is past the clock comparator, and the CPU
/// timer is negative.
#[inline]
pub fn refresh<H: Hardware>(cpu: &mut Vcpu, hardware: &H) {
    cpu.pending.clock_comparator = hardware.guest_clock() > cpu.clock_comparator;
    cpu.pending.cpu_timer = hardware.cpu_timer() >> 63 != 0;
}

/// Whether anything is pending, enabled or not, as far as the firmware knows without asking the hardware. Both timers
/// interrupt the firmware whatever the guest's masks are. So it knows their state, except of a timer that a reset made
/// pending again; the CPU tests that when it has work.
#[must_use]
#[inline]
pub fn any_pending(cpu: &Vcpu, configuration: &Configuration) -> bool {
    let mailbox = mailbox(cpu, configuration);
    // Nearly always nothing is, so all of it is looked at before anything is decided.
    let signals = mailbox.emergency.load(Ordering::Acquire)
        | mailbox.external_call.load(Ordering::Acquire)
        | configuration.service_signal.load(Ordering::Acquire)
        | cpu.own.alerts().parameter()
        | cpu.pending.word();
    u64::from(signals) | configuration.channels.held.count() != 0
}

/// Whether an external interruption is pending and enabled, as far as the firmware knows without asking the hardware
/// ([`refresh`] brings the two timers up to date).
#[must_use]
#[inline]
pub fn any_open(cpu: &Vcpu, configuration: &Configuration) -> bool {
    if cpu.psw.mask & EXTERNAL == 0 || cpu.state != CpuState::Operating {
        return false;
    }
    let open = |subclass: u64| cpu.control[0] & subclass != 0;
    let mailbox = mailbox(cpu, configuration);
    open(CR0_INTERRUPT_KEY) && cpu.pending.interrupt_key
        || open(CR0_CLOCK_COMPARATOR) && cpu.pending.clock_comparator
        || open(CR0_CPU_TIMER) && cpu.pending.cpu_timer
        || open(CR0_EMERGENCY_SIGNAL) && mailbox.emergency.load(Ordering::Acquire) != 0
        || open(CR0_EXTERNAL_CALL) && mailbox.external_call.load(Ordering::Acquire) != 0
        || open(CR0_SERVICE_SIGNAL) && configuration.service_signal.load(Ordering::Acquire) != 0
        || open(CR0_MEASUREMENT_ALERT) && cpu.own.alerts().any()
}

/// Delivers at most one pending and enabled interruption; returns whether there was one.
///
/// The order is: the early specification exception of a refused PSW; a machine check that the firmware holds; interrupt
/// key, emergency signal (the lowest signalling CPU address first, one interruption each), external call, clock
/// comparator, CPU timer, service signal, measurement alert; an I/O interruption that the firmware holds. A malfunction
/// alert has no source in this machine, and SA23-2260 leaves the order of service signal and measurement alert open.
/// Each is then no longer pending, except the timers, which stay pending as long as the clock is past the comparator or
/// the timer is negative.
#[inline]
pub fn deliver_pending<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    if cpu.state != CpuState::Operating {
        return false;
    }
    if refused(&cpu.psw) {
        refuse(cpu, configuration, hardware);
        return true;
    }
    let holds = configuration.channels.held.any();
    if holds && deliver_machine_check(cpu, configuration, hardware) {
        return true;
    }
    if deliver_external(cpu, configuration, hardware) {
        return true;
    }
    if holds && cpu.psw.mask & IO != 0 {
        let masks = (cpu.control[6] >> 24) as u8;
        if let Some(held) = configuration.channels.held.take_io(masks) {
            io(cpu, configuration, hardware, held);
            return true;
        }
    }
    false
}

/// Delivers a machine check that the firmware holds, if it is enabled.
#[cold]
fn deliver_machine_check<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    if cpu.psw.mask & MACHINE_CHECK == 0 || cpu.control[14] & CR14_CHANNEL_REPORT == 0 {
        return false;
    }
    let Some(code) = configuration.channels.held.take_machine_check() else {
        return false;
    };
    let saved = hardware.saved_registers();
    machine_check(cpu, configuration, hardware, code, &saved);
    true
}

/// Delivers the first external interruption that is pending and enabled.
#[inline]
fn deliver_external<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    if cpu.psw.mask & EXTERNAL == 0 {
        return false;
    }
    if cpu.control[0] & (CR0_CLOCK_COMPARATOR | CR0_CPU_TIMER) != 0 {
        refresh(cpu, hardware);
    }
    let Some((code, cpu_address, parameter)) = take(cpu, configuration) else {
        return false;
    };
    external(cpu, configuration, hardware, code, cpu_address, parameter);
    true
}

/// Takes the first enabled condition: code, address of the signalling CPU, parameter.
#[inline]
fn take(cpu: &mut Vcpu, configuration: &Configuration) -> Option<(u16, u16, Option<u32>)> {
    let masks = cpu.control[0];
    let open = |subclass: u64| masks & subclass != 0;
    let mailbox = mailbox(cpu, configuration);
    if cpu.pending.interrupt_key && open(CR0_INTERRUPT_KEY) {
        cpu.pending.interrupt_key = false;
        return Some((code::INTERRUPT_KEY, 0, None));
    }
    if open(CR0_EMERGENCY_SIGNAL) {
        // Only this CPU removes signals, so a signal that was there is still there.
        let signalled = mailbox.emergency.load(Ordering::Acquire);
        if signalled != 0 {
            let lowest = signalled.trailing_zeros();
            mailbox
                .emergency
                .fetch_and(!(1 << lowest), Ordering::AcqRel);
            let signalling = configuration.threads.address_of(lowest as u16);
            return Some((code::EMERGENCY_SIGNAL, signalling, None));
        }
    }
    if open(CR0_EXTERNAL_CALL) {
        let caller = mailbox.external_call.swap(0, Ordering::AcqRel);
        if let Some(number) = caller.checked_sub(1) {
            let calling = configuration.threads.address_of(number as u16);
            return Some((code::EXTERNAL_CALL, calling, None));
        }
    }
    if open(CR0_CLOCK_COMPARATOR) && cpu.pending.clock_comparator {
        return Some((code::CLOCK_COMPARATOR, 0, None));
    }
    if open(CR0_CPU_TIMER) && cpu.pending.cpu_timer {
        return Some((code::CPU_TIMER, 0, None));
    }
    if open(CR0_SERVICE_SIGNAL) {
        // A service signal is pending for the whole configuration: the first CPU takes it.
        let parameter = configuration.service_signal.swap(0, Ordering::AcqRel);
        if parameter != 0 {
            return Some((code::SERVICE_SIGNAL, 0, Some(parameter)));
        }
    }
    if open(CR0_MEASUREMENT_ALERT) && cpu.own.alerts().any() {
        return Some((code::MEASUREMENT_ALERT, 0, Some(cpu.own.take_alerts())));
    }
    None
}
