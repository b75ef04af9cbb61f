//! The message-security assist: what [`crate::msa`] computes, on operands in guest storage.
//!
//! All instructions have the same frame. General register 0 holds the function code (bits 57-63) and
//! what modifies it, general register 1 the address of the parameter block; even-odd pairs hold the
//! address and the length of an operand. Function code 0 stores, at the parameter block, one bit for
//! each function that is offered.
//!
//! Those that take a message are interruptible: one execution processes at most [`PIECE`] bytes of an
//! operand, less where only so much of it can be accessed, and then ends with condition code 3 when
//! there is more. Addresses and lengths in the registers have then advanced by what was processed, and
//! the parameter block holds what the next execution needs. Every exception is ruled out before
//! anything is changed: an execution processes something, or it has changed nothing.
//!
//! In the 24- and 31-bit addressing modes addresses wrap, lengths are of 32 bits, and bits 0-31 of
//! a register stay. Operands that overlap otherwise than by being the same give what
//! they give, as on every machine.
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

use crate::arch::interruption::ProgramInterruption as P;
use crate::guest::hardware::Hardware;
use crate::guest::millicode::execution::{Execution, fault};
use crate::guest::millicode::outcome::{Outcome, Performed};
use crate::msa::{Control, Function, Instruction};

/// How many bytes of an operand one execution processes at the most: this machine's choice.
const PIECE: u64 = 4096;

/// The register fields of an instruction; zero where there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Fields {
    r1: u8,
    r2: u8,
    r3: u8,
}

/// An instruction of the message-security assist that is being performed.
#[derive(Clone, Copy)]
struct Issue {
    fields: Fields,
    control: Control,
    function: Function,
}

/// Which fields must designate the even register of a pair: those that designate an operand.
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
        // What is offered has a function, but for function code 0.
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

/// Function code 0: the status word of the functions that are offered goes to the parameter block.
///
/// It is the only function of PCKMO: no key is ever wrapped here.
fn query<H: Hardware>(run: &mut Execution<'_, H>, offered: u128) -> Performed {
    let at = operand::parameter_address(run);
    run.put(at, &offered.to_be_bytes())?;
    run.done(crate::arch::condition::ConditionCode::Zero)
}
