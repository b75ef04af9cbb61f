//! Instructions with a relative-long operand in storage.
//!
//! The architecture has them find it in the space of the instructions. Where that space is translated by tables of its
//! own, the machine may have to perform them.

/// What an instruction does with its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Loads it into the register of R1.
    Load,
    /// Stores the register of R1 into it.
    Store,
    /// Compares the register of R1 with it, and sets the condition code.
    Compare,
}

/// An instruction with a relative-long operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    /// What it does.
    pub used: Use,
    /// The register.
    pub r1: u8,
    /// The address of the operand, to which the addressing mode has yet to be applied.
    pub at: u64,
    /// The bytes of the operand: 2, 4 or 8, and its boundary.
    pub bytes: u8,
    /// Whether the register has 64 bits, and not 32.
    pub is_long: bool,
    /// Whether the operand, and in a comparison the register, has a sign.
    pub is_signed: bool,
}

/// The instruction with this text, at this address, if it is one of them.
#[must_use]
pub fn relative(text: &[u8; 6], at: u64) -> Option<Relative> {
    use Use::{Compare, Load, Store};
    let [first, second, offset @ ..] = *text;
    let (used, bytes, is_long, is_signed) = match (first, second & 0xF) {
        // LLHRL, LGHRL, LHRL, LLGHRL.
        (0xC4, 0x2) => (Load, 2, false, false),
        (0xC4, 0x4) => (Load, 2, true, true),
        (0xC4, 0x5) => (Load, 2, false, true),
        (0xC4, 0x6) => (Load, 2, true, false),
        // LGRL, LGFRL, LRL, LLGFRL.
        (0xC4, 0x8) => (Load, 8, true, true),
        (0xC4, 0xC) => (Load, 4, true, true),
        (0xC4, 0xD) => (Load, 4, false, true),
        (0xC4, 0xE) => (Load, 4, true, false),
        // STHRL, STGRL, STRL.
        (0xC4, 0x7) => (Store, 2, false, false),
        (0xC4, 0xB) => (Store, 8, true, false),
        (0xC4, 0xF) => (Store, 4, false, false),
        // CGHRL, CHRL, CLGHRL, CLHRL.
        (0xC6, 0x4) => (Compare, 2, true, true),
        (0xC6, 0x5) => (Compare, 2, false, true),
        (0xC6, 0x6) => (Compare, 2, true, false),
        (0xC6, 0x7) => (Compare, 2, false, false),
        // CGRL, CLGRL, CGFRL, CRL, CLGFRL, CLRL.
        (0xC6, 0x8) => (Compare, 8, true, true),
        (0xC6, 0xA) => (Compare, 8, true, false),
        (0xC6, 0xC) => (Compare, 4, true, true),
        (0xC6, 0xD) => (Compare, 4, false, true),
        (0xC6, 0xE) => (Compare, 4, true, false),
        (0xC6, 0xF) => (Compare, 4, false, false),
        _ => return None,
    };
    let halfwords = i64::from(i32::from_be_bytes(offset));
    Some(Relative {
        used,
        r1: second >> 4,
        at: at.wrapping_add_signed(2 * halfwords),
        bytes,
        is_long,
        is_signed,
    })
}

/// What LOAD ADDRESS RELATIVE LONG with this text, at this address, loads: the register, and the address, to which the addressing
/// mode has yet to be applied.
#[must_use]
pub fn address(text: &[u8; 6], at: u64) -> Option<(u8, u64)> {
    let [0xC0, second, offset @ ..] = *text else {
        return None;
    };
    let halfwords = i64::from(i32::from_be_bytes(offset));
    (second & 0xF == 0).then_some((second >> 4, at.wrapping_add_signed(2 * halfwords)))
}

/// Whether the operand of an instruction that is not a branch depends on where the instruction is.
#[must_use]
pub fn is_relative(text: &[u8; 6]) -> bool {
    relative(text, 0).is_some() || address(text, 0).is_some()
}

impl Relative {
    /// The value of the operand in the register's width, from its bytes on the right of a doubleword.
    #[must_use]
    pub const fn extended(&self, operand: u64) -> u64 {
        let unused = 64 - 8 * self.bytes as u32;
        let value = if self.is_signed {
            (((operand << unused) as i64) >> unused) as u64
        } else {
            operand << unused >> unused
        };
        self.in_width(value)
    }

    /// The part of a doubleword that the register has.
    #[must_use]
    pub const fn in_width(&self, value: u64) -> u64 {
        if self.is_long {
            value
        } else {
            value & 0xFFFF_FFFF
        }
    }

    /// How the register compares with the operand, both in the register's width.
    #[must_use]
    pub fn compare(&self, register: u64, operand: u64) -> core::cmp::Ordering {
        match (self.is_signed, self.is_long) {
            (false, _) => register.cmp(&operand),
            (true, true) => (register as i64).cmp(&(operand as i64)),
            (true, false) => (register as i32).cmp(&(operand as i32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cmp::Ordering;

    const LGRL_AHEAD: [u8; 6] = [0xC4, 0x38, 0, 0, 0, 8];

    #[test]
    fn the_operand_is_so_many_halfwords_from_the_instruction() {
        let found = relative(&LGRL_AHEAD, 0x1000).unwrap();
        assert_eq!((found.r1, found.at, found.bytes), (3, 0x1010, 8));
        let back = relative(&[0xC4, 0xFD, 0xFF, 0xFF, 0xFF, 0xFF], 0).unwrap();
        assert_eq!(back.at, u64::MAX - 1);
    }

    #[test]
    fn load_address_relative_long_loads_where_its_operand_would_be() {
        let larl = [0xC0, 0x30, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(address(&larl, 0x1000), Some((3, 0xFFE)));
        assert_eq!(address(&[0xC0, 0x31, 0, 0, 0, 0], 0), None);
        assert_eq!(address(&LGRL_AHEAD, 0), None);
        assert!(is_relative(&larl) && is_relative(&LGRL_AHEAD));
    }

    #[test]
    fn an_operand_is_extended_by_its_sign_or_by_zeros_to_the_width_of_the_register() {
        for (second, extended) in [
            (0x2, 0x8001),
            (0x4, 0xFFFF_FFFF_FFFF_8001),
            (0x5, 0xFFFF_8001),
            (0x6, 0x8001),
            (0xC, 0xFFFF_FFFF_FFFF_8001),
            (0xE, 0xFFFF_8001),
        ] {
            let found = relative(&[0xC4, second, 0, 0, 0, 0], 0).unwrap();
            let operand = if found.bytes == 2 {
                0x8001
            } else {
                0xFFFF_8001
            };
            assert_eq!(found.extended(operand), extended, "C4{second:X}");
        }
    }

    #[test]
    fn a_comparison_has_a_sign_only_if_it_is_not_logical() {
        let of = |second| relative(&[0xC6, second, 0, 0, 0, 0], 0).unwrap();
        let minus_one = 0xFFFF_FFFF;
        assert_eq!(of(0xD).compare(minus_one, 1), Ordering::Less);
        assert_eq!(of(0xF).compare(minus_one, 1), Ordering::Greater);
        assert_eq!(of(0xC).compare(minus_one, 1), Ordering::Greater);
        assert_eq!(of(0x8).compare(u64::MAX, 1), Ordering::Less);
        assert_eq!(of(0xA).compare(u64::MAX, 1), Ordering::Greater);
    }
}
