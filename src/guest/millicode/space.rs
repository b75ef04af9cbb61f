//! The address-space control of the PSW, and the address-space numbers.
//!
//! The access-register mode is not offered, because the machine below ends when a program accesses
//! storage in it, and has one space for all operands of an instruction. The code of the mode is treated as
//! unassigned, so that a control program learns at SET ADDRESS SPACE CONTROL that the mode is missing; the
//! machine below answers in the same way.
//! Space-switch events are not recognized.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::access::Fault;
use crate::state::pending_work::PendingWork;
use arch::condition::ConditionCode;
use arch::control::CR0_SECONDARY_SPACE;
use arch::interruption::ProgramInterruption;
use arch::psw::ADDRESS_SPACE;
use insn::Operand;

/// SET ADDRESS SPACE CONTROL, and SET ADDRESS SPACE CONTROL FAST: bits 52-55 of the second-operand
/// address select the address space: 0 primary, 1 secondary, 3 home.
///
/// Condition code: unchanged.
///
/// Program exceptions: special operation, when DAT is off or the secondary-space control is zero;
/// specification, for another code (2, the access-register mode, among them); privileged operation,
/// for the home space in the problem state.
///
/// Source: Principles of Operation, "SET ADDRESS SPACE CONTROL".
pub(super) fn sac<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let code = run.address(second).0 >> 8 & 15;
    run.dat()?;
    if run.cpu.control[0] & CR0_SECONDARY_SPACE == 0 {
        return fault(ProgramInterruption::SpecialOperation);
    }
    // The code is in the PSW with its two bits reversed.
    let bits: u64 = match code {
        0 => 0,
        1 => 2,
        3 => {
            run.supervisor()?;
            3
        }
        _ => return fault(ProgramInterruption::Specification),
    };
    let mask = &mut run.cpu.psw.mask;
    *mask = *mask & !ADDRESS_SPACE | bits << 46;
    run.cpu.pending_work |= PendingWork::CONTROLS;
    Ok(Outcome::Completed)
}

/// The tests that the extracting instructions share: DAT, then authority. Special operation has priority over privileged
/// operation for every semiprivileged instruction.
pub(super) fn extract<H: Hardware>(run: &Execution<'_, H>) -> Result<(), Fault> {
    run.dat()?;
    run.extraction()
}

/// INSERT ADDRESS SPACE CONTROL: the address-space control goes to bits 54-55 of R1 (in the order
/// of SET ADDRESS SPACE CONTROL), zeros to bits 48-53; the other bits stay.
///
/// Condition codes: 0 primary-space, 1 secondary-space, 3 home-space mode (2, the access-register
/// mode, does not occur).
///
/// Program exceptions: special operation, when DAT is off; privileged operation, in the problem state when the
/// extraction-authority control is zero.
///
/// Source: Principles of Operation, "INSERT ADDRESS SPACE CONTROL".
pub(super) fn iac<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) -> Performed {
    extract(run)?;
    let bits = run.cpu.psw.mask >> 46 & 3;
    let code = bits >> 1 | (bits & 1) << 1;
    run.set_register(r1, run.register(r1) & !0xFF00 | code << 8);
    run.done(ConditionCode::from_bits(code as u8))
}

/// EXTRACT PRIMARY ASN: bits 48-63 of control register 4 go to bits 48-63 of R1, zeros to bits
/// 32-47; bits 0-31 stay.
///
/// Condition code: unchanged. Program exceptions: as INSERT ADDRESS SPACE CONTROL.
///
/// Source: Principles of Operation, "EXTRACT PRIMARY ASN".
pub(super) fn epar<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) -> Performed {
    extract(run)?;
    run.set_word(r1, u32::from(run.cpu.control[4] as u16));
    Ok(Outcome::Completed)
}

/// EXTRACT SECONDARY ASN: bits 48-63 of control register 3 go to bits 48-63 of R1, zeros to bits
/// 32-47; bits 0-31 stay.
///
/// Condition code: unchanged. Program exceptions: as INSERT ADDRESS SPACE CONTROL.
///
/// Source: Principles of Operation, "EXTRACT SECONDARY ASN".
pub(super) fn esar<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) -> Performed {
    extract(run)?;
    run.set_word(r1, u32::from(run.cpu.control[3] as u16));
    Ok(Outcome::Completed)
}
