//! Text in EBCDIC.
//!
//! The texts of these records (names of systems, jobs and machines) need only the characters of ASCII. A
//! record of another producer may have other codes: they stay as they are, and are shown as question marks.

use arch::ebcdic::{character, code};
use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A blank.
const BLANK: u8 = 0x40;
/// The code of a question mark, for a character that has no code here.
const UNKNOWN: u8 = 0x6F;

/// A field of `N` EBCDIC characters, padded with blanks on the right.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(transparent)]
pub struct Ebcdic<const N: usize>(pub [u8; N]);

impl<const N: usize> Ebcdic<N> {
    /// All blanks.
    pub const BLANK: Self = Self([BLANK; N]);

    /// The text, truncated to `N` characters.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        let mut bytes = [BLANK; N];
        let text = text.as_bytes();
        let mut index = 0;
        while index < N && index < text.len() {
            // A byte of a longer UTF-8 sequence has no code.
            bytes[index] = match code(text[index]) {
                Some(code) => code,
                None => UNKNOWN,
            };
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
    fn a_code_that_is_no_character_is_shown_as_a_question_mark() {
        assert_eq!(Ebcdic([0xC1, 0x00, 0xC2, 0x40, 0x00]).to_string(), "A?B");
    }
}
