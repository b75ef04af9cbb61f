//! The condition code: two bits of the PSW.

/// The condition code that an instruction sets in bits 18-19 of the PSW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ConditionCode {
    /// Condition code 0.
    Zero = 0,
    /// Condition code 1.
    One = 1,
    /// Condition code 2.
    Two = 2,
    /// Condition code 3.
    Three = 3,
}

impl ConditionCode {
    /// The condition code in the two rightmost bits of `value`.
    #[must_use]
    #[inline]
    pub const fn from_bits(value: u8) -> Self {
        match value & 3 {
            0 => Self::Zero,
            1 => Self::One,
            2 => Self::Two,
            _ => Self::Three,
        }
    }
}
