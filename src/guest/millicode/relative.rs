//! Instructions with a relative-long operand, for a machine below that finds the operand where the instructions are.
//!
//! There the operand's page may be missing because it was never executed. It is not made executable for that: the
//! firmware performs the instruction.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption as Exception;
use core::cmp::Ordering;
use insn::relative::{Relative, Use};

/// LOAD, STORE and COMPARE RELATIVE LONG and their relatives.
///
/// Condition codes of the comparisons: 0, equal; 1, the first operand is low; 2, it is high.
///
/// Program exceptions: specification (the operand's boundary); access (fetch or store, operand 2).
///
/// Source: Principles of Operation, "LOAD RELATIVE LONG", "STORE RELATIVE LONG", "COMPARE RELATIVE LONG" and so on.
pub(super) fn relative<H: Hardware>(run: &mut Execution<'_, H>, found: &Relative) -> Performed {
    let at = Virtual(found.at & run.cpu.psw.address_mask());
    if !at.0.is_multiple_of(found.bytes.into()) {
        return fault(Exception::Specification);
    }
    let register = run.register(found.r1);
    if found.used == Use::Store {
        match found.bytes {
            2 => run.put_u16(at, register as u16)?,
            4 => run.put_u32(at, register as u32)?,
            _ => run.put_u64(at, register)?,
        }
        return Ok(Outcome::Completed);
    }
    let mut bytes = [0; 8];
    let (_, operand) = bytes.split_at_mut(8 - usize::from(found.bytes.min(8)));
    run.fetch(at, operand)?;
    let operand = found.extended(u64::from_be_bytes(bytes));
    if found.used == Use::Compare {
        return run.done(match found.compare(found.in_width(register), operand) {
            Ordering::Equal => ConditionCode::Zero,
            Ordering::Less => ConditionCode::One,
            Ordering::Greater => ConditionCode::Two,
        });
    }
    if found.is_long {
        run.set_register(found.r1, operand);
    } else {
        run.set_word(found.r1, operand as u32);
    }
    Ok(Outcome::Completed)
}
