//! The instructions that can follow an instruction, as far as its text alone determines them.
//!
//! The scanner follows it to learn which bytes of a page are instructions.

use super::format;
use super::opcodes::opcode;

/// What follows an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next sequential instruction; a conditional branch, a call and a supervisor call count
    /// here, since control comes back.
    Sequential,
    /// The next sequential instruction and the one at this distance in bytes: a conditional relative
    /// branch, or a relative call.
    SequentialOr(i64),
    /// The instruction at this distance in bytes: an unconditional relative branch, or a BRAS forward.
    Only(i64),
    /// An address that the text does not give; what follows the instruction need not be an instruction.
    Elsewhere,
}

impl Next {
    /// Whether the next sequential instruction can follow.
    #[must_use]
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::Sequential | Self::SequentialOr(_))
    }

    /// The distance in bytes to the branch target, if the text gives it.
    #[must_use]
    pub const fn distance(self) -> Option<i64> {
        match self {
            Self::SequentialOr(distance) | Self::Only(distance) => Some(distance),
            Self::Sequential | Self::Elsewhere => None,
        }
    }
}

/// Whether more is to be known about an instruction with this opcode than where it ends: it may branch, or names another
/// instruction, as EXECUTE RELATIVE LONG does. [`next`] has the same opcodes.
#[must_use]
pub(super) const fn is_special(text: &[u8; 6]) -> bool {
    matches!(
        opcode(text),
        0x0101 | 0x0700 | 0x0B00 | 0x4700 | 0x8200 | 0x8400 | 0x8500 | 0xA704..=0xA707
            | 0xB228 | 0xB258 | 0xB25A | 0xB2B2 | 0xB99E | 0xC004 | 0xC005 | 0xC600 | 0xCC06
            | 0xE347 | 0xEB71 | 0xEC44 | 0xEC45 | 0xEC64 | 0xEC65 | 0xEC76 | 0xEC77
            | 0xEC7C..=0xEC7F
    )
}

/// Determines what follows an instruction.
#[must_use]
pub fn next(text: &[u8; 6]) -> Next {
    let short = i64::from(i16::from_be_bytes([text[2], text[3]])) * 2;
    let long = format::ril::ri2(text).bytes();
    let mask = text[1] >> 4;
    let branch = |mask: u8, distance: i64| match mask {
        0 => Next::Sequential,
        15 => Next::Only(distance),
        _ => Next::SequentialOr(distance),
    };
    match opcode(text) {
        // BSM, BCR with a register: register 0 means no branch.
        0x0B00 if text[1] & 15 != 0 => Next::Elsewhere,
        0x0700 if mask == 15 && text[1] & 15 != 0 => Next::Elsewhere,
        // BC, BIC; PR, LPSW, PT, LPSWE, BSG, BSA, PTI, LPSWEY.
        0x4700 | 0xE347 if mask == 15 => Next::Elsewhere,
        0x0101 | 0x8200 | 0xB228 | 0xB2B2 | 0xB258 | 0xB25A | 0xB99E | 0xEB71 => Next::Elsewhere,
        // BRC, BRCL.
        0xA704 => branch(mask, short),
        0xC004 => branch(mask, long),
        // BRAS forward: compilers and programmers use it to skip the constants that they put after it.
        0xA705 if short > 4 => Next::Only(short),
        // BRAS, BRCT, BRCTG, BRXH, BRXLE, BRXHG, BRXLG.
        0xA705..=0xA707 | 0x8400 | 0x8500 | 0xEC44 | 0xEC45 => Next::SequentialOr(short),
        // CGRJ, CLGRJ, CRJ, CLRJ and CGIJ, CLGIJ, CIJ, CLIJ.
        0xEC64 | 0xEC65 | 0xEC76 | 0xEC77 | 0xEC7C..=0xEC7F => Next::SequentialOr(short),
        // BRASL, BRCTH.
        0xC005 | 0xCC06 => Next::SequentialOr(long),
        _ => Next::Sequential,
    }
}
