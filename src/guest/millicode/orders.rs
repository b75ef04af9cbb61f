//! The orders in a CPU's mailbox, which the CPU carries out itself, and resets.
//!
//! A CPU carries out its orders when it next enters the firmware, so no CPU ever touches the registers of
//! another. Most orders come from SIGNAL PROCESSOR ([`super::signal`]); DIAGNOSE orders resets of all CPUs.

use crate::hardware::Hardware;
use crate::measuring::{assist, threads};
use crate::millicode::conditional_signal;
use crate::millicode::execution::Execution;
use crate::millicode::prefix::{self, PREFIX};
use crate::millicode::status;
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::mailbox::{Mailbox, order};
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::{CpuState, Vcpu};
use crate::storage::{self, shadow};
use crate::{channel, delivery, external_means};
use arch::address::Absolute;
use arch::cpu::MAXIMUM_CPUS;
use arch::lowcore;
use core::sync::atomic::Ordering;

/// A bit in the mailbox's orders that is no order: the signalling CPU is writing the parameter.
pub(super) const CLAIMED: u32 = 1 << 31;
/// Another one that is no order: the CPU is carrying out what it has taken out of its mailbox.
const IN_PROGRESS: u32 = 1 << 30;
/// The orders that reset a CPU.
pub(super) const RESETS: u32 = order::CLEAR_RESET | order::INITIAL_CPU_RESET | order::CPU_RESET;

/// The mailbox of a CPU.
pub(super) fn mailbox(configuration: &Configuration, cpu: u16) -> &Mailbox {
    const { assert!(MAXIMUM_CPUS.is_power_of_two()) };
    &configuration.mailboxes[usize::from(cpu) & (MAXIMUM_CPUS - 1)]
}

/// Orders a reset. A busy CPU accepts it too, and it ends what made the CPU busy.
pub(super) fn reset(mailbox: &Mailbox, order: u32) {
    mailbox.orders.fetch_or(order, Ordering::AcqRel);
}

/// Publishes the state of this CPU for others to sense, and whether it executes instructions.
pub fn publish<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    runs: bool,
) {
    let_timer_run_or_stand(cpu, hardware);
    let mailbox = mailbox(configuration, cpu.address);
    conditional_signal::publish(cpu, mailbox);
    mailbox.state.store(cpu.state as u8, Ordering::Release);
    mailbox.runs.store(runs, Ordering::Release);
}

/// Carries out the orders in this CPU's mailbox, and publishes its state for others to sense.
///
/// A CPU calls this itself in the firmware, whatever its state. It is busy until its orders have been carried out, and
/// others can sense and find in storage what they have done.
pub fn take_orders<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    threads::take_note(cpu, configuration);
    let mailbox = mailbox(configuration, cpu.address);
    let waiting = mailbox.orders.load(Ordering::Acquire);
    let takes = waiting != 0 && waiting & CLAIMED == 0;
    if takes {
        // A reset or a change may still come meanwhile.
        let orders = mailbox.orders.swap(IN_PROGRESS, Ordering::AcqRel);
        let parameter = mailbox.parameter.load(Ordering::Acquire);
        if orders & order::CHANGE != 0 {
            external_means::make_changes(cpu, configuration, hardware);
        }
        carry_out(cpu, configuration, hardware, mailbox, orders, parameter);
        if orders & RESETS != 0 {
            assist::counting_changed(cpu, configuration, hardware);
        }
    }
    if configuration.exit_code.get().is_some() {
        enter(cpu, hardware, CpuState::Stopped);
    }
    conditional_signal::publish(cpu, mailbox);
    mailbox.state.store(cpu.state as u8, Ordering::Release);
    if takes {
        mailbox.orders.fetch_and(!IN_PROGRESS, Ordering::AcqRel);
    }
}

/// Ends the guest with an exit code: all CPUs stop before they execute another instruction, and no order starts one
/// again.
pub(super) fn end_guest<H: Hardware>(run: &mut Execution<'_, H>, code: u8) {
    let configuration = run.configuration;
    configuration.exit_code.name(run.cpu.address, code);
    for address in (0..configuration.cpus).filter(|&address| address != run.cpu.address) {
        let orders = &mailbox(configuration, address).orders;
        orders.fetch_or(order::STOP, Ordering::AcqRel);
        run.hardware.wake(address);
    }
    run.cpu.pending_work |= PendingWork::ATTENTION;
}

/// Lets the CPU timer run if the CPU is in the operating state, and stand still otherwise.
fn let_timer_run_or_stand<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H) {
    match (cpu.state, cpu.standing_timer) {
        (CpuState::Operating, Some(value)) => {
            hardware.set_cpu_timer(value);
            cpu.standing_timer = None;
        }
        (CpuState::Stopped | CpuState::CheckStop, None) => {
            cpu.standing_timer = Some(hardware.cpu_timer());
        }
        _ => {}
    }
}

/// Enters a state.
fn enter<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H, state: CpuState) {
    cpu.state = state;
    let_timer_run_or_stand(cpu, hardware);
}

#[cold]
fn carry_out<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    mailbox: &Mailbox,
    orders: u32,
    parameter: u64,
) {
    cpu.pending_work |= PendingWork::ATTENTION;
    if orders & RESETS != 0 {
        reset_cpu(cpu, configuration, hardware, mailbox, orders);
        let_timer_run_or_stand(cpu, hardware);
        return;
    }
    if cpu.state == CpuState::CheckStop {
        return;
    }
    if orders & order::STOP != 0 {
        enter(cpu, hardware, CpuState::Stopped);
    }
    if orders & order::STORE_STATUS != 0 {
        let mode = Absolute(lowcore::ARCHITECTURAL_MODE);
        // If storage is not available there, nothing is stored; these addresses always are.
        let _ = storage::put_absolute(configuration, hardware, mode, &[1]);
        status::store(cpu, configuration, hardware, Absolute(lowcore::SAVE_AREA));
    }
    if orders & order::STORE_STATUS_AT_ADDRESS != 0 {
        status::store(cpu, configuration, hardware, Absolute(parameter));
    }
    if orders & order::STORE_ADDITIONAL_STATUS != 0 {
        status::store_additional(configuration, hardware, Absolute(parameter));
    }
    if orders & order::SET_PREFIX != 0 && cpu.state == CpuState::Stopped {
        prefix::set(cpu, configuration, hardware, parameter & PREFIX);
    }
    if orders & order::START != 0 {
        enter(cpu, hardware, CpuState::Operating);
    }
    if orders & order::RESTART != 0 {
        enter(cpu, hardware, CpuState::Operating);
        delivery::restart(cpu, configuration, hardware);
    }
}

/// Performs the most extensive of the ordered resets of this CPU.
///
/// CPU reset keeps all registers of the program. Initial CPU reset clears the floating-point-control register
/// besides the control registers; clear reset clears all registers.
///
/// Each of them purges the TLB.
///
/// Source: Principles of Operation, "Resets", the summary of functions performed by resets.
fn reset_cpu<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    mailbox: &Mailbox,
    orders: u32,
) {
    shadow::empty(cpu, configuration, hardware);
    mailbox.emergency.store(0, Ordering::Release);
    mailbox.external_call.store(0, Ordering::Release);
    if orders & order::CLEAR_RESET != 0 {
        cpu.clear_reset();
        hardware.clear_program_registers();
    } else if orders & order::INITIAL_CPU_RESET != 0 {
        cpu.initial_cpu_reset();
    } else {
        cpu.cpu_reset();
        return;
    }
    hardware.set_cpu_timer(0);
    cpu.standing_timer = Some(0);
    hardware.set_clock_programmable_field(0);
    hardware.set_floating_point_control(0);
}

/// Resets the configuration for a control program that is loaded: every other CPU by `others`, this one by
/// `own`, and what is pending for any CPU. Multithreading is disabled. The coprocessor groups belong to the
/// machine and not to the configuration, so they stay unchanged, although the CPUs that share one may have
/// other addresses afterwards.
///
/// The other CPUs carry out the reset themselves before they execute another instruction; until then they are
/// busy.
pub(super) fn reset_configuration<H: Hardware>(run: &mut Execution<'_, H>, others: u32, own: u32) {
    let configuration = run.configuration;
    configuration.resets.fetch_add(1, Ordering::Relaxed);
    for address in (0..configuration.cpus).filter(|&address| address != run.cpu.address) {
        reset(mailbox(configuration, address), others);
        run.hardware.wake(address);
    }
    channel::reset(configuration, run.hardware);
    configuration.service_signal.store(0, Ordering::Release);
    configuration.event_mask.store(0, Ordering::Release);
    configuration.watchdog.disable();
    // Before any CPU continues, because addresses are those of the cores again.
    if configuration.threads.enabled() {
        configuration.threads.disable();
        configuration.groups().addresses_may_have_changed();
    }
    if configuration.mode == Mode::RealTime {
        wait_for_others(configuration, run.cpu.address);
    }
    let mailbox = mailbox(configuration, run.cpu.address);
    reset_cpu(run.cpu, configuration, run.hardware, mailbox, own);
    threads::take_note(run.cpu, configuration);
    assist::counting_changed(run.cpu, configuration, run.hardware);
}

/// How often this CPU looks at the other CPUs before it stops waiting for them. In a test nobody answers.
const MOST_LOOKS: u32 = if cfg!(test) { 1000 } else { 100_000_000 };

/// Waits until no other CPU executes instructions of the guest: its storage is about to be changed.
///
/// In exact mode this CPU has the turn, and the others take their orders before they get it. In real time they
/// run until they are interrupted, which takes only as long as entering the firmware. Two CPUs that reset each
/// other would wait for ever, and a CPU that is itself in DIAGNOSE does no harm; so the wait is limited.
#[cold]
fn wait_for_others(configuration: &Configuration, me: u16) {
    let executes = |cpu: u16| {
        let mailbox = mailbox(configuration, cpu);
        mailbox.orders.load(Ordering::Acquire) != 0
            || mailbox.state.load(Ordering::Acquire) == CpuState::Operating as u8
    };
    look_until(|| !(0..configuration.cpus).any(|cpu| cpu != me && executes(cpu)));
}

/// SIGNAL PROCESSOR does not end before CPU `target`, which is stopped, has carried out the order that it accepted: the
/// program looks at storage at once.
///
/// In exact mode that CPU has the next turn. In real time it is on its way into the firmware.
pub(super) fn await_orders(configuration: &Configuration, target: u16) {
    if configuration.mode == Mode::RealTime {
        let mailbox = mailbox(configuration, target);
        look_until(|| mailbox.orders.load(Ordering::Acquire) == 0);
    } else {
        configuration.favoured.store(target + 1, Ordering::Relaxed);
    }
}

/// Looks until it is `done`, but no more than [`MOST_LOOKS`] times.
fn look_until(done: impl Fn() -> bool) {
    let mut looks = 0;
    while looks < MOST_LOOKS && !done() {
        core::hint::spin_loop();
        looks += 1;
    }
}
