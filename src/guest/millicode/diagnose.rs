//! DIAGNOSE: what the machine below offers a control program besides the architecture.
//!
//! Two codes give up the CPU for a while: 44 voluntarily, and 9C in favour of another CPU. Both are
//! accepted, because a program that spins for another CPU is what they are for, and under one clock
//! for all CPUs spinning is time that nothing else can use. Re-IPL (308) would reset the firmware's
//! machine and is not offered, nor is any other code: a specification exception, by which programs
//! probe.

use crate::arch::interruption::ProgramInterruption;
use crate::guest::hardware::Hardware;
use crate::guest::millicode::execution::{Execution, fault};
use crate::guest::millicode::{Outcome, Performed};
use crate::insn::Operand;

/// Voluntary time-slice end.
const TIME_SLICE_END: u16 = 0x44;
/// Voluntary time-slice end in favour of the CPU whose address is in R1.
const TIME_SLICE_END_DIRECTED: u16 = 0x9C;

/// DIAGNOSE: bits 48-63 of the second-operand address are the function code.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, for a function that is not offered.
///
/// Source: the interface between Linux and its hypervisors, "DIAGNOSE function codes".
pub(super) fn diag<H: Hardware>(
    run: &mut Execution<'_, H>,
    _r1: u8,
    _r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    match run.address(second).0 as u16 {
        TIME_SLICE_END | TIME_SLICE_END_DIRECTED => Ok(Outcome::Yield),
        _ => fault(ProgramInterruption::Specification),
    }
}
