//! The words after HOLD and COUNT: text that the guest writes on its console.

use super::{Command, Misunderstood, Words};

/// The most bytes of such a text.
pub const LONGEST_WORDS: usize = 80;

/// A text of 1 to `LONGEST_WORDS` bytes that a guest may write on its console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleWords {
    bytes: [u8; LONGEST_WORDS],
    length: u8,
}

impl ConsoleWords {
    /// This text; `None` if it is empty or too long.
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST_WORDS];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let length = u8::try_from(text.len())
            .ok()
            .filter(|&length| length != 0)?;
        Some(Self { bytes, length })
    }

    /// The text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes
            .split_at_checked(usize::from(self.length))
            .map_or(&[], |(text, _)| text)
    }

    /// How much of the text has been written when this byte follows, of which `so_far` bytes had been written before.
    #[must_use]
    pub fn follow(&self, so_far: usize, byte: u8) -> usize {
        let text = self.bytes();
        let written = text.get(..so_far).unwrap_or_default();
        // The longest beginning of the text that the written bytes end with.
        (1..=so_far + 1)
            .rev()
            .find(|&length| {
                text.get(..length)
                    .and_then(<[u8]>::split_last)
                    .is_some_and(|(&last, before)| last == byte && written.ends_with(before))
            })
            .unwrap_or(0)
    }
}

/// Reads the words after HOLD. The text is as it stands in the line, with its case and its blanks.
pub(super) fn held_at<'a>(
    line: &'a str,
    words: &mut Words<'a>,
) -> Result<Command, Misunderstood<'a>> {
    if words.one_of(&["AT", "OFF"])? == 1 {
        words.end()?;
        return Ok(Command::HoldAt(None));
    }
    text(line).map(|words| Command::HoldAt(Some(words)))
}

/// Reads the words after COUNT.
pub(super) fn counted_at<'a>(
    line: &'a str,
    words: &mut Words<'a>,
) -> Result<Command, Misunderstood<'a>> {
    words.one_of(&["AT"])?;
    text(line).map(Command::CountAt)
}

/// The text after the first two words of a line.
fn text(line: &str) -> Result<ConsoleWords, Misunderstood<'_>> {
    let text = after_words(line, 2);
    ConsoleWords::new(text.as_bytes()).ok_or(Misunderstood {
        found: Some(text).filter(|text| !text.is_empty()),
        understood: &["a text of at most 80 bytes"],
    })
}

/// What follows the first `count` words of a line.
fn after_words(line: &str, count: usize) -> &str {
    (0..count).fold(line.trim(), |rest, _| {
        rest.split_once(|c: char| c.is_ascii_whitespace())
            .map_or("", |(_, rest)| rest.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use proptest::prelude::*;

    fn words(text: &str) -> ConsoleWords {
        ConsoleWords::new(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_text_is_the_rest_of_the_line_with_its_case_and_its_blanks() {
        let held_at = |text| Ok(Command::HoldAt(Some(words(text))));
        assert_eq!(parse("hold at login:"), held_at("login:"));
        assert_eq!(parse("  HOLD  At  Two  words "), held_at("Two  words"));
        assert_eq!(parse("HOLD AT OFF"), held_at("OFF"));
        assert_eq!(parse("HOLD OFF"), Ok(Command::HoldAt(None)));
        assert_eq!(parse("count at Go"), Ok(Command::CountAt(words("Go"))));
    }

    #[test]
    fn a_text_that_is_missing_or_too_long_is_refused() {
        for line in [
            "HOLD",
            "HOLD AT",
            "HOLD AT  ",
            "HOLD OFF now",
            "HOLD login:",
            "COUNT",
            "COUNT AT",
            "COUNT OFF",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        let longest = "x".repeat(LONGEST_WORDS);
        assert!(parse(&format!("HOLD AT {longest}")).is_ok());
        assert!(parse(&format!("HOLD AT {longest}x")).is_err());
    }

    proptest! {
        #[test]
        fn words_are_found_where_they_end_first(text in "[ab]{1,8}", written in "[ab]{0,40}") {
            let words = words(&text);
            let mut so_far = 0;
            let mut end = None;
            for (at, byte) in written.bytes().enumerate() {
                so_far = words.follow(so_far, byte);
                if so_far == text.len() {
                    end = Some(at + 1);
                    break;
                }
            }
            prop_assert_eq!(end, written.find(&text).map(|at| at + text.len()));
        }
    }
}
