//! SIGNAL PROCESSOR: orders and signals for the addressed CPU.
//!
//! An order is left in the addressed CPU's mailbox, and that CPU carries it out itself ([`super::orders`]).
//! While an order waits there, or is being carried out, the CPU is busy, and accepts resets only. External calls and
//! emergency signals do not wait in this way: they become pending at once.

use crate::hardware::Hardware;
use crate::measuring::threads;
use crate::millicode::conditional_signal;
use crate::millicode::execution::Execution;
use crate::millicode::orders::{CLAIMED, RESETS, await_orders, mailbox, reset};
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::millicode::prefix::PREFIX;
use crate::millicode::status as area;
use crate::state::configuration::Configuration;
use crate::state::mailbox::{Mailbox, order};
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::CpuState;
use arch::address::{Absolute, PREFIX_AREA};
use arch::condition::ConditionCode;
use arch::facility::VECTOR;
use core::sync::atomic::Ordering;
use insn::Operand;

/// Order codes.
mod code {
    pub const SENSE: u8 = 0x01;
    pub const EXTERNAL_CALL: u8 = 0x02;
    pub const EMERGENCY_SIGNAL: u8 = 0x03;
    pub const START: u8 = 0x04;
    pub const STOP: u8 = 0x05;
    pub const RESTART: u8 = 0x06;
    pub const STOP_AND_STORE_STATUS: u8 = 0x09;
    pub const INITIAL_CPU_RESET: u8 = 0x0B;
    pub const CPU_RESET: u8 = 0x0C;
    pub const SET_PREFIX: u8 = 0x0D;
    pub const STORE_STATUS_AT_ADDRESS: u8 = 0x0E;
    pub const SET_ARCHITECTURE: u8 = 0x12;
    pub const CONDITIONAL_EMERGENCY_SIGNAL: u8 = 0x13;
    pub const SENSE_RUNNING_STATUS: u8 = 0x15;
    pub const SET_MULTITHREADING: u8 = 0x16;
    pub const STORE_ADDITIONAL_STATUS_AT_ADDRESS: u8 = 0x17;
}

/// Status bits, as they stand in bits 32-63 of R1.
mod status {
    pub const NOT_RUNNING: u32 = 0x400;
    pub const INCORRECT_STATE: u32 = 0x200;
    pub const INVALID_PARAMETER: u32 = 0x100;
    pub const EXTERNAL_CALL_PENDING: u32 = 0x80;
    pub const STOPPED: u32 = 0x40;
    pub const CHECK_STOP: u32 = 0x10;
    pub const INVALID_ORDER: u32 = 0x02;
}

/// The parameter of STORE STATUS AT ADDRESS: a 31-bit address on a 512-byte boundary.
const STATUS_ADDRESS: u64 = 0x7FFF_FE00;
/// The bits of the parameter of STORE ADDITIONAL STATUS AT ADDRESS that are no address: zeros, as the area is on a
/// 1024-byte boundary, and only the guarded-storage facility has areas of other lengths.
const NO_ADDRESS: u64 = 0x3FF;

/// The parameter of SET MULTITHREADING: the program-specified maximum thread identification.
const MAXIMUM_THREAD: u64 = 0x1F;

/// The answer of the addressed CPU.
enum Answer {
    /// Condition code 0.
    Accepted,
    /// Condition code 1, with status.
    Status(u32),
    /// Condition code 2.
    Busy,
}

/// SIGNAL PROCESSOR: bits 56-63 of the second-operand address are the order code, bits 48-63 of R3
/// the CPU address; the parameter is in R1 if that is odd, else in R1 + 1.
///
/// Condition codes: 0, order accepted; 1, status stored in bits 32-63 of R1; 2, busy: an earlier
/// order has not been carried out yet; 3, not operational: no such CPU.
///
/// Orders: sense, external call, emergency signal, start, stop, restart, stop and store status, initial CPU
/// reset, CPU reset, set prefix, store status at address, set architecture, conditional emergency signal,
/// sense running status, set multithreading, and with the vector facility store additional status at address; any
/// other is an invalid order. Set prefix, store status at address and store additional status at address have been
/// carried out when the instruction ends. The configuration is always in the
/// z/Architecture mode, so set architecture ends with an invalid parameter. The conditional emergency signal depends on the
/// PSW and the address spaces of the addressed CPU ([`conditional_signal`]); the parameter has an address-space number.
///
/// Program exceptions: privileged operation.
///
/// Source: Principles of Operation, "SIGNAL PROCESSOR" and "Signal-Processor Orders".
pub(super) fn sigp<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    let order_code = run.address(second).0 as u8;
    let address = run.register(r3) as u16;
    let parameter = run.register(r1 | 1);
    if order_code == code::SET_ARCHITECTURE {
        run.set_word(r1, status::INVALID_PARAMETER);
        return run.done(ConditionCode::One);
    }
    if order_code == code::SET_MULTITHREADING {
        let answer = set_multithreading(run, parameter);
        let condition = conclude(run, r1, answer);
        return run.done(condition);
    }
    let Some(target) = run.configuration.cpu_at(address) else {
        return run.done(ConditionCode::Three);
    };
    let answer = signal(run, order_code, target, parameter);
    let condition = conclude(run, r1, answer);
    run.cpu.set_cc(condition);
    if target == run.cpu.address {
        if !only_tells(order_code) {
            run.cpu.pending_work |= PendingWork::ATTENTION;
        }
        return Ok(Outcome::Completed);
    }
    if condition == ConditionCode::Zero {
        run.hardware.wake(target);
        if is_of_stopped_cpu(order_code) {
            await_orders(run.configuration, target);
        }
    }
    // A CPU that signals or senses another CPU waits for it.
    Ok(Outcome::Yield)
}

/// SIGNAL PROCESSOR on the fast path: sense and sense running status, of a CPU that does not exist or of this CPU itself, if
/// nothing is pending for it. See [`sigp`].
#[inline(always)]
pub(super) fn sense<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r3: u8,
    second: Operand,
) -> Performed<P::Refusal> {
    // The general path performs all orders itself.
    let others = || P::general_only(|| Ok(Outcome::Unknown));
    run.supervisor()?;
    let order_code = run.address(second).0 as u8;
    if !only_tells(order_code) {
        return others();
    }
    let address = run.register(r3) as u16;
    if address == run.cpu.known_as {
        let mailbox = mailbox(run.configuration, run.cpu.address);
        let pending = mailbox.external_call.load(Ordering::Acquire);
        if pending | mailbox.orders.load(Ordering::Acquire) != 0 {
            return others();
        }
        return run.done(ConditionCode::Zero);
    }
    if run.configuration.cpu_at(address).is_some() {
        return others();
    }
    run.done(ConditionCode::Three)
}

/// Whether an order only tells a state, and changes none.
const fn only_tells(order_code: u8) -> bool {
    matches!(order_code, code::SENSE | code::SENSE_RUNNING_STATUS)
}

/// The condition code of an answer; status goes to R1.
fn conclude<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, answer: Answer) -> ConditionCode {
    match answer {
        Answer::Accepted => ConditionCode::Zero,
        Answer::Status(status) => {
            run.set_word(r1, status);
            ConditionCode::One
        }
        Answer::Busy => ConditionCode::Two,
    }
}

/// Set multithreading, an order for the whole configuration: the CPU address is ignored. Bits 59-63 of
/// the parameter are the program-specified maximum thread identification; zero is accepted and changes
/// nothing.
///
/// Not accepted, in this order: invalid order, when the multithreading facility is not installed, or
/// multithreading is already enabled; invalid parameter, when the identification is above the maximum of the
/// machine or another bit of the parameter is one; busy, when an order waits at another CPU; incorrect state,
/// when another CPU is not in the stopped or check-stop state.
///
/// The CPUs get other addresses, so an address may designate a CPU of another coprocessor group.
///
/// Only a clear reset or a load disables multithreading; CPU reset and initial CPU reset do not.
///
/// Sources: Linux `arch/s390/kernel/smp.c` issues it as order 16 (hex) with the identification as the
/// parameter, tests for condition code 0, and after a load issues it with zero and then again, so zero must be
/// accepted while multithreading is disabled; QEMU `target/s390x/sigp.c` ends an order that is not installed
/// as invalid. No public source says which status bits and which order the other refusals have, or whether the
/// CPU address matters; the choices here follow the names of the bits.
fn set_multithreading<H: Hardware>(run: &mut Execution<'_, H>, parameter: u64) -> Answer {
    let configuration = run.configuration;
    let cores = &configuration.threads;
    if !cores.installed() || cores.enabled() {
        return Answer::Status(status::INVALID_ORDER);
    }
    let specified = parameter as u32;
    if u64::from(specified) & !MAXIMUM_THREAD != 0 || specified > u32::from(cores.maximum()) {
        return Answer::Status(status::INVALID_PARAMETER);
    }
    let others = (0..configuration.cpus).filter(|&cpu| cpu != run.cpu.address);
    for cpu in others {
        let mailbox = mailbox(configuration, cpu);
        if mailbox.orders.load(Ordering::Acquire) != 0 {
            return Answer::Busy;
        }
        if mailbox.state.load(Ordering::Acquire) == CpuState::Operating as u8 {
            return Answer::Status(status::INCORRECT_STATE);
        }
    }
    if specified != 0 {
        cores.enable();
        configuration.groups().addresses_may_have_changed();
        threads::take_note(run.cpu, configuration);
    }
    Answer::Accepted
}

/// Whether only a stopped CPU accepts an order.
const fn is_of_stopped_cpu(order_code: u8) -> bool {
    matches!(
        order_code,
        code::SET_PREFIX | code::STORE_STATUS_AT_ADDRESS | code::STORE_ADDITIONAL_STATUS_AT_ADDRESS
    )
}

/// Whether the CPUs of a configuration know an order.
const fn is_assigned(configuration: &Configuration, order_code: u8) -> bool {
    match order_code {
        code::SENSE..=code::RESTART
        | code::STOP_AND_STORE_STATUS
        | code::INITIAL_CPU_RESET..=code::STORE_STATUS_AT_ADDRESS
        | code::CONDITIONAL_EMERGENCY_SIGNAL
        | code::SENSE_RUNNING_STATUS => true,
        code::STORE_ADDITIONAL_STATUS_AT_ADDRESS => configuration.facilities.has(VECTOR),
        _ => false,
    }
}

/// Gives the order to an existing CPU.
fn signal<H: Hardware>(
    run: &mut Execution<'_, H>,
    order_code: u8,
    target: u16,
    parameter: u64,
) -> Answer {
    let own = run.cpu.address;
    let mailbox = mailbox(run.configuration, target);
    // The CPU that issues the instruction is operating, whatever state it last published.
    let published = mailbox.state.load(Ordering::Acquire);
    let operating = target == own || published == CpuState::Operating as u8;
    let check_stop = target != own && published == CpuState::CheckStop as u8;
    let external_call = mailbox.external_call.load(Ordering::Acquire) != 0;
    let busy = mailbox.orders.load(Ordering::Acquire) != 0;

    match order_code {
        code::CPU_RESET => {
            reset(mailbox, order::CPU_RESET);
            return Answer::Accepted;
        }
        code::INITIAL_CPU_RESET => {
            reset(mailbox, order::INITIAL_CPU_RESET);
            return Answer::Accepted;
        }
        _ if !is_assigned(run.configuration, order_code) => {
            return Answer::Status(status::INVALID_ORDER);
        }
        _ if busy && !check_stop => return Answer::Busy,
        code::SENSE => {
            let mut found = 0;
            if check_stop {
                found |= status::CHECK_STOP;
            } else if !operating {
                found |= status::STOPPED;
            }
            if external_call {
                found |= status::EXTERNAL_CALL_PENDING;
            }
            return if found == 0 {
                Answer::Accepted
            } else {
                Answer::Status(found)
            };
        }
        code::SENSE_RUNNING_STATUS => {
            return if target == own || mailbox.runs.load(Ordering::Acquire) {
                Answer::Accepted
            } else {
                Answer::Status(status::NOT_RUNNING)
            };
        }
        _ if check_stop => return Answer::Status(status::CHECK_STOP),
        code::EXTERNAL_CALL => {
            let pending = mailbox.external_call.compare_exchange(
                0,
                u32::from(own) + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            return match pending {
                Ok(_) => Answer::Accepted,
                Err(_) => Answer::Status(status::EXTERNAL_CALL_PENDING),
            };
        }
        code::CONDITIONAL_EMERGENCY_SIGNAL
            if !operating && !conditional_signal::is_met(mailbox, parameter as u16) =>
        {
            return Answer::Status(status::INCORRECT_STATE);
        }
        code::EMERGENCY_SIGNAL | code::CONDITIONAL_EMERGENCY_SIGNAL => {
            mailbox
                .emergency
                .fetch_or(1 << (own & 31), Ordering::AcqRel);
            return Answer::Accepted;
        }
        _ => {}
    }

    let (order, parameter) = match order_code {
        code::START => (order::START, None),
        code::STOP => (order::STOP, None),
        code::RESTART => (order::RESTART, None),
        code::STOP_AND_STORE_STATUS => (order::STOP | order::STORE_STATUS, None),
        code::SET_PREFIX => (order::SET_PREFIX, Some((parameter & PREFIX, PREFIX_AREA))),
        code::STORE_STATUS_AT_ADDRESS => {
            let at = parameter & STATUS_ADDRESS;
            (order::STORE_STATUS_AT_ADDRESS, Some((at, area::LENGTH)))
        }
        code::STORE_ADDITIONAL_STATUS_AT_ADDRESS => {
            let area = (parameter, area::ADDITIONAL_LENGTH);
            (order::STORE_ADDITIONAL_STATUS, Some(area))
        }
        _ => return Answer::Status(status::INVALID_ORDER),
    };
    if let Some((at, length)) = parameter {
        let mut found = 0;
        if operating {
            found |= status::INCORRECT_STATE;
        }
        let is_misplaced = order == order::STORE_ADDITIONAL_STATUS && at & NO_ADDRESS != 0;
        if is_misplaced || !run.configuration.holds(Absolute(at), length) {
            found |= status::INVALID_PARAMETER;
        }
        if found != 0 {
            return Answer::Status(found);
        }
    }
    post(mailbox, order, parameter.map_or(0, |(at, _)| at))
}

/// Puts an order into an empty mailbox.
fn post(mailbox: &Mailbox, order: u32, parameter: u64) -> Answer {
    let orders = &mailbox.orders;
    if orders
        .compare_exchange(0, CLAIMED, Ordering::AcqRel, Ordering::Acquire)
        .is_err()
    {
        return Answer::Busy;
    }
    mailbox.parameter.store(parameter, Ordering::Release);
    // A reset in between clears what was pending, and this order with it; a change does not.
    let _ = orders.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
        let order = if now & RESETS == 0 { order } else { 0 };
        Some(now & !CLAIMED | order)
    });
    Answer::Accepted
}
