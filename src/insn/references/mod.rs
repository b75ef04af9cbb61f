//! Which storage operands an instruction accessed.
//!
//! Storage-alteration events and the cache model need this for every instruction that was stepped. It
//! follows from the text, and from the registers and the PSW before and after the instruction: how far a
//! long move advanced, whether a swap was made. This room never reads storage. Where the contents of
//! storage decide, as the bytes to translate select entries of the table, [`Knowledge`] says that
//! something is missing. Everything that is reported was accessed: nothing is a guess.
//!
//! - `table` sorts every assigned opcode, most of them by the places and lengths of their operands;
//! - `operand` finds a place and a length in the text;
//! - `progress` has the instructions whose registers show how far they advanced;
//! - `control` has what control instructions store, which is asked for separately;
//! - `function` has the instructions that a function code or a control in a register determines.
//!
//! An operand that is fetched and stored is reported once, as an update. Operands are in the order in
//! which a machine needs them, sources first. Instruction fetches, including targets of EXECUTE, are not
//! operands, and neither is what an interruption stores. An operand of zero bytes is not reported: a mask
//! of zero accesses nothing here, although the machine may test one byte for an access exception. Nor is
//! the operand of a LOAD or STORE ON CONDITION when the condition is not met.

use arch::psw::{ADDRESSING_64, Psw};

use super::opcodes::opcode;
use super::operand::Operand;

mod control;
mod function;
mod operand;
mod progress;
mod table;

pub use control::stored_by_control;

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

/// The access to an operand.
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
    /// Whether the access altered storage.
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
    /// The space that the access register of this number designates (zero: the primary space), in any mode.
    AccessRegister(u8),
}

/// An access to a storage operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The logical address of its leftmost byte, in the addressing mode before the instruction.
    pub address: u64,
    /// The number of bytes, at least one. The operand wraps from the last address of the mode to zero.
    pub length: u64,
    /// The type of access.
    pub access: Access,
    /// The address space.
    pub space: OperandSpace,
}

/// How complete the reported references are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Knowledge {
    /// All references are reported.
    Complete,
    /// All stores are reported; something else was fetched, or may have been.
    StoresOnly,
    /// More than the reported bytes may have been stored and fetched.
    Unknown,
    /// Nothing is reported: a control instruction, or one that millicode performs, which knows its operands.
    Elsewhere,
}

/// Reports the storage operands of an instruction that has been executed.
///
/// `text` is the text as executed, ORed with the register of its EXECUTE; `at` is the text's own address,
/// to which relative operands are relative. `after` is the state when the instruction completed, was
/// interrupted between two units of operation, or ended with condition code 3 before the end of its
/// operands. Do not call this for an instruction that a program interruption suppressed or nullified.
///
/// An interrupted comparison sets no condition code, so one byte more than it compared may be reported as
/// fetched. An opcode that is not assigned has no operands, which is [`Knowledge::Complete`].
pub fn references(
    text: &[u8; 6],
    at: u64,
    before: &State<'_>,
    after: &State<'_>,
    sink: &mut impl FnMut(Reference),
) -> Knowledge {
    let sort = table::sort(opcode(text)).unwrap_or(table::Sort::Nothing);
    step(text, at, before, after, sink).report(sort)
}

fn step<'a>(
    text: &'a [u8; 6],
    at: u64,
    before: &'a State<'a>,
    after: &'a State<'a>,
    sink: &'a mut impl FnMut(Reference),
) -> Step<'a> {
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

    /// Reports an access, unless its length is zero.
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

    /// The content of a register before.
    fn content(&self, register: u8) -> u64 {
        self.before.general[usize::from(register & 15)]
    }

    /// The content of a register after.
    fn result(&self, register: u8) -> u64 {
        self.after.general[usize::from(register & 15)]
    }

    fn address(&self, operand: Operand) -> u64 {
        operand.address(self.before.general) & self.wrap
    }

    /// How far the address in a register has advanced.
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
