//! The window: between two times of the run, or around the samples of a routine.

use std::{collections::BTreeSet, fmt, path::Path, str::FromStr};

use anyhow::{Context, Result, bail};
use arch::tod::UNITS_PER_MICROSECOND;

use crate::{
    folder::{self, record::RunRecord},
    nearest,
    profile::{Profile, blocks::Blocks},
};

/// A time since the guest began, in units of the TOD clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

/// The units of time that a person may write, in nanoseconds.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = UNITS
            .iter()
            .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
        let (number, factor) = found.unwrap_or((text, 1e9));
        let number: Option<f64> = number.trim().parse().ok();
        // A number of seconds that 64 bits of the clock can show.
        let nanoseconds = number.map(|number| number * factor);
        match nanoseconds.filter(|number| (0.0..4e18).contains(number)) {
            Some(nanoseconds) => {
                let units = nanoseconds as u128 * u128::from(UNITS_PER_MICROSECOND) / 1000;
                Ok(Self(u64::try_from(units).unwrap_or(u64::MAX)))
            }
            None => Err(format!(
                "{text} is not a time since the guest began; write one as 1.25s, 1250ms or 800us"
            )),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = self.0 as f64 / UNITS_PER_MICROSECOND as f64;
        if microseconds < 1e6 {
            write!(f, "{:.3} ms", microseconds / 1e3)
        } else {
            write!(f, "{:.6} s", microseconds / 1e6)
        }
    }
}

/// A window by the TOD clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it begins.
    pub from: u64,
    /// When it has ended.
    pub to: u64,
}

impl Span {
    /// The whole run, wherever its guest sets the clock.
    pub const WHOLE: Self = Self {
        from: 0,
        to: u64::MAX,
    };

    /// What it is, in words, in a run that began at this time.
    #[must_use]
    pub fn words(self, begin: u64) -> String {
        if self == Self::WHOLE {
            return "the whole run".to_owned();
        }
        let length = Moment(self.to - self.from);
        let from = Moment(self.from.saturating_sub(begin));
        format!("{length} from {from} after the guest's beginning on")
    }

    /// The window between two times, or the whole run.
    ///
    /// # Errors
    /// It is empty, or not in the run.
    pub fn of_times(times: Option<(Moment, Moment)>, record: &RunRecord) -> Result<Self> {
        let Some((from, to)) = times else {
            return Ok(Self::WHOLE);
        };
        let length = Moment(record.ended.saturating_sub(record.begin));
        if from >= to {
            bail!("the window from {from} to {to} is empty; choose --from before --to");
        }
        if from >= length || to > length {
            bail!(
                "the window from {from} to {to} is not in the run, which took {length}; choose one that is"
            );
        }
        Ok(Self {
            from: record.begin + from.0,
            to: record.begin + to.0,
        })
    }
}

/// The window around the samples of a routine: all blocks that have one. A sample has no time of its own, so less could
/// miss some.
///
/// # Errors
/// There is no such routine in the samples, or there are several.
pub fn around(directory: &Path, record: &RunRecord, symbol: &str) -> Result<Span> {
    let profile = Profile::open(directory)?;
    if record.interval == 0 {
        bail!(
            "the run took no samples, so it does not show when {symbol} was executed; choose --from and --to"
        );
    }
    let mut found = BTreeSet::new();
    for sample in profile.samples() {
        let line = profile.names.line(&sample?.entry);
        found.insert(line.symbol.into_owned());
    }
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    let parts: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| name.contains(symbol))
        .collect();
    let name = match &parts[..] {
        _ if names.contains(&symbol) => symbol,
        [only] => only,
        [] => bail!(
            "no sample of the run is in {symbol}{}",
            nearest::remedy(symbol, &names)
        ),
        several => bail!(
            "{symbol} is a part of several names: {}; choose one of them",
            several
                .iter()
                .take(10)
                .copied()
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let mut span: Option<Span> = None;
    for file in &profile.files {
        let opened = folder::open(&file.path)
            .with_context(|| format!("cannot open {}", file.path.display()))?;
        let mut blocks = Blocks::new(opened, file.block);
        let mut before = record.begin;
        while blocks
            .advance()
            .with_context(|| format!("cannot read {}", file.path.display()))?
        {
            let until = blocks.full_at.unwrap_or(record.ended);
            let mut entries = blocks.entries.iter().filter(|entry| !entry.invalid());
            if entries.any(|entry| profile.names.line(entry).symbol == name) {
                let (from, to) = span.map_or((before, until), |span| (span.from, span.to));
                span = Some(Span {
                    from: from.min(before),
                    to: to.max(until),
                });
            }
            before = until;
        }
    }
    let span = span.context("the samples have changed while they were read")?;
    if span.from >= span.to {
        bail!("the blocks of samples in {directory:?} have no times");
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_a_unit_or_in_seconds() {
        for (text, microseconds) in [
            ("1", 1_000_000),
            ("0.25s", 250_000),
            ("10ms", 10_000),
            ("800us", 800),
            ("5000ns", 5),
        ] {
            assert_eq!(
                text.parse(),
                Ok(Moment(microseconds * UNITS_PER_MICROSECOND)),
                "{text}"
            );
        }
        for text in ["", "-1s", "x", "1h", "NaN", "1e30", "inf"] {
            let refusal = text.parse::<Moment>().unwrap_err();
            assert!(refusal.contains("1.25s"), "{refusal}");
        }
        let shown = |text: &str| text.parse::<Moment>().unwrap().to_string();
        assert_eq!(
            (&shown("10ms")[..], &shown("2.5")[..]),
            ("10.000 ms", "2.500000 s")
        );
    }
}
