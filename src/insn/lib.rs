//! Decode: instruction text to an enumeration with named fields.
//!
//! A millicode routine takes an [`Instruction`] and never sees raw bits; the decoder sees raw bits
//! and never touches state. The decoder does not use registers, the PSW or facility bits. So the
//! routine of an instruction decides whether it is privileged, installed and well-formed, in the
//! order of priority that its description gives.
//!
//! - [`instruction`] lists the instructions that the firmware may have to perform: the control
//!   instructions, those that the machine below lacks, and EXECUTE, which can hide any of them.
//! - [`opcodes`] lists every opcode of z/Architecture, performed here or not, without operands.
//! - [`sensitive`] finds the few instructions that do not trap and show a deprivileged guest too much,
//!   and decides which occurrences of their bits are instructions; `suspects` has the bits, [`flow`] follows branches for it, and
//!   [`executed`] knows what EXECUTE can make of an instruction. [`strict`] decides nothing, and replaces all of them.
//!   [`split`] has those that their first halfword does not tell.
//!
//! Three more modules take the registers and the PSW along with the text, for the single step that runs an
//! instruction and reports what it did. They do not access storage or change anything either.
//!
//! - [`branch`] determines what a branch instruction does: its target and the register that it changes.
//! - [`references`] determines which storage operands an instruction accessed.
//! - [`placed`] determines in which general registers it placed values.
//!
//! [`linkage`] tells calls and returns by the convention of programs.
//!
//! [`relative`] has the instructions whose operand the architecture finds in the space of the instructions.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod branch;
mod caught;
pub mod executed;
pub mod flow;
mod format;
pub mod instruction;
pub mod linkage;
mod offsets;
pub mod opcodes;
pub mod operand;
pub mod placed;
mod plain;
pub mod references;
pub mod relative;
pub mod sensitive;
pub mod split;
pub mod store;
pub mod strict;
mod suspects;

#[cfg(test)]
mod tests;

pub use instruction::{
    Instruction, decode, decode_common, decode_listed, decode_move, decode_real,
};
pub use offsets::Offsets;
pub use opcodes::{assigned, opcode};
pub use operand::{Operand, RelativeOffset};

/// The length of an instruction in bytes (2, 4 or 6), from bits 0-1 of its first byte.
#[must_use]
#[inline]
pub const fn length(first_byte: u8) -> usize {
    match first_byte >> 6 {
        0 => 2,
        1 | 2 => 4,
        _ => 6,
    }
}

/// The address of the target of an EXECUTE at `at`, to which the addressing mode has yet to be applied, and its R1 field;
/// `None` for any other instruction.
#[must_use]
#[inline(always)]
pub fn target(instruction: &Instruction, at: u64, general: &[u64; 16]) -> Option<(u64, u8)> {
    match *instruction {
        Instruction::Ex { r1, second } => Some((second.address(general), r1)),
        Instruction::Exrl { r1, ri2 } => Some((at.wrapping_add_signed(ri2.bytes()), r1)),
        _ => None,
    }
}

/// The target of an EXECUTE as executed: unless its R1 field is zero, bits 8-15 are ORed with bits 56-63 of general
/// register R1. The text in storage does not change.
#[must_use]
#[inline]
pub const fn modified_target(mut target: [u8; 6], r1: u8, general: &[u64; 16]) -> [u8; 6] {
    if r1 != 0 {
        target[1] |= general[(r1 & 15) as usize] as u8;
    }
    target
}
