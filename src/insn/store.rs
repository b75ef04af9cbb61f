//! Ordinary stores: the instructions by which programs store most.
//!
//! The hardware performs them. The firmware performs one only if the hardware may not store into its page.

use super::format::{ril, rs, rsy, rx, rxy, si, siy, ss_a, sse};
use super::opcodes::opcode;
use super::operand::{Operand, RelativeOffset};

/// What an instruction stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The rightmost bytes of a register.
    Register(u8),
    /// The rightmost bytes of an immediate value.
    Immediate(u64),
    /// As many bytes of each register from the first to the second one.
    Registers(u8, u8),
    /// The second operand.
    Second(Operand),
    /// The exclusive or of both operands.
    ExclusiveOr(Operand),
}

/// Where an instruction stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By base, index and displacement.
    Operand(Operand),
    /// Relative to the instruction.
    Relative(RelativeOffset),
}

/// An ordinary store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// What it stores.
    pub what: What,
    /// Where it stores.
    pub place: Place,
    /// The bytes of the operand, or of each register.
    pub width: u16,
}

impl Store {
    /// The instruction with this text, if it is one.
    #[must_use]
    #[inline]
    pub fn decode(text: &[u8; 6]) -> Option<Self> {
        use What::{ExclusiveOr, Immediate, Register, Registers, Second};
        let x = || Place::Operand(rx::second(text));
        let xy = || Place::Operand(rxy::second(text));
        let y = || Place::Operand(siy::first(text));
        let b = || Place::Operand(si::first(text));
        let relative = || Place::Relative(ril::ri2(text));
        let byte = Immediate(text[1].into());
        let halfword = || Immediate(i64::from(i16::from_be_bytes([text[4], text[5]])) as u64);
        let register = Register(text[1] >> 4);
        let registers = || Registers(rs::r1(text), rs::r3(text));
        let (what, place, width) = match opcode(text) {
            // ST, STH, STC.
            0x5000 => (register, x(), 4),
            0x4000 => (register, x(), 2),
            0x4200 => (register, x(), 1),
            // STG, STY, STHY, STCY.
            0xE324 => (register, xy(), 8),
            0xE350 => (register, xy(), 4),
            0xE370 => (register, xy(), 2),
            0xE372 => (register, xy(), 1),
            // STGRL, STRL, STHRL.
            0xC40B => (register, relative(), 8),
            0xC40F => (register, relative(), 4),
            0xC407 => (register, relative(), 2),
            // MVI, MVIY, MVHHI, MVHI, MVGHI.
            0x9200 => (byte, b(), 1),
            0xEB52 => (byte, y(), 1),
            0xE544 => (halfword(), Place::Operand(sse::first(text)), 2),
            0xE54C => (halfword(), Place::Operand(sse::first(text)), 4),
            0xE548 => (halfword(), Place::Operand(sse::first(text)), 8),
            // STM, STMY, STMG.
            0x9000 => (registers(), Place::Operand(rs::second(text)), 4),
            0xEB90 => (registers(), Place::Operand(rsy::second(text)), 4),
            0xEB24 => (registers(), Place::Operand(rsy::second(text)), 8),
            // MVC, XC.
            0xD200 | 0xD700 => {
                let second = ss_a::second(text);
                let what = match text[0] {
                    0xD2 => Second(second),
                    _ => ExclusiveOr(second),
                };
                let first = Place::Operand(ss_a::first(text));
                (what, first, u16::from(ss_a::l(text)) + 1)
            }
            _ => return None,
        };
        Some(Self { what, place, width })
    }

    /// The logical address of the leftmost byte, which the caller wraps in the addressing mode. The instruction is at `at`.
    #[must_use]
    #[inline]
    pub fn address(&self, at: u64, general: &[u64; 16]) -> u64 {
        match self.place {
            Place::Operand(operand) => operand.address(general),
            Place::Relative(offset) => at.wrapping_add_signed(offset.bytes()),
        }
    }

    /// The bytes that it stores.
    #[must_use]
    #[inline]
    pub const fn length(&self) -> u64 {
        let times = match self.what {
            What::Registers(r1, r3) => (r3.wrapping_sub(r1) & 15) as u64 + 1,
            _ => 1,
        };
        times * self.width as u64
    }
}
