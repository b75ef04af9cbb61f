//! How many more instructions are no regression.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de};

/// Parts of a percent that are told apart.
const PARTS: u64 = 10_000;

/// More than a run can grow.
const MOST_PERCENT: u64 = 1_000_000;

/// A tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// A share of what the baseline has, in 10,000ths of a percent.
    Share(u64),
    /// Instructions, or events of a counter.
    Instructions(u64),
    /// Whatever comes.
    Any,
}

/// The tolerance in problem state that nothing else is said about.
pub const USER: Tolerance = Tolerance::Share(PARTS / 10);

/// The tolerance in supervisor state that nothing else is said about: a program that has changed has its timer interruptions
/// elsewhere, and maybe one more.
pub const KERNEL: Tolerance = Tolerance::Share(PARTS);

/// The most instructions of such an interruption, which a short program may not hide in its share: about 7,000 in Linux 6.1.
pub const TIMER_INTERRUPTION: u64 = 10_000;

impl Tolerance {
    /// The most that may come on top of this number; `None` if there is no limit.
    pub fn of(self, before: u64) -> Option<u64> {
        match self {
            Self::Share(parts) => {
                let part = u128::from(before) * u128::from(parts) / u128::from(PARTS * 100);
                Some(u64::try_from(part).unwrap_or(u64::MAX))
            }
            Self::Instructions(number) => Some(number),
            Self::Any => None,
        }
    }
}

impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is not a tolerance; write it as 0.5% or 1000i, or any");
        if text == "any" {
            return Ok(Self::Any);
        }
        if let Some(number) = text.strip_suffix('i') {
            return number.parse().map(Self::Instructions).map_err(|_| wrong());
        }
        let number = text.strip_suffix('%').ok_or_else(wrong)?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        if !are_digits(whole) || !are_digits(part) || part.len() > 4 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let part: u64 = format!("{part:0<4}").parse().map_err(|_| wrong())?;
        if whole > MOST_PERCENT {
            return Err(wrong());
        }
        Ok(Self::Share(whole * PARTS + part))
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(parts) => {
                let part = format!("{:04}", parts % PARTS);
                let part = part.trim_end_matches('0');
                let point = if part.is_empty() { "" } else { "." };
                write!(f, "{}{point}{part}%", parts / PARTS)
            }
            Self::Instructions(number) => write!(f, "{number}i"),
            Self::Any => f.write_str("any"),
        }
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_share_or_a_number_of_instructions() {
        for (text, before, more) in [
            ("0.5%", 1000, Some(5)),
            ("1%", 1999, Some(19)),
            ("0.0001%", 1_000_000, Some(1)),
            ("0%", 1000, Some(0)),
            ("1000i", 5, Some(1000)),
            ("100%", u64::MAX, Some(u64::MAX)),
            ("1000000%", u64::MAX, Some(u64::MAX)),
            ("any", 5, None),
        ] {
            let tolerance: Tolerance = text.parse().unwrap();
            assert_eq!(tolerance.of(before), more, "{text}");
            assert_eq!(tolerance.to_string(), text);
        }
        assert_eq!(
            (USER.to_string(), KERNEL.to_string()),
            ("0.1%".into(), "1%".into())
        );
    }

    #[test]
    fn what_is_no_tolerance_is_refused_with_the_form() {
        for text in [
            "",
            "%",
            "i",
            "5",
            "-1%",
            "1,5%",
            "0.00001%",
            ".5%",
            "1.%",
            "1e3i",
            "-5i",
            "9999999%",
            "99999999999999999999%",
        ] {
            let refusal = text.parse::<Tolerance>().unwrap_err();
            assert!(refusal.contains("0.5% or 1000i"), "{text}: {refusal}");
        }
    }
}
