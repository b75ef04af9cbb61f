//! The sampling interval of each set of files of a collection.
//!
//! The files hold only the command that began the collection, which gives the frequency of the first set. When the
//! service changes it, the next set of files does not say so. But a CPU is sampled once in an interval of the cycles
//! that it counts. So its cycles and its number of samples bound the interval from both sides, and each CPU narrows the
//! bounds. If the cycles are missing, the time from one full block to the next is an upper bound, because a CPU that
//! waits is not sampled.
//!
//! An interval that was in effect before and is within the bounds is kept. Otherwise all frequencies within the bounds
//! agree with the files equally well, and the roundest one is taken, as a person would choose it. The profile then says
//! that it is derived.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::{
    BlockFile, Pace,
    blocks::Blocks,
    counts::{Counts, Frequency},
};
use crate::{folder, numbers::grouped};

/// SAMPFREQ if a command does not give it.
const DEFAULT_FREQUENCY: u64 = 800_000;

/// The number of the cycle count.
const CYCLES: u16 = 0;

/// Bounds of the interval of a set, from its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// It is more than this.
    above: u64,
    /// It is less than this.
    below: u64,
}

impl Bounds {
    const NONE: Self = Self {
        above: 0,
        below: u64::MAX,
    };

    const fn have(self, interval: u64) -> bool {
        self.above < interval && interval < self.below
    }

    /// The bounds from a CPU that counted these cycles and took these samples. The first may have been due at any time.
    fn of(cycles: u64, samples: u64) -> Self {
        Self {
            above: cycles / samples.saturating_add(1),
            // One more than the quotient: the bounds are not intervals themselves.
            below: cycles
                .checked_div(samples.saturating_sub(1))
                .map_or(u64::MAX, |most| most.saturating_add(1)),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            above: self.above.max(other.above),
            below: self.below.min(other.below),
        }
    }

    /// The interval within these bounds that has the roundest frequency, and the middle one of several such; `None` if
    /// nothing is within them.
    fn roundest(self, minute: u64) -> Option<u64> {
        if self.below == u64::MAX || self.above == 0 {
            return None;
        }
        let (least, most) = (minute / self.below, minute / self.above + 1);
        for step in (0..=9).rev().map(|digits| 10_u64.pow(digits)) {
            let first = least.div_ceil(step).max(1);
            let last = most / step;
            let middle = first.midpoint(last);
            let all = (middle..=last).chain(first..middle).take(1000);
            let mut intervals = all.map(|count| interval(minute, count * step));
            if let Some(found) = intervals.find(|interval| self.have(*interval)) {
                return Some(found);
            }
        }
        None
    }
}

/// The interval of this frequency, rounded to the nearest, as HIS sets it.
fn interval(minute: u64, frequency: u64) -> u64 {
    let whole = minute.saturating_add(frequency / 2);
    whole.checked_div(frequency).unwrap_or(0)
}

/// The number of samples in a file, including those that found no room, and the shortest time between two samples in a
/// full block, in TOD units.
fn read(file: &BlockFile) -> Result<(u64, Option<u64>)> {
    let name = || format!("cannot read {}", file.path.display());
    let opened = folder::open(&file.path).with_context(name)?;
    let mut blocks = Blocks::new(opened, file.block);
    let (mut samples, mut before, mut shortest) = (0_u64, None, None);
    while blocks.advance().with_context(name)? {
        let here = blocks.entries.len() as u64;
        samples = samples.saturating_add(here);
        if let (Some(before), Some(now)) = (before, blocks.full_at)
            && let Some(time) = u64::checked_sub(now, before)
            && let Some(each) = time.checked_div(here)
        {
            shortest = Some(shortest.unwrap_or(each).min(each));
        }
        before = blocks.full_at;
    }
    Ok((samples.saturating_add(blocks.found.overflow), shortest))
}

/// The bounds that the files of a set give.
fn bounds(files: &[&BlockFile], counts: &Counts) -> Result<Bounds> {
    let mut by_cycles = Bounds::NONE;
    let mut by_time = u64::MAX;
    for file in files {
        let (samples, shortest) = read(file)?;
        if let Some(cycles) = counts.values.get(&(file.cpu, CYCLES)) {
            by_cycles = by_cycles.and(Bounds::of(*cycles, samples));
        }
        if let Some(units) = shortest {
            let cycles = u128::from(units) * u128::from(counts.speed) / 4096;
            by_time = by_time.min(u64::try_from(cycles).unwrap_or(u64::MAX));
        }
    }
    let has_cycles = by_cycles != Bounds::NONE && by_cycles.above < by_cycles.below;
    Ok(match (has_cycles, by_time) {
        (true, _) => by_cycles,
        (false, u64::MAX) => Bounds::NONE,
        // A hundredth more for the resolution of the clock. There is no lower bound: the CPU may have waited.
        (false, most) => Bounds {
            above: 0,
            below: most.saturating_add(most / 100 + 1),
        },
    })
}

/// Gives every file the pace of its set, and says in sentences what is derived. The first set has the pace of the
/// collection.
pub fn put(files: &mut [BlockFile], counts: &BTreeMap<u16, Counts>) -> Result<(Pace, Vec<String>)> {
    let mut all_derived = Vec::new();
    let mut sets: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (place, file) in files.iter().enumerate() {
        sets.entry(file.set).or_default().push(place);
    }
    let speed = counts
        .values()
        .map(|set| set.speed)
        .find(|speed| *speed > 0);
    let speed = speed.unwrap_or(0);
    let minute = u64::from(speed) * 60_000_000;
    let start = counts.values().map(|set| set.start);
    let mut first = Pace {
        interval: 0,
        speed,
        start: start.filter(|start| *start > 0).min().unwrap_or(0),
    };
    // The interval in effect, as far as it is known.
    let mut current = 0;
    let first_set = counts.first_key_value();
    for (set, places) in sets {
        let own = counts.get(&set);
        let frequency = first_set
            .filter(|(number, _)| current == 0 && **number == set)
            .map(|(_, counts)| counts.frequency);
        let derived = match frequency {
            Some(Frequency::Given(frequency)) => {
                current = interval(minute, frequency);
                None
            }
            _ if minute == 0 => None,
            _ => {
                let known = if current == 0 && frequency == Some(Frequency::Default) {
                    interval(minute, DEFAULT_FREQUENCY)
                } else {
                    current
                };
                let of_set: Vec<&BlockFile> = places.iter().map(|place| &files[*place]).collect();
                let bounds = match own {
                    Some(own) => bounds(&of_set, own)?,
                    None => Bounds::NONE,
                };
                let told = derive(bounds, known, minute);
                (current, _) = told;
                told.1.map(|how| {
                    format!("the files do not say the sampling interval of set {set:03}: {how}")
                })
            }
        };
        all_derived.extend(derived);
        for place in places {
            let start = own.map_or(0, |own| own.start);
            files[place].pace = Pace {
                interval: current,
                speed,
                start: if start > 0 { start } else { first.start },
            };
        }
        if first.interval == 0 {
            first.interval = current;
        }
    }
    Ok((first, all_derived))
}

/// The interval of a set in which `known` may still be in effect, and how it was derived, if it was.
fn derive(bounds: Bounds, known: u64, minute: u64) -> (u64, Option<String>) {
    if bounds != Bounds::NONE && known > 0 && bounds.have(known) {
        // Time alone allows the same interval with waits, or a longer one.
        let is_open = bounds.above == 0 && bounds.below - known > known / 50 + 2;
        let text = || {
            let (known, below) = (grouped(known), grouped(bounds.below));
            format!(
                "it is taken to be {known} cycles, as before; its blocks allow less than {below}"
            )
        };
        return (known, is_open.then(text));
    }
    let narrow = match bounds {
        // With a bound by time, the interval of the fastest block is taken.
        Bounds { above: 0, below } if below < u64::MAX => Bounds {
            above: below.saturating_sub(below / 50 + 2),
            below,
        },
        other => other,
    };
    match narrow.roundest(minute) {
        Some(found) => {
            let Bounds { above, below } = narrow;
            let text = format!(
                "{} cycles follow from its samples, which need more than {} and less than {}",
                grouped(found),
                grouped(above),
                grouped(below)
            );
            (found, Some(text))
        }
        None if known > 0 => {
            let text = format!("it is taken to be {} cycles, as before", grouped(known));
            (known, Some(text))
        }
        None => (0, None),
    }
}

#[cfg(test)]
mod tests;
