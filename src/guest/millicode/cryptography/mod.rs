//! The message-security assist: what [`msa`] computes, on operands in guest storage.
//!
//! All instructions have the same frame. General register 0 holds the function code (bits 57-63) and
//! its modifiers, general register 1 the address of the parameter block; even-odd pairs hold the
//! address and the length of an operand. Function code 0 stores one bit for each offered function at
//! the parameter block.
//!
//! The instructions that take a message are interruptible. One execution processes at most [`PIECE`]
//! bytes of an operand, or fewer if only fewer can be accessed, and ends with condition code 3 if
//! there is more. The addresses and lengths in the registers have then advanced by what was processed,
//! and the parameter block holds what the next execution needs. All exceptions are tested before
//! anything is changed, so an execution either processes something or changes nothing.
//!
//! In the 24- and 31-bit addressing modes addresses wrap, lengths have 32 bits, and bits 0-31 of a
//! register stay. If operands overlap without being the same, the result is unpredictable, as on every
//! machine.
//!
//! Program exceptions of all of them, in this order: operation; privileged operation (PCKMO);
//! specification, when the function is not offered, general register 0 modifies it in an undefined
//! way, or a register number is odd or zero; specification, for a length; then completion when the
//! length is zero; access (parameter block, then the operands).
//!
//! Source: Principles of Operation, the descriptions of the thirteen instructions.

mod authentication;
mod cipher;
mod computation;
mod digest;
mod occupation;
mod operand;
mod random;

#[cfg(test)]
mod tests;

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use arch::interruption::ProgramInterruption as P;
use msa::{Control, Function, Instruction};

/// The most bytes of an operand that one execution processes: this machine's choice.
const PIECE: u64 = 4096;

/// The register fields of an instruction; zero where it has none.
#[derive(Clone, Copy, Debug, Default)]
struct Fields {
    r1: u8,
    r2: u8,
    r3: u8,
}

/// The instruction of the message-security assist that is being performed.
#[derive(Clone, Copy)]
struct Issue {
    fields: Fields,
    control: Control,
    function: Function,
}

/// The fields that must designate the even register of a pair: those of the operands.
const fn pairs(instruction: Instruction, fields: Fields) -> [Option<u8>; 3] {
    let Fields { r1, r2, r3 } = fields;
    match instruction {
        Instruction::Km | Instruction::Kmc | Instruction::Kmf | Instruction::Kmo => {
            [Some(r1), Some(r2), None]
        }
        Instruction::Kmctr | Instruction::Kma => [Some(r1), Some(r2), Some(r3)],
        Instruction::Prno => [Some(r1), Some(r2), None],
        Instruction::Kmac | Instruction::Kimd | Instruction::Klmd | Instruction::Kdsa => {
            [None, Some(r2), None]
        }
        Instruction::Pcc | Instruction::Pckmo => [None; 3],
    }
}

/// Whether a field designates a pair of registers that may hold an operand.
const fn is_pair(field: u8) -> bool {
    field != 0 && field & 1 == 0
}

/// Performs an instruction of the message-security assist. See the head of this file.
pub(super) fn perform<H: Hardware>(
    run: &mut Execution<'_, H>,
    instruction: Instruction,
    (r1, r2, r3): (u8, u8, u8),
) -> Performed {
    let fields = Fields { r1, r2, r3 };
    if instruction == Instruction::Pckmo {
        run.supervisor()?;
    }
    if !run.configuration.facilities.has(instruction.facility()) {
        return Ok(Outcome::Unknown);
    }
    let control = Control(run.register(0));
    let code = control.function_code();
    let offered = run.configuration.assist.offered(instruction);
    if offered << code >> 127 == 0 {
        return fault(P::Specification);
    }
    let pairs = pairs(instruction, fields);
    if !pairs.into_iter().flatten().all(is_pair) {
        return fault(P::Specification);
    }
    let Some(function) = Function::of(instruction, code) else {
        // Every offered function has an entry, except function code 0.
        if !msa::query_accepts(instruction, control) {
            return fault(P::Specification);
        }
        return query(run, offered);
    };
    if !function.accepts(control) || (function.extends() && !is_pair(fields.r1)) {
        return fault(P::Specification);
    }
    let issue = Issue {
        fields,
        control,
        function,
    };
    match instruction {
        Instruction::Km
        | Instruction::Kmc
        | Instruction::Kmf
        | Instruction::Kmo
        | Instruction::Kmctr => cipher::cipher(run, &issue),
        Instruction::Kma => authentication::kma(run, &issue),
        Instruction::Kmac | Instruction::Kimd => digest::intermediate(run, &issue),
        Instruction::Klmd => digest::last(run, &issue),
        Instruction::Prno => random::prno(run, &issue),
        Instruction::Pcc => computation::pcc(run, &issue),
        Instruction::Kdsa => computation::kdsa(run, &issue),
        Instruction::Pckmo => fault(P::Specification),
    }
}

/// Function code 0: stores the status word of the offered functions at the parameter block.
///
/// It is the only function of PCKMO, because this machine does not wrap keys.
fn query<H: Hardware>(run: &mut Execution<'_, H>, offered: u128) -> Performed {
    let at = operand::parameter_address(run);
    run.put(at, &offered.to_be_bytes())?;
    run.done(arch::condition::ConditionCode::Zero)
}
