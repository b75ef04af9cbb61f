//! Decode: instruction text to an enumeration with named fields.
//!
//! A millicode routine takes an [`Instruction`] and never sees raw bits; the decoder sees raw bits
//! and never touches state. Nothing of it knows a register's content, a PSW or a facility bit, so
//! whether an instruction is privileged, installed or well-formed is for its routine to say, in the
//! order of priority that its description gives.
//!
//! - [`instruction`] names what the firmware may have to perform: the control instructions, those
//!   that the machine below leaves out, and EXECUTE, which can hide any of them.
//! - [`opcodes`] knows every opcode of z/Architecture, performed here or not, and nothing of operands.
//! - [`sensitive`] finds the few instructions that tell a deprivileged guest too much and do not
//!   trap, and says which of the places where their bits stand are instructions; [`flow`] is what it
//!   needs to know of branching.
//!
//! Two more are given the registers and the PSW along with the text, for the single step that runs an
//! instruction and has to say what it did; they look at no storage and change nothing either.
//!
//! - [`branch`] says what a branch instruction does: where it goes and which register it changes.
//! - [`references`] says which storage operands an instruction accessed.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod branch;
pub mod flow;
mod format;
pub mod instruction;
mod offsets;
pub mod opcodes;
pub mod operand;
pub mod references;
pub mod sensitive;

#[cfg(test)]
mod tests;

pub use instruction::{Instruction, decode, decode_common, decode_real};
pub use offsets::Offsets;
pub use opcodes::{assigned, opcode};
pub use operand::{Operand, RelativeOffset};

/// The length of an instruction in bytes (2, 4 or 6), which bits 0-1 of its first byte give.
#[must_use]
#[inline]
pub const fn length(first_byte: u8) -> usize {
    match first_byte >> 6 {
        0 => 2,
        1 | 2 => 4,
        _ => 6,
    }
}

/// Where the target of an EXECUTE at `at` is, which the addressing mode has yet to wrap, and its R1 field; `None` of any other
/// instruction.
#[must_use]
#[inline(always)]
pub fn target(instruction: &Instruction, at: u64, general: &[u64; 16]) -> Option<(u64, u8)> {
    match *instruction {
        Instruction::Ex { r1, second } => Some((second.address(general), r1)),
        Instruction::Exrl { r1, ri2 } => Some((at.wrapping_add_signed(ri2.bytes()), r1)),
        _ => None,
    }
}

/// The target of an EXECUTE as it is performed: unless its R1 field is zero, bits 8-15 are ORed with bits 56-63 of general
/// register R1. The text in storage stays as it is.
#[must_use]
#[inline]
pub const fn modified_target(mut target: [u8; 6], r1: u8, general: &[u64; 16]) -> [u8; 6] {
    if r1 != 0 {
        target[1] |= general[(r1 & 15) as usize] as u8;
    }
    target
}
