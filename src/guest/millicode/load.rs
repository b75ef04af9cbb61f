//! DIAGNOSE 308: resets of the configuration, and loads of the guest's program.
//!
//! Clear reset (subcode 0) and load normal (subcode 1) continue with the PSW at absolute 0. The clear reset is the modified
//! one: unlike the one of the Principles of Operation it does not clear storage and storage keys, because the program that
//! continues is there (a control program starts its successor in this way). Load clear (subcode 3), which first clears
//! storage and its keys, and load normal (subcode 4), which clears nothing, load again. They load the program that the
//! guest began with ([`program`]). There is no device to load from, so load parameters can neither be set (5) nor stored
//! (6). A subcode that is not offered is a specification exception, which is how programs probe. Measuring below the guest
//! continues through all of them.

use crate::delivery;
use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::orders;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::access::Fault;
use crate::state::mailbox::order;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::CpuState;
use crate::storage::{self, program};
use arch::address::{Absolute, PAGE, Real};
use arch::interruption::ProgramInterruption;
use arch::psw::Psw;

/// Subcode: modified clear reset of all CPUs, then the PSW at 0.
const CLEAR_RESET: u64 = 0;
/// Subcode: CPU reset of all other CPUs, initial CPU reset of this one, then the PSW at 0.
const LOAD_NORMAL_RESET: u64 = 1;
/// Subcode: load clear.
const LOAD_CLEAR: u64 = 3;
/// Subcode: load normal.
const LOAD_NORMAL: u64 = 4;
/// Subcode: parameters of a load are set.
const SET_PARAMETERS: u64 = 5;
/// Subcode: parameters of the last load are stored.
const STORE_PARAMETERS: u64 = 6;
/// Response: there are no such parameters.
const RESPONSE_NONE: u64 = 0x102;
/// Response: the parameters are not valid.
const RESPONSE_INVALID: u64 = 0x402;

/// DIAGNOSE 308: bits 0-63 of R3 are the subcode; R1 and R1 + 1 are an address and the response code.
///
/// Program exceptions: specification, for a subcode that is not offered, for a reset on a CPU that is the second thread
/// of its core and would be no CPU afterwards, and with subcodes 5 and 6 for an odd R1 or an address that is not on a
/// page boundary; addressing, with subcodes 5 and 6, when the page is not available.
pub(super) fn control<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r3: u8) -> Performed {
    match run.register(r3) {
        CLEAR_RESET => reset(run, order::CLEAR_RESET, order::CLEAR_RESET),
        LOAD_NORMAL_RESET => reset(run, order::CPU_RESET, order::INITIAL_CPU_RESET),
        LOAD_CLEAR => load_anew(run, order::CLEAR_RESET, order::CLEAR_RESET, true),
        LOAD_NORMAL => load_normal(run),
        SET_PARAMETERS => respond(run, r1, RESPONSE_INVALID),
        STORE_PARAMETERS => respond(run, r1, RESPONSE_NONE),
        _ => fault(ProgramInterruption::Specification),
    }
}

/// Resets the configuration and continues with the PSW at absolute 0.
fn reset<H: Hardware>(run: &mut Execution<'_, H>, others: u32, own: u32) -> Performed {
    reset_all(run, others, own)?;
    let at = storage::checked_absolute(run.configuration, Absolute(0), 8)?;
    let short = run.hardware.load_u64(at);
    go_on(run, Psw::from_short(short))
}

/// Load normal.
pub(super) fn load_normal<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    load_anew(run, order::CPU_RESET, order::INITIAL_CPU_RESET, false)
}

/// Resets the configuration, loads the program again and continues with its PSW.
fn load_anew<H: Hardware>(
    run: &mut Execution<'_, H>,
    others: u32,
    own: u32,
    clears: bool,
) -> Performed {
    if run.configuration.loaded_program.is_empty() {
        return fault(ProgramInterruption::Specification);
    }
    reset_all(run, others, own)?;
    if clears {
        program::clear_storage(run.configuration, run.hardware);
    }
    program::load(run.configuration, run.hardware);
    run.hardware
        .loaded(run.configuration.loaded_program.loads());
    go_on(run, run.configuration.loaded_program.psw)
}

/// Resets the configuration, unless this CPU would be no CPU afterwards.
fn reset_all<H: Hardware>(run: &mut Execution<'_, H>, others: u32, own: u32) -> Result<(), Fault> {
    if !run.configuration.threads.is_first(run.cpu.address) {
        return fault(ProgramInterruption::Specification);
    }
    orders::reset_configuration(run, others, own);
    Ok(())
}

/// Continues with a PSW after a reset.
fn go_on<H: Hardware>(run: &mut Execution<'_, H>, psw: Psw) -> Performed {
    run.cpu.state = CpuState::Operating;
    delivery::load_psw(run.cpu, psw);
    run.cpu.pending_work |= PendingWork::CONTROLS | PendingWork::ATTENTION;
    Ok(Outcome::Jumped)
}

/// Answers a request about load parameters.
fn respond<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, response: u64) -> Performed {
    let at = run.register(r1);
    if r1 & 1 != 0 || !at.is_multiple_of(PAGE) {
        return fault(ProgramInterruption::Specification);
    }
    if !run.configuration.holds(run.cpu.absolute(Real(at)), PAGE) {
        return fault(ProgramInterruption::Addressing);
    }
    run.set_register(r1 | 1, response);
    Ok(Outcome::Completed)
}
