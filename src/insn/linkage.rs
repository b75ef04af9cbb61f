//! Calls and returns, by the convention of programs for this architecture: a call places the address of the next instruction in
//! general register 14, and a return branches there by a register. The hardware knows nothing of it.

/// What a branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call.
    Call,
    /// Possibly a return, by this register.
    Return(u8),
    /// Anything else, or no branch.
    Other,
}

impl Kind {
    /// Of the branch with a text.
    #[must_use]
    pub const fn of(text: &[u8; 6]) -> Self {
        const LINK: u8 = 14;
        let (first, second) = (text[1] >> 4, text[1] & 15);
        match text[0] {
            // BRAS and BRASL.
            0xA7 | 0xC0 if second == 5 && first == LINK => Self::Call,
            // BALR, BASSM and BASR, which do not branch by register 0; BAL and BAS.
            0x05 | 0x0C | 0x0D if second != 0 && first == LINK => Self::Call,
            0x45 | 0x4D if first == LINK => Self::Call,
            // BCR and BSM.
            0x07 | 0x0B if second != 0 => Self::Return(second),
            // BC with a base and no index.
            0x47 if second == 0 && text[2] >> 4 != 0 => Self::Return(text[2] >> 4),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_links_by_register_14_and_a_return_branches_by_a_register() {
        for (text, kind) in [
            ([0xC0, 0xE5, 0, 0, 1, 0], Kind::Call),
            ([0xA7, 0xE5, 0, 8, 0, 0], Kind::Call),
            ([0x0D, 0xE1, 0, 0, 0, 0], Kind::Call),
            ([0x4D, 0xE0, 0x10, 0, 0, 0], Kind::Call),
            ([0x07, 0xFE, 0, 0, 0, 0], Kind::Return(14)),
            ([0x07, 0x81, 0, 0, 0, 0], Kind::Return(1)),
            ([0x47, 0xF0, 0xE0, 4, 0, 0], Kind::Return(14)),
            // BRAS and BASR of another register, BASR that does not branch, BRC, BCR that does not branch, BC with an index, LR.
            ([0xA7, 0xD5, 0, 8, 0, 0], Kind::Other),
            ([0x0D, 0x1E, 0, 0, 0, 0], Kind::Other),
            ([0x0D, 0xE0, 0, 0, 0, 0], Kind::Other),
            ([0xA7, 0xF4, 0, 8, 0, 0], Kind::Other),
            ([0x07, 0xF0, 0, 0, 0, 0], Kind::Other),
            ([0x47, 0xF1, 0xE0, 0, 0, 0], Kind::Other),
            ([0x18, 0xE1, 0, 0, 0, 0], Kind::Other),
        ] {
            assert_eq!(Kind::of(&text), kind, "{text:X?}");
        }
    }
}
