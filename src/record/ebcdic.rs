//! Text in EBCDIC.
//!
//! The characters are those of code page 037 that ASCII also has. The texts of these records (names of
//! systems, jobs and machines) need no others. Whoever reads a record of another producer may find other
//! codes in it: they stay as they are, and are shown as a question mark.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The codes of the characters from blank (20 in ASCII) to tilde (7E).
const CODES: [u8; 95] = [
    0x40, 0x5A, 0x7F, 0x7B, 0x5B, 0x6C, 0x50, 0x7D, 0x4D, 0x5D, 0x5C, 0x4E, 0x6B, 0x60, 0x4B, 0x61,
    0xF0, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0x7A, 0x5E, 0x4C, 0x7E, 0x6E, 0x6F,
    0x7C, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6,
    0xD7, 0xD8, 0xD9, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xBA, 0xE0, 0xBB, 0xB0, 0x6D,
    0x79, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96,
    0x97, 0x98, 0x99, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xC0, 0x4F, 0xD0, 0xA1,
];

/// A blank.
const BLANK: u8 = 0x40;
/// What a character becomes that has no code here: a question mark.
const UNKNOWN: u8 = 0x6F;

/// The code of a character; that of a question mark if it has none.
#[must_use]
pub const fn code(character: char) -> u8 {
    let number = character as u32;
    if number >= 0x20 && number < 0x7F {
        CODES[(number - 0x20) as usize]
    } else {
        UNKNOWN
    }
}

/// The character of a code, if it is one that ASCII has.
#[must_use]
pub const fn character(code: u8) -> Option<char> {
    let mut index = 0;
    while index < CODES.len() {
        if CODES[index] == code {
            return Some((index as u8 + 0x20) as char);
        }
        index += 1;
    }
    None
}

/// A field of `N` EBCDIC characters, blanks on the right.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(transparent)]
pub struct Ebcdic<const N: usize>(pub [u8; N]);

impl<const N: usize> Ebcdic<N> {
    /// Nothing but blanks.
    pub const BLANK: Self = Self([BLANK; N]);

    /// The text; what has no room is cut off.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        let mut bytes = [BLANK; N];
        let text = text.as_bytes();
        let mut index = 0;
        while index < N && index < text.len() {
            // A byte of a longer UTF-8 sequence has no code, as its character has none.
            bytes[index] = code(text[index] as char);
            index += 1;
        }
        Self(bytes)
    }
}

/// Shows EBCDIC characters without the blanks and zeros on the right.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_text = |code: &u8| *code != BLANK && *code != 0;
        let length = self.0.iter().rposition(is_text).map_or(0, |last| last + 1);
        for code in self.0.iter().take(length) {
            fmt::Write::write_char(f, character(*code).unwrap_or('?'))?;
        }
        Ok(())
    }
}

impl<const N: usize> fmt::Display for Ebcdic<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(&self.0).fmt(f)
    }
}

impl<const N: usize> fmt::Debug for Ebcdic<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_have_the_codes_of_ebcdic() {
        assert_eq!(Ebcdic::<4>::new("HIS").0, [0xC8, 0xC9, 0xE2, 0x40]);
        assert_eq!(Ebcdic::<3>::new("AZ09").0, [0xC1, 0xE9, 0xF0]);
        assert_eq!(Ebcdic::<4>::new("é").0, [0x6F, 0x6F, 0x40, 0x40]);
        assert_eq!(Ebcdic::<8>::new("z/OS 1.").to_string(), "z/OS 1.");
    }

    #[test]
    fn every_character_comes_back_from_its_code() {
        for number in 0x20..0x7F_u8 {
            let character_of = char::from(number);
            assert_eq!(character(code(character_of)), Some(character_of));
        }
        assert_eq!(character(0x00), None);
        assert_eq!(Ebcdic([0xC1, 0x00, 0xC2, 0x40, 0x00]).to_string(), "A?B");
    }
}
