//! DIAGNOSE: what the machine below offers a control program besides the architecture.
//!
//! Two codes give up the CPU for a while: 44 voluntarily, and 9C in favour of another CPU. Both are
//! accepted, because a program that spins for another CPU is what they are for, and under one clock
//! for all CPUs spinning is time that nothing else can use.
//!
//! Code 308 resets the configuration: by clear reset (subcode 0) or by load normal (subcode 1), each of
//! which goes on with the PSW at absolute 0. The clear reset is the modified one: of what the Principles
//! of Operation has it clear, storage and the storage keys stay, for the program that goes on stands
//! there (a control program starts its successor in this way). There is no device to load from, so no
//! parameters of a load can be set (5) or had (6), and what loads anew (3 and others) is not offered: so
//! nothing asks for the clear reset that clears storage. What is not offered is a specification
//! exception, by which programs probe.

use crate::arch::address::{Absolute, PAGE, Real};
use crate::arch::interruption::ProgramInterruption;
use crate::arch::psw::Psw;
use crate::guest::configuration::order;
use crate::guest::delivery;
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::millicode::execution::{Execution, fault};
use crate::guest::millicode::{Outcome, Performed, signal};
use crate::guest::vcpu::CpuState;
use crate::insn::Operand;

/// Voluntary time-slice end.
const TIME_SLICE_END: u16 = 0x44;
/// Voluntary time-slice end in favour of the CPU whose address is in R1.
const TIME_SLICE_END_DIRECTED: u16 = 0x9C;

/// Reset and load.
const LOAD: u16 = 0x308;
/// Subcode of code 308: modified clear reset of all CPUs, then the PSW at 0.
const CLEAR_RESET: u64 = 0;
/// Subcode: CPU reset of all other CPUs, initial CPU reset of this one, then the PSW at 0.
const LOAD_NORMAL_RESET: u64 = 1;
/// Subcode: parameters of a load are set.
const SET_PARAMETERS: u64 = 5;
/// Subcode: parameters of the last load are stored.
const STORE_PARAMETERS: u64 = 6;
/// Response: there are no such parameters.
const RESPONSE_NONE: u64 = 0x102;
/// Response: the parameters are not valid.
const RESPONSE_INVALID: u64 = 0x402;

/// DIAGNOSE: bits 48-63 of the second-operand address are the function code.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, for a function that is not offered.
///
/// Source: the interface between Linux and its hypervisors, "DIAGNOSE function codes".
pub(super) fn diag<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    match run.address(second).0 as u16 {
        TIME_SLICE_END | TIME_SLICE_END_DIRECTED => Ok(Outcome::Yield),
        LOAD => load(run, r1, r3),
        _ => fault(ProgramInterruption::Specification),
    }
}

/// DIAGNOSE 308: bits 0-63 of R3 are the subcode; R1 and R1 + 1 are an address and the response code.
///
/// Program exceptions: specification, for a subcode that is not offered, for a reset on a CPU that is
/// the second thread of its core and would be no CPU afterwards, and with subcodes 5 and 6 for
/// an odd R1 or an address that is not on a page boundary; addressing, with these, when the page is not
/// available.
fn load<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r3: u8) -> Performed {
    match run.register(r3) {
        CLEAR_RESET => reset(run, order::CLEAR_RESET, order::CLEAR_RESET),
        LOAD_NORMAL_RESET => reset(run, order::CPU_RESET, order::INITIAL_CPU_RESET),
        SET_PARAMETERS => respond(run, r1, RESPONSE_INVALID),
        STORE_PARAMETERS => respond(run, r1, RESPONSE_NONE),
        _ => fault(ProgramInterruption::Specification),
    }
}

/// Resets the configuration and goes on with the PSW at absolute 0.
fn reset<H: Hardware>(run: &mut Execution<'_, H>, others: u32, own: u32) -> Performed {
    if !run.configuration.threads.is_first(run.cpu.address) {
        return fault(ProgramInterruption::Specification);
    }
    signal::reset_configuration(run, others, own);
    run.cpu.state = CpuState::Operating;
    let short = run.hardware.load_u64(Absolute(0));
    delivery::load_psw(run.cpu, Psw::from_short(short));
    run.cpu.due |= Due::CONTROLS | Due::ATTENTION;
    Ok(Outcome::Jumped)
}

/// Answers a request about parameters of a load.
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
