//! Lines of text: reading one piece by piece, and writing into a buffer of bytes.

use core::fmt;

use super::{Malformed, Problem};

/// A line that is read from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// A line, without blanks and end-of-line characters on its right.
    pub(super) fn new(line: &'a [u8]) -> Result<Self, Malformed> {
        match core::str::from_utf8(line) {
            Ok(line) => Ok(Self {
                line: line.trim_end(),
                at: 0,
            }),
            Err(error) => Err(Malformed {
                offset: error.valid_up_to(),
                field: "line",
                problem: Problem::Form { expected: "text" },
            }),
        }
    }

    /// The text that has not been read.
    pub(super) fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }

    /// Skips bytes.
    pub(super) const fn skip(&mut self, length: usize) {
        self.at += length;
    }

    /// Skips blanks.
    pub(super) fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Skips blanks and `text`, if `text` comes next. Returns whether it did.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let mut behind = *self;
        behind.blanks();
        let found = behind.rest().starts_with(text);
        if found {
            self.at = behind.at + text.len();
        }
        found
    }

    /// Skips blanks and `text`, which must come next.
    pub(super) fn expect(&mut self, text: &'static str) -> Result<(), Malformed> {
        if self.take(text) {
            return Ok(());
        }
        self.blanks();
        Err(self.wrong(text, "this word"))
    }

    /// Skips blanks and takes the text before `key`, which must follow, or the whole rest if `key` is
    /// empty; without blanks on the right.
    pub(super) fn until(&mut self, key: &'static str) -> Result<&'a str, Malformed> {
        self.blanks();
        let rest = self.rest();
        let length = match key {
            "" => rest.len(),
            _ => match rest.find(key) {
                Some(length) => length,
                None => return Err(self.wrong(key, "in this line")),
            },
        };
        self.at += length;
        Ok(rest.get(..length).unwrap_or_default().trim_end())
    }

    /// Skips blanks and takes the next word, up to a blank.
    pub(super) fn word(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Skips blanks and takes a number.
    pub(super) fn number(
        &mut self,
        field: &'static str,
        radix: u32,
        most: u64,
    ) -> Result<u64, Malformed> {
        self.blanks();
        let rest = self.rest();
        let is_digit = |character: char| character.is_digit(radix);
        let length = rest
            .find(|character| !is_digit(character))
            .unwrap_or(rest.len());
        let digits = rest.get(..length).unwrap_or_default();
        match u64::from_str_radix(digits, radix) {
            Ok(number) if number <= most => {
                self.at += length;
                Ok(number)
            }
            _ => Err(self.wrong(
                field,
                match (radix, most) {
                    (16, _) => "a hexadecimal number up to FFFF",
                    (_, 0xFFFF) => "a number up to 65535",
                    _ => "a decimal number",
                },
            )),
        }
    }

    /// Skips blanks and takes a number of exactly 16 hexadecimal digits.
    pub(super) fn doubleword(&mut self, field: &'static str) -> Result<u64, Malformed> {
        self.blanks();
        let here = *self;
        let word = self.word();
        let is_whole = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u64::from_str_radix(word, 16) {
            Ok(number) if is_whole => Ok(number),
            _ => Err(here.wrong(field, "16 hexadecimal digits")),
        }
    }

    /// Checks that only blanks follow.
    pub(super) fn end(&mut self, field: &'static str) -> Result<(), Malformed> {
        self.blanks();
        match self.rest() {
            "" => Ok(()),
            _ => Err(self.wrong(field, "followed by the end of the line")),
        }
    }

    /// The error that `expected` should be here.
    pub(super) const fn wrong(&self, field: &'static str, expected: &'static str) -> Malformed {
        Malformed {
            offset: self.at,
            field,
            problem: Problem::Form { expected },
        }
    }
}

/// Shows text within one line: a control character becomes a question mark.
pub(super) struct InLine<'a>(pub &'a str);

impl fmt::Display for InLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            let is_control = character.is_control();
            fmt::Write::write_char(f, if is_control { '?' } else { character })?;
        }
        Ok(())
    }
}

/// A fixed-size buffer for text.
#[derive(Debug)]
pub struct TextBuffer<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl<'a> TextBuffer<'a> {
    /// An empty buffer with room for as many bytes as `bytes` has.
    #[must_use]
    pub const fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, length: 0 }
    }

    /// The text written so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl fmt::Write for TextBuffer<'_> {
    /// Writes all of the text, or none of it and returns an error.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
