//! The text of an instruction that is being performed.

use insn;

/// The text of an instruction that is being performed, and where it stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// Up to six bytes of the instruction itself (the target, if it was executed).
    pub bytes: [u8; 6],
    /// The length by which the instruction address advances: that of the EXECUTE, if there was one.
    pub length: u8,
    /// Whether the instruction is the target of an EXECUTE.
    pub executed: bool,
}

impl Text {
    /// No text.
    pub const NONE: Self = Self {
        bytes: [0; 6],
        length: 0,
        executed: false,
    };

    /// An instruction that is not the target of an EXECUTE.
    #[must_use]
    #[inline(always)]
    pub const fn of(bytes: [u8; 6]) -> Self {
        Self {
            bytes,
            length: insn::length(bytes[0]) as u8,
            executed: false,
        }
    }
}
