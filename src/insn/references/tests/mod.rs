//! Operands in given states, as the Principles of Operation describes them, and the completeness of the table.

mod assignment;
mod described;
mod progress;

use super::Access::{Fetch, Store, Update};
use super::{Access, Knowledge, OperandSpace, Reference, State, references};
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING};

/// An instruction's text from its number: two, four or six bytes.
fn text(number: u64) -> [u8; 6] {
    let bytes = number.to_be_bytes();
    let first = bytes.iter().position(|&byte| byte != 0).unwrap_or(7);
    let mut text = [0; 6];
    text[..8 - first].copy_from_slice(&bytes[first..]);
    text
}

/// The states before and after an instruction.
struct Run {
    general: [u64; 16],
    mask: u64,
    after: [u64; 16],
    code: u64,
}

/// General register n has n * 10000 hexadecimal, before and after; 64-bit mode; condition code zero.
fn run() -> Run {
    let general = core::array::from_fn(|n| n as u64 * 0x1_0000);
    Run {
        general,
        mask: ADDRESSING_64,
        after: general,
        code: 0,
    }
}

impl Run {
    /// With this content of a register before and after.
    fn with(mut self, register: usize, content: u64) -> Self {
        self.general[register] = content;
        self.after[register] = content;
        self
    }

    /// With another content of a register afterwards.
    fn then(mut self, register: usize, content: u64) -> Self {
        self.after[register] = content;
        self
    }

    /// With a condition code afterwards.
    fn code(mut self, code: u64) -> Self {
        self.code = code;
        self
    }

    /// In another addressing mode or with a condition code before.
    fn mask(mut self, mask: u64) -> Self {
        self.mask = mask;
        self
    }

    /// Runs an instruction at 8000.
    fn of(&self, number: u64) -> (Vec<Reference>, Knowledge) {
        let mut found = Vec::new();
        let before = State {
            general: &self.general,
            mask: self.mask,
        };
        let after = State {
            general: &self.after,
            mask: self.mask & !(3 << 44) | self.code << 44,
        };
        let sink = &mut |reference| found.push(reference);
        let knowledge = references(&text(number), 0x8000, &before, &after, sink);
        (found, knowledge)
    }

    /// Asserts that an instruction has exactly these operands.
    #[track_caller]
    fn gives(&self, number: u64, expected: &[Reference]) {
        let (found, knowledge) = self.of(number);
        assert_eq!(found, expected, "{number:X}");
        assert_eq!(knowledge, Knowledge::Complete, "{number:X}");
    }

    /// The same, when more may have been fetched.
    #[track_caller]
    fn gives_stores(&self, number: u64, expected: &[Reference]) {
        let (found, knowledge) = self.of(number);
        assert_eq!(found, expected, "{number:X}");
        assert_eq!(knowledge, Knowledge::StoresOnly, "{number:X}");
    }
}

/// A reference in the current space by this register.
fn at(access: Access, address: u64, length: u64, register: u8) -> Reference {
    Reference {
        address,
        length,
        access,
        space: OperandSpace::Current(register),
    }
}
