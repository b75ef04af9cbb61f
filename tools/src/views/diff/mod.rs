//! `measure diff`: where two profiles differ.
//!
//! It compares the share of each name in all samples, because two runs rarely have the same number. The samples of
//! both stand beside it, and the counters with the ratio of their sums. Differences that make two profiles hard to
//! compare come first: intervals, machines, modes or guests.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use {cpumf::Model, link::data::Level};

use crate::{
    computer::progress::Progress,
    formats::counters::{CounterValues, counter_name, group_counter_name, set_name},
    numbers::grouped,
    profile::{Profile, blocks::BlockCounts},
    views::export::Ticker,
};

pub mod json;
pub mod text;

/// One of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The folder, as it was named.
    pub name: String,
    /// What was measured.
    pub title: String,
    /// Samples by name.
    pub found: BlockCounts,
    /// What is missing or damaged, in sentences.
    pub doubts: Vec<String>,
}

/// A name in both.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The routine, or a line in parentheses.
    pub symbol: String,
    /// The program that it is part of; empty where there is none.
    pub module: String,
    /// Samples in each.
    pub samples: [u64; 2],
    /// Share of all samples of each, in percent.
    pub percent: [f64; 2],
}

impl Line {
    /// By how much its share is larger in the second one, in percentage points.
    pub fn difference(&self) -> f64 {
        self.percent[1] - self.percent[0]
    }
}

/// A counter in both: the sum over all CPUs, or one coprocessor group's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The set, with the number of the group if it is a group's.
    pub set: String,
    /// Its number.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Its value in each that has it.
    pub values: [Option<u64>; 2],
}

impl Counter {
    /// The second value for each one of the first.
    pub fn ratio(&self) -> Option<f64> {
        match self.values {
            [Some(first), Some(second)] if first > 0 => Some(second as f64 / first as f64),
            _ => None,
        }
    }
}

/// Two profiles side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The two.
    pub sides: [Side; 2],
    /// What makes them hard to compare, in sentences.
    pub warnings: Vec<String>,
    /// Names, those with the largest difference first.
    pub lines: Vec<Line>,
    /// Counters by set and number.
    pub counters: Vec<Counter>,
}

/// Compares two folders.
pub fn compare(first: &Path, second: &Path, progress: Progress) -> Result<Difference> {
    let profiles = [Profile::open(first)?, Profile::open(second)?];
    let both = format!("{} and {}", first.display(), second.display());
    let mut ticker = Ticker::new("samples", &both, progress);
    let mut lines: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    let mut found = [BlockCounts::default(); 2];
    for (side, profile) in profiles.iter().enumerate() {
        let mut counts = BTreeMap::new();
        let mut samples = profile.samples();
        for sample in samples.by_ref() {
            ticker.tick();
            *counts
                .entry(profile.names.line(&sample?.entry))
                .or_default() += 1;
        }
        found[side] = samples.found();
        for (line, count) in counts {
            let name = (line.symbol.into_owned(), line.module.into_owned());
            lines.entry(name).or_default()[side] = count;
        }
    }
    drop(ticker);
    let percent = |side: usize, samples: u64| match found[side].samples {
        0 => 0.0,
        all => samples as f64 * 100.0 / all as f64,
    };
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|((symbol, module), samples)| Line {
            symbol,
            module,
            samples,
            percent: [percent(0, samples[0]), percent(1, samples[1])],
        })
        .collect();
    // A stable sort: equal differences stay in alphabetical order.
    lines.sort_by(|one, other| other.difference().abs().total_cmp(&one.difference().abs()));
    let warnings = warnings(&profiles, &found);
    let counters = counters(&profiles);
    let side = |place: usize, path: &Path| Side {
        name: path.display().to_string(),
        title: profiles[place].title.clone(),
        found: found[place],
        doubts: profiles[place].doubts.clone(),
    };
    Ok(Difference {
        sides: [side(0, first), side(1, second)],
        warnings,
        lines,
        counters,
    })
}

/// What makes the two hard to compare.
fn warnings(profiles: &[Profile; 2], found: &[BlockCounts; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut differ = |what: &str, [first, second]: [String; 2]| {
        if first != second {
            let shown = |text: String| {
                if text.is_empty() {
                    "unknown".into()
                } else {
                    text
                }
            };
            let (first, second) = (shown(first), shown(second));
            warnings.push(format!("{what}: {first} in A, {second} in B"));
        }
    };
    let each = |of: &dyn Fn(&Profile) -> String| profiles.each_ref().map(of);
    let number = |number: u64| match number {
        0 => String::new(),
        number => grouped(number),
    };
    differ(
        "the guests are not the same",
        each(&|profile| match profile.record {
            // A collection does not name its guest; its title is only a date.
            None => String::new(),
            Some(_) => profile.title.clone(),
        }),
    );
    let intervals =
        "the sampling intervals are not the same, so samples stand for unequal numbers of cycles";
    differ(intervals, each(&|profile| number(profile.pace.interval)));
    differ(
        "the machines are not the same",
        each(&|profile| profile.machine_type.clone()),
    );
    differ(
        "their CPUs do not have the same speed, in cycles per microsecond",
        each(&|profile| number(profile.pace.speed.into())),
    );
    let record = |of: &dyn Fn(&crate::folder::record::RunRecord) -> String| {
        profiles
            .each_ref()
            .map(|profile| profile.record.as_ref().map(of).unwrap_or_default())
    };
    differ(
        "the modes are not the same",
        record(&|record| record.mode_found().to_owned()),
    );
    differ(
        "the guests did not find the same machine",
        record(&|record| match &record.configuration[..] {
            [] => "the default".to_owned(),
            words => words.join(", "),
        }),
    );
    differ(
        "the modelled caches are not the same",
        record(&|record| {
            let geometry = record.exact_caches.as_deref();
            geometry.unwrap_or("none").to_owned()
        }),
    );
    differ(
        "the numbers of CPUs are not the same",
        each(&|profile| match &profile.record {
            Some(record) => record.cpus.to_string(),
            None => profile.cpus().len().to_string(),
        }),
    );
    for (name, found) in ["A", "B"].into_iter().zip(found) {
        if found.samples == 0 {
            warnings.push(format!("{name} has no samples"));
        }
        for (number, text) in [
            (found.overflow, "samples were lost because blocks were full"),
            (found.malformed, "sample-data blocks are damaged or cut off"),
            (found.invalid, "samples are marked invalid"),
        ] {
            if number > 0 {
                warnings.push(format!("{name}: {} {text}", grouped(number)));
            }
        }
    }
    warnings
}

/// Sums by group (`None` for all CPUs), set and number.
type Sums = BTreeMap<(Option<u16>, u16, u16), u64>;

fn sums(sets: &[CounterValues]) -> Sums {
    let mut sums = Sums::new();
    let wanted =
        |set: &&CounterValues| set.level == Level::Machine && set.authorized && set.is_in_sum();
    for set in sets.iter().filter(wanted) {
        let group = set.is_of_group().then_some(set.cpu);
        for (number, value) in (set.first..=u16::MAX).zip(&set.values) {
            let sum = sums.entry((group, set.set, number)).or_default();
            *sum = sum.wrapping_add(*value);
        }
    }
    sums
}

/// All counters that either of the two has, except those that are zero in both.
fn counters(profiles: &[Profile; 2]) -> Vec<Counter> {
    let [first, second] = profiles.each_ref().map(|profile| sums(&profile.counters));
    let models = profiles.each_ref().map(|profile| profile.model());
    let mut keys: Vec<_> = first.keys().chain(second.keys()).copied().collect();
    // CPUs before groups, then by number, as sets have their numbers in the order of the manual.
    keys.sort_unstable_by_key(|(group, set, number)| (*group, *number, *set));
    keys.dedup();
    keys.iter()
        .map(|key| Counter {
            set: match key.0 {
                Some(group) => format!("{}-{group}", set_name(key.1)),
                None => set_name(key.1),
            },
            number: key.2,
            name: name(models, key.0.is_some(), key.2),
            values: [first.get(key).copied(), second.get(key).copied()],
        })
        .filter(|counter| counter.values.iter().flatten().any(|value| *value != 0))
        .collect()
}

/// The name of a counter; both, if the models do not agree.
fn name(models: [&Model; 2], is_of_group: bool, number: u16) -> String {
    if is_of_group {
        return group_counter_name(number);
    }
    let [first, second] = models.map(|model| counter_name(model, number));
    if first == second {
        first
    } else {
        format!("{first} / {second}")
    }
}

#[cfg(test)]
mod tests;
