//! Which storage operands an instruction accessed.
//!
//! A storage-alteration event and a model of a cache need it of every instruction that was stepped.
//! What there is to know is in the text, in the registers and the PSW before, and in those after: how
//! far a long move came, whether a swap was made. Storage is never looked at, so where storage itself
//! decides, as the bytes to be translated choose the entries of the table, [`Knowledge`] says that
//! something is missing. What is reported was accessed: nothing is a guess.
//!
//! - `table` sorts every assigned opcode, most of them by the places and lengths of their operands;
//! - `operand` is how a place and a length are found in the text;
//! - `progress` has the instructions whose registers tell how far they came;
//! - `function` has those for which a function code or a control in a register says what they do.
//!
//! An operand that is fetched and stored is reported once, as an update. Operands are in the order in
//! which a machine needs them, sources first. Instruction fetching is not an operand, the target of an
//! EXECUTE included, and neither is what an interruption stores. An operand of zero bytes is none: a
//! mask of zero accesses nothing here, although the machine may test one byte for an access exception.
//! So is the operand of a LOAD or STORE ON CONDITION whose condition is not met.

use arch::psw::{ADDRESSING_64, Psw};

use super::opcodes::opcode;
use super::operand::Operand;

mod function;
mod operand;
mod progress;
mod table;

#[cfg(test)]
mod tests;

/// The general registers and the left half of the PSW.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// General registers 0-15.
    pub general: &'a [u64; 16],
    /// PSW bits 0-63: condition code, addressing mode.
    pub mask: u64,
}

/// What happened to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It was fetched.
    Fetch,
    /// It was stored.
    Store,
    /// It was fetched and stored.
    Update,
}

impl Access {
    /// Whether storage was altered.
    #[must_use]
    pub const fn stores(self) -> bool {
        matches!(self, Self::Store | Self::Update)
    }
}

/// The address space of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandSpace {
    /// The one of the PSW's address-space control; in the access-register mode the one that the access
    /// register of this number designates, or for zero the primary space.
    Current(u8),
    /// The primary space.
    Primary,
    /// The secondary space.
    Secondary,
    /// The home space.
    Home,
    /// What the access register of this number designates (zero: the primary space), in whatever mode.
    AccessRegister(u8),
}

/// An access to a storage operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The logical address of its leftmost byte, in the addressing mode before the instruction.
    pub address: u64,
    /// How many bytes, one at least. Behind the last address of the mode it goes on at zero.
    pub length: u64,
    /// What happened to it.
    pub access: Access,
    /// Where it is.
    pub space: OperandSpace,
}

/// How much the references that were reported tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Knowledge {
    /// All of it.
    Complete,
    /// Every byte that was stored; something else was fetched, or may have been.
    StoresOnly,
    /// More may have been stored, and fetched, than was reported.
    Unknown,
    /// Nothing is reported: a control instruction, or one that millicode performs, which knows.
    Elsewhere,
}

/// Reports the storage operands of an instruction that has been executed.
///
/// `text` is as it was executed, ORed with the register of its EXECUTE; `at` is the text's own address,
/// to which relative operands are relative. `after` is the state when the instruction completed, was
/// interrupted between two units of operation, or ended with condition code 3 for less than all of its
/// operands. For an instruction that a program interruption suppressed or nullified there is nothing to
/// ask.
///
/// Of an interrupted comparison, which leaves no condition code, a byte more than it had compared may be
/// reported as fetched. An opcode that is not assigned has no operands, and [`Knowledge::Complete`] says so.
pub fn references(
    text: &[u8; 6],
    at: u64,
    before: &State<'_>,
    after: &State<'_>,
    sink: &mut impl FnMut(Reference),
) -> Knowledge {
    let sort = table::sort(opcode(text)).unwrap_or(table::Sort::Nothing);
    Step {
        text,
        at,
        before,
        after,
        wrap: Psw {
            mask: before.mask,
            address: 0,
        }
        .address_mask(),
        sink,
    }
    .report(sort)
}

/// An instruction, and the states before and after it.
struct Step<'a> {
    text: &'a [u8; 6],
    at: u64,
    before: &'a State<'a>,
    after: &'a State<'a>,
    /// The bits of an address.
    wrap: u64,
    sink: &'a mut dyn FnMut(Reference),
}

impl Step<'_> {
    fn report(&mut self, sort: table::Sort) -> Knowledge {
        use table::Sort;
        match sort {
            Sort::Nothing => Knowledge::Complete,
            Sort::One(access, place, extent) => {
                self.operand(access, place, extent);
                Knowledge::Complete
            }
            Sort::Several(operands) => {
                for &(access, place, extent) in operands {
                    self.operand(access, place, extent);
                }
                Knowledge::Complete
            }
            Sort::Partly(operands) => {
                for &(access, place, extent) in operands {
                    self.operand(access, place, extent);
                }
                Knowledge::StoresOnly
            }
            Sort::OnCondition(access, extent) => {
                if self.text[1] & 8 >> condition_code(self.before) != 0 {
                    self.operand(access, operand::Place::Long, extent);
                }
                Knowledge::Complete
            }
            Sort::Swap(place, extent) => {
                let swapped = condition_code(self.after) == 0;
                let access = if swapped {
                    Access::Update
                } else {
                    Access::Fetch
                };
                self.operand(access, place, extent);
                Knowledge::Complete
            }
            Sort::Counted(instruction) => self.progress(instruction),
            Sort::Controlled(instruction) => self.function(instruction),
            Sort::Unknown => Knowledge::Unknown,
            Sort::Control => Knowledge::Elsewhere,
        }
    }

    /// Reports an access, unless it is to no byte.
    fn access(&mut self, access: Access, address: u64, length: u64, space: OperandSpace) {
        if length != 0 {
            (self.sink)(Reference {
                address: address & self.wrap,
                length,
                access,
                space,
            });
        }
    }

    /// The same in the current space, with the register that designates the operand.
    fn by_register(&mut self, access: Access, register: u8, address: u64, length: u64) {
        self.access(
            access,
            address,
            length,
            OperandSpace::Current(register & 15),
        );
    }

    /// A register's content before.
    fn content(&self, register: u8) -> u64 {
        self.before.general[usize::from(register & 15)]
    }

    /// A register's content after.
    fn result(&self, register: u8) -> u64 {
        self.after.general[usize::from(register & 15)]
    }

    fn address(&self, operand: Operand) -> u64 {
        operand.address(self.before.general) & self.wrap
    }

    /// How far the address in a register has moved to the right.
    fn advance(&self, register: u8) -> u64 {
        self.result(register).wrapping_sub(self.content(register)) & self.wrap
    }

    /// The bits of a length in a register: all, or below the 64-bit mode bits 32-63.
    fn length_bits(&self) -> u64 {
        if self.before.mask & ADDRESSING_64 == ADDRESSING_64 {
            u64::MAX
        } else {
            u32::MAX.into()
        }
    }
}

fn condition_code(state: &State<'_>) -> u64 {
    state.mask >> 44 & 3
}
