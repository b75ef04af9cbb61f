//! Why a command is refused: the keyword, the value, and the allowed values.
//!
//! The message identifiers are the project's own and begin with MMH. No text is one of z/OS.

use super::keyword::Keyword;
use core::fmt::{self, Write as _};

/// The error in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused<'a> {
    /// MMH001E: a word is wrong or missing.
    Word {
        /// The word, if there is one.
        found: Option<&'a str>,
        /// The words that are allowed.
        known: &'static [&'static str],
    },
    /// MMH002E: not a keyword, or not one of this command.
    Keyword {
        /// The word as typed.
        found: &'a str,
        /// The keywords of this command.
        known: &'static [Keyword],
    },
    /// MMH003E: the value is not allowed, or is missing.
    Value {
        /// The keyword.
        keyword: Keyword,
        /// The value as typed.
        value: Option<&'a str>,
    },
    /// MMH004E: the keyword was given before, in this or another spelling.
    Twice(Keyword),
    /// MMH005E: two operands exclude each other.
    Excluded(&'static str, &'static str),
    /// MMH006E: SMP=NO, CNT=NO and MAP=NO leave nothing to collect.
    NothingToCollect,
    /// MMH007E: this character is missing.
    Unbalanced(&'static str),
}

/// Text as typed, without control characters: the answer goes to a person's screen.
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |c: char| if c.is_control() { '?' } else { c };
        self.0.chars().try_for_each(|c| f.write_char(shown(c)))
    }
}

impl fmt::Display for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Word { found, known } => {
                match found.filter(|word| !word.is_empty()) {
                    Some(word) => write!(f, "MMH001E {} is not understood here", Shown(word))?,
                    None => f.write_str("MMH001E a word is missing")?,
                }
                f.write_str("; allowed: ")?;
                words(f, known.iter().copied())
            }
            Self::Keyword { found, known } => {
                match found {
                    "" => f.write_str("MMH002E a keyword is missing; allowed: ")?,
                    found => write!(
                        f,
                        "MMH002E {} is not a keyword of this command; allowed: ",
                        Shown(found)
                    )?,
                }
                words(f, known.iter().map(|keyword| keyword.name()))
            }
            Self::Value { keyword, value } => {
                write!(f, "MMH003E {}", keyword.name())?;
                match value.filter(|value| !value.is_empty()) {
                    Some(value) => write!(f, "={} is not allowed", Shown(value))?,
                    None => f.write_str(" has no value")?,
                }
                match keyword.allowed() {
                    Some(allowed) => write!(f, "; allowed: {allowed}"),
                    None => write!(f, "; allowed: {} without a value", keyword.name()),
                }
            }
            Self::Twice(keyword) => write!(
                f,
                "MMH004E {} is given twice; allowed: once",
                keyword.name()
            ),
            Self::Excluded(one, other) => {
                write!(
                    f,
                    "MMH005E {one} is not allowed with {other}; allowed: one of them"
                )
            }
            Self::NothingToCollect => f.write_str(
                "MMH006E nothing is left to collect with SMP=NO, CNT=NO and MAP=NO; allowed: at most two of them",
            ),
            Self::Unbalanced(missing) => write!(f, "MMH007E a {missing} is missing"),
        }
    }
}

fn words(f: &mut fmt::Formatter<'_>, words: impl Iterator<Item = &'static str>) -> fmt::Result {
    let mut any = false;
    for word in words {
        if any {
            f.write_str(", ")?;
        }
        f.write_str(word)?;
        any = true;
    }
    if any {
        Ok(())
    } else {
        f.write_str("nothing more")
    }
}
