//! Operands as the instruction designates them, before registers are used.

use core::fmt;

/// A storage operand: base register, index register and displacement, or the second-operand
/// "address" of an instruction that uses its bits as an immediate value.
///
/// The displacement is signed, so that one type serves the 12-bit (0 to 4095) and the 20-bit (-524288 to
/// 524287) displacement. A register number of zero means no register, not register 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// X2; zero in a format without it. (R1 of MVCP, MVCS and MVCK, which assembler language
    /// writes in this place, is a length and not part of the address.)
    pub index: u8,
    /// B1, B2 or B4.
    pub base: u8,
    /// D1, D2 or D4.
    pub displacement: i32,
}

impl Operand {
    /// The sum of base, index and displacement; the caller applies the addressing mode to it.
    #[must_use]
    #[inline]
    pub fn address(&self, registers: &[u64; 16]) -> u64 {
        let content = |number: u8| match number & 15 {
            0 => 0,
            number => registers[usize::from(number)],
        };
        content(self.base)
            .wrapping_add(content(self.index))
            .wrapping_add_signed(i64::from(self.displacement))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.displacement < 0 { "-" } else { "" };
        write!(f, "{sign}{:#x}", self.displacement.unsigned_abs())?;
        match (self.index, self.base) {
            (0, 0) => Ok(()),
            (0, base) => write!(f, "({base})"),
            (index, base) => write!(f, "({index},{base})"),
        }
    }
}

/// A relative-immediate operand (I2 or RI2): a signed number of halfwords from the address of the
/// instruction, or, when the instruction is the target of an EXECUTE, from the target's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelativeOffset(pub i32);

impl RelativeOffset {
    /// The distance in bytes.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> i64 {
        self.0 as i64 * 2
    }
}

impl fmt::Display for RelativeOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        write!(f, "*{sign}{:#x}", self.bytes().unsigned_abs())
    }
}
