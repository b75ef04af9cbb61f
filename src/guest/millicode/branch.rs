//! Branches that the hardware may not execute, because it would fetch next what an instruction of the guest encloses.

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use arch::address::Virtual;
use insn::branch::{Branch, Target};

/// Any branch instruction: changes a register, the addressing mode and the instruction address as `branch` says.
///
/// Program exceptions: access (fetch, operand 2 of BRANCH INDIRECT ON CONDITION). An odd branch address is an exception
/// of the next instruction.
///
/// Source: Principles of Operation, "Branching"; the descriptions of the instructions.
pub(super) fn branch<H: Hardware>(run: &mut Execution<'_, H>, branch: &Branch) -> Performed {
    let target = match branch.target {
        Some(Target::Stored(at)) => Some(run.fetch_u64(Virtual(at))? & run.cpu.psw.address_mask()),
        Some(Target::Address(target)) => Some(target),
        None => None,
    };
    run.cpu.change_by(branch);
    Ok(match target {
        Some(target) => {
            run.cpu.psw.address = target;
            Outcome::Jumped
        }
        None => Outcome::Completed,
    })
}
