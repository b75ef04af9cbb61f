//! The instructions that a register determines: by a function code, a length, or an access control.
//!
//! Each follows the description of its instruction in the Principles of Operation.

use super::operand::Place;
use super::{Access, Knowledge, OperandSpace, Step, condition_code};
use crate::format;

/// An instruction, or several that differ in the given value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// BRANCH INDIRECT ON CONDITION.
    BranchIndirect,
    /// MOVE INVERSE.
    MoveInverse,
    /// MOVE RIGHT TO LEFT.
    MoveRightToLeft,
    /// MOVE PAGE.
    MovePage,
    /// MOVE TO PRIMARY.
    MoveToPrimary,
    /// MOVE TO SECONDARY.
    MoveToSecondary,
    /// MOVE WITH KEY.
    MoveWithKey,
    /// MOVE WITH SOURCE KEY, MOVE WITH DESTINATION KEY.
    MoveWithKeyInRegister,
    /// MOVE WITH OPTIONAL SPECIFICATIONS.
    MoveWithOptionalSpecifications,
    /// STORE FACILITY LIST EXTENDED.
    StoreFacilityList,
    /// EXTRACT CPU TIME.
    ExtractCpuTime,
    /// COMPARE AND SWAP AND STORE.
    CompareAndSwapAndStore,
    /// PERFORM LOCKED OPERATION.
    PerformLockedOperation,
    /// CIPHER MESSAGE and its chained variants: R1 and R2, with the length in R2 + 1.
    Cipher,
    /// CIPHER MESSAGE WITH COUNTER: the same with counters at R3.
    CipherWithCounter,
    /// COMPUTE INTERMEDIATE MESSAGE DIGEST, COMPUTE LAST MESSAGE DIGEST, COMPUTE MESSAGE AUTHENTICATION CODE.
    Digest,
    /// PERFORM RANDOM NUMBER OPERATION.
    RandomNumber,
    /// An instruction with a parameter block and a query function; its other functions are not distinguished.
    Queried,
}

impl Step<'_> {
    pub(super) fn function(&mut self, instruction: Function) -> Knowledge {
        match instruction {
            Function::BranchIndirect => {
                if self.text[1] >> 4 & 8 >> condition_code(self.before) != 0 {
                    let (address, base) = self.place(Place::IndexedLong);
                    self.access(Access::Fetch, address, 8, OperandSpace::Current(base));
                }
            }
            Function::MoveInverse => {
                let length = u64::from(self.text[1]) + 1;
                let (source, base) = self.place(Place::Behind);
                let leftmost = source.wrapping_sub(length - 1);
                self.access(Access::Fetch, leftmost, length, OperandSpace::Current(base));
                let (destination, base) = self.place(Place::Base);
                self.access(
                    Access::Store,
                    destination,
                    length,
                    OperandSpace::Current(base),
                );
            }
            Function::MoveRightToLeft => {
                let length = (self.content(0) & 0xFF) + 1;
                self.move_between(length, None, None);
            }
            Function::MovePage => self.move_page(),
            Function::MoveToPrimary => {
                let length = self.true_length(256);
                self.move_between(
                    length,
                    Some(OperandSpace::Primary),
                    Some(OperandSpace::Secondary),
                );
            }
            Function::MoveToSecondary => {
                let length = self.true_length(256);
                self.move_between(
                    length,
                    Some(OperandSpace::Secondary),
                    Some(OperandSpace::Primary),
                );
            }
            Function::MoveWithKey => {
                let length = self.true_length(256);
                self.move_between(length, None, None);
            }
            Function::MoveWithKeyInRegister => {
                let length = (self.content(1) & 0xFF) + 1;
                self.move_between(length, None, None);
            }
            Function::MoveWithOptionalSpecifications => {
                let length = self.true_length(4096);
                let controls = self.content(0);
                let first = format::ssf::first(self.text).base;
                let second = format::ssf::second(self.text).base;
                let spaces = (
                    specified(controls >> 16, first),
                    specified(controls, second),
                );
                self.move_between(length, Some(spaces.0), Some(spaces.1));
            }
            Function::StoreFacilityList => {
                let (address, base) = self.place(Place::Base);
                let doublewords = (self.content(0) & 0xFF).min(self.result(0) & 0xFF) + 1;
                self.access(
                    Access::Store,
                    address,
                    doublewords * 8,
                    OperandSpace::Current(base),
                );
            }
            Function::ExtractCpuTime => {
                for place in [Place::Base, Place::Behind] {
                    let (address, base) = self.place(place);
                    self.access(Access::Fetch, address, 8, OperandSpace::Current(base));
                }
                let r3 = self.text[1] >> 4;
                self.by_register(Access::Fetch, r3, self.content(r3), 8);
            }
            Function::CompareAndSwapAndStore => self.compare_and_swap_and_store(),
            Function::PerformLockedOperation => return self.perform_locked_operation(),
            Function::Cipher
            | Function::CipherWithCounter
            | Function::Digest
            | Function::RandomNumber
            | Function::Queried => return self.security(instruction),
        }
        Knowledge::Complete
    }

    /// The true length in R1 or R3 (left half of byte 1), up to the most that one execution moves.
    fn true_length(&self, most: u64) -> u64 {
        (self.content(self.text[1] >> 4) & self.length_bits()).min(most)
    }

    /// Moves from the operand in bytes 4-5 to the one in bytes 2-3.
    fn move_between(
        &mut self,
        length: u64,
        first: Option<OperandSpace>,
        second: Option<OperandSpace>,
    ) {
        let (source, base) = self.place(Place::Behind);
        let space = second.unwrap_or(OperandSpace::Current(base));
        self.access(Access::Fetch, source, length, space);
        let (destination, base) = self.place(Place::Base);
        let space = first.unwrap_or(OperandSpace::Current(base));
        self.access(Access::Store, destination, length, space);
    }

    /// The condition code shows whether the page was moved.
    fn move_page(&mut self) {
        if condition_code(self.after) == 0 {
            let (r1, r2) = (self.text[3] >> 4, self.text[3] & 15);
            self.by_register(Access::Fetch, r2, self.content(r2) & !0xFFF, 0x1000);
            self.by_register(Access::Store, r1, self.content(r1) & !0xFFF, 0x1000);
        }
    }

    /// Register 0 has the function code, which gives the size of the comparison, and the store characteristic;
    /// register 1 has the address of the replacement value, and the store value is 16 bytes after it.
    fn compare_and_swap_and_store(&mut self) {
        let compared = 4 << (self.content(0) & 3);
        let stored = 1_u64 << (self.content(0) >> 8 & 7).min(4);
        let parameters = self.content(1);
        let (first, first_base) = self.place(Place::Base);
        self.by_register(Access::Fetch, 1, parameters, compared);
        if condition_code(self.after) != 0 {
            self.access(
                Access::Fetch,
                first,
                compared,
                OperandSpace::Current(first_base),
            );
            return;
        }
        self.by_register(Access::Fetch, 1, parameters.wrapping_add(16), stored);
        self.access(
            Access::Update,
            first,
            compared,
            OperandSpace::Current(first_base),
        );
        let (second, base) = self.place(Place::Behind);
        self.access(Access::Store, second, stored, OperandSpace::Current(base));
    }

    /// Each operation has four functions: with operands of 32 bits, of 64 in the parameter list, of 64 in
    /// registers, of 128 in the parameter list. Where the fourth operand is a parameter list, its addresses
    /// are in storage.
    fn perform_locked_operation(&mut self) -> Knowledge {
        let (function, test) = (self.content(0) & 0xFF, self.content(0) & 0x100 != 0);
        if test {
            return Knowledge::Complete;
        }
        let bytes = match function & 3 {
            0 => 4,
            3 => 16,
            _ => 8,
        };
        let in_registers = function & 1 == 0;
        let equal = condition_code(self.after) == 0;
        let (second, base) = self.place(Place::Base);
        let (fourth, fourth_base) = self.place(Place::Behind);
        let (space, fourth_space) = (
            OperandSpace::Current(base),
            OperandSpace::Current(fourth_base),
        );
        let operation = function >> 2;
        let replaced = match operation {
            _ if !equal => Access::Fetch,
            0 => Access::Fetch,
            _ => Access::Update,
        };
        self.access(replaced, second, bytes, space);
        match (operation, in_registers) {
            // Compare and load; compare and swap; double compare and swap; compare and swap and store.
            (0, true) if equal => self.access(Access::Fetch, fourth, bytes, fourth_space),
            (0, true) | (1, true) => {}
            (2, true) if equal => self.access(Access::Update, fourth, bytes, fourth_space),
            (2, true) if condition_code(self.after) == 2 => {
                self.access(Access::Fetch, fourth, bytes, fourth_space);
            }
            (2, true) => {}
            (3, true) if equal => self.access(Access::Store, fourth, bytes, fourth_space),
            (3, true) => {}
            // The other operands are in the parameter list, or at addresses in it.
            _ => return Knowledge::Unknown,
        }
        Knowledge::Complete
    }

    /// The message-security assist. Function code 0 of each stores the list of its functions, 16 bytes at the
    /// parameter block in register 1. For the others the messages are reported by their lengths, but not the
    /// parameter block, which may be chained.
    fn security(&mut self, instruction: Function) -> Knowledge {
        let function = self.content(0) & 0x7F;
        if function == 0 {
            self.by_register(Access::Store, 1, self.content(1), 16);
            return Knowledge::Complete;
        }
        let (r1, r2, r3) = (self.text[3] >> 4, self.text[3] & 15, self.text[2] >> 4);
        let bits = self.length_bits();
        match instruction {
            Function::Cipher | Function::CipherWithCounter => {
                let length = self.counted(r2, bits);
                self.by_register(Access::Fetch, r2, self.content(r2), length);
                if instruction == Function::CipherWithCounter {
                    self.by_register(Access::Fetch, r3, self.content(r3), length);
                }
                self.by_register(Access::Store, r1, self.content(r1), length);
            }
            Function::Digest => {
                let length = self.counted(r2, bits);
                self.by_register(Access::Fetch, r2, self.content(r2), length);
            }
            // True random numbers have no parameter block.
            Function::RandomNumber if function == 114 => {
                for register in [r1, r2] {
                    let length = self.counted(register, bits);
                    self.by_register(Access::Store, register, self.content(register), length);
                }
                return Knowledge::Complete;
            }
            _ => {}
        }
        Knowledge::Unknown
    }
}

/// The space of an operand-access control of MOVE WITH OPTIONAL SPECIFICATIONS: the one in bits 8-9 if
/// bit 15 is one.
fn specified(control: u64, base: u8) -> OperandSpace {
    match (control & 1, control >> 6 & 3) {
        (0, _) => OperandSpace::Current(base),
        (_, 0) => OperandSpace::Primary,
        (_, 1) => OperandSpace::AccessRegister(base),
        (_, 2) => OperandSpace::Secondary,
        (_, _) => OperandSpace::Home,
    }
}
