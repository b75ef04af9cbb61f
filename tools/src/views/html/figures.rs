//! Counters as tables, and the figures that follow from them.
//!
//! A figure is shown only if its counters are there and count something on the guest's model: a quotient of counters
//! that are zero by definition says nothing.

use {
    cpumf::Model,
    link::data::{COPROCESSOR_GROUP, Level},
};

use super::{
    page::{CounterRow, CounterTable, Figure, Figures},
    readings::Readings,
};
use crate::formats::counters::{CounterValues, counter_name, counts, group_counter_name, set_name};

/// The operands of the figures.
pub struct Measured<'m> {
    /// The sets that are authorized, of all levels.
    pub sets: &'m [CounterValues],
    /// Their readings.
    pub readings: &'m Readings,
    /// The model of the guest.
    pub model: &'m Model,
    /// Cycles per microsecond; 0 if unknown.
    pub speed: u32,
    /// Whether the clock counted instructions.
    pub is_exact: bool,
    /// Whether a model counts the caches. No cycle count includes its penalty cycles.
    pub models_caches: bool,
}

/// A counter by its number; `None` if it is missing or counts nothing.
type Counter<'c> = &'c dyn Fn(u16) -> Option<f64>;

/// Calculates a figure; the second operand is cycles per microsecond.
type Formula = fn(Counter<'_>, f64) -> Option<f64>;

/// Name, formula in words, unit, formula.
static FIGURES: [(&str, &str, &str, Formula); 13] = [
    (CPI, "counter 0 ÷ counter 1", "", |of, _| {
        ratio(of(0)?, of(1)?)
    }),
    (
        "Instructions per second of guest time",
        "counter 1 ÷ (counter 0 ÷ CPU speed)",
        "million",
        |of, speed| ratio(of(1)? * speed, of(0)?).filter(|_| speed > 0.0),
    ),
    (
        "Instructions in problem state",
        "counter 33 ÷ counter 1",
        "%",
        |of, _| ratio(of(33)? * 100.0, of(1)?),
    ),
    (
        "Cycles in problem state",
        "counter 32 ÷ counter 0",
        "%",
        |of, _| ratio(of(32)? * 100.0, of(0)?),
    ),
    (CPI_PROBLEM, "counter 32 ÷ counter 33", "", |of, _| {
        ratio(of(32)?, of(33)?)
    }),
    (
        "Level-1 directory writes for 100 instructions",
        "100 × (counter 2 + counter 4) ÷ counter 1",
        "",
        |of, _| ratio((of(2)? + of(4)?) * 100.0, of(1)?),
    ),
    (
        "Level-1 penalty cycles",
        "(counter 3 + counter 5) ÷ counter 0",
        "%",
        |of, _| ratio((of(3)? + of(5)?) * 100.0, of(0)?),
    ),
    (
        CPI_MODELLED,
        "(counters 0 + 3 + 5) ÷ counter 1",
        "",
        |of, _| ratio(of(0)? + of(3)? + of(5)?, of(1)?),
    ),
    (
        CPI_PROBLEM_MODELLED,
        "(counters 32 + 35 + 37) ÷ counter 33",
        "",
        |of, _| ratio(of(32)? + of(35)? + of(37)?, of(33)?),
    ),
    (
        "Cycles in cryptographic functions",
        "(counters 65 + 69 + 73 + 77 + 81) ÷ counter 0",
        "%",
        |of, _| {
            let all = of(65)? + of(69)? + of(73)? + of(77)? + of(81).unwrap_or(0.0);
            ratio(all * 100.0, of(0)?)
        },
    ),
    (
        "Cycles that waited for a coprocessor",
        "(counters 67 + 71 + 75 + 79 + 83) ÷ counter 0",
        "%",
        |of, _| {
            let all = of(67)? + of(71)? + of(75)? + of(79)? + of(83).unwrap_or(0.0);
            ratio(all * 100.0, of(0)?)
        },
    ),
    (
        "Cycles for a cryptographic function",
        "(counters 65 + 69 + 73 + 77 + 81) ÷ (counters 64 + 68 + 72 + 76 + 80)",
        "",
        |of, _| {
            let cycles = of(65)? + of(69)? + of(73)? + of(77)? + of(81).unwrap_or(0.0);
            let functions = of(64)? + of(68)? + of(72)? + of(76)? + of(80).unwrap_or(0.0);
            ratio(cycles, functions)
        },
    ),
    (
        "Core cycles with two threads active",
        "counter 449 ÷ (counter 448 + counter 449)",
        "%",
        |of, _| ratio(of(449)? * 100.0, of(448)? + of(449)?),
    ),
];

const CPI: &str = "Cycles per instruction";
const CPI_PROBLEM: &str = "Cycles per instruction in problem state";

/// Figures for modelled caches only: the cycles of a real machine include the penalties of its caches.
const MODELLED: [&str; 2] = [CPI_MODELLED, CPI_PROBLEM_MODELLED];
const CPI_MODELLED: &str = "Cycles per instruction with the model's penalty cycles";
const CPI_PROBLEM_MODELLED: &str = "The same in problem state";

/// Cycles and instructions are the same up to this difference: an interrupted instruction counts cycles only.
const SAME: f64 = 0.001;

fn ratio(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}

/// The levels with their titles.
pub const LEVELS: [(Level, &str); 2] = [
    (Level::Machine, "The machine's measurement"),
    (Level::Guest, "The guest's own measurement"),
];

/// The figures of all levels.
pub fn figures(measured: &Measured<'_>) -> Vec<Figures> {
    let of_levels = LEVELS
        .into_iter()
        .map(|(level, title)| of_level(measured, level, title));
    of_levels
        .filter(|figures| !figures.lines.is_empty())
        .collect()
}

fn of_level(measured: &Measured<'_>, level: Level, title: &str) -> Figures {
    let sets: Vec<&CounterValues> = of_kind(measured.sets, level, false);
    let owners = owners(&sets);
    let speed = f64::from(measured.speed);
    let counter = |owner: Option<u16>, number: u16| {
        let (set, _) = measured.model.locate(number)?;
        let set = u16::from(set.code());
        let of_set = sets.iter().filter(|known| known.set == set);
        let of_owner =
            of_set.filter(|known| owner.map_or(known.is_in_sum(), |owner| known.cpu == owner));
        let values = of_owner.filter_map(|known| value(known, number));
        let sum = values
            .map(|value| value as f64)
            .reduce(|one, other| one + other);
        sum.filter(|_| counts(measured.model, number, measured.models_caches))
    };
    let mut whose: Vec<Option<u16>> = owners.iter().copied().map(Some).collect();
    if owners.len() > 1 {
        whose.push(None);
    }
    let intervals = measured.readings.intervals(level, false);
    let mut figures = Figures {
        title: title.to_owned(),
        owners: whose
            .iter()
            .map(|owner| owner.map_or("all CPUs".to_owned(), |cpu| format!("CPU {cpu}")))
            .collect(),
        ..Figures::default()
    };
    for (name, formula, unit, calculate) in FIGURES {
        if MODELLED.contains(&name) && !measured.models_caches {
            continue;
        }
        let of_owner = |owner: &Option<u16>| calculate(&|number| counter(*owner, number), speed);
        let values: Vec<Option<f64>> = whose.iter().map(of_owner).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let is_cpi = [CPI, CPI_PROBLEM].contains(&name);
        let is_one = |value: &Option<f64>| value.is_none_or(|value| (value - 1.0).abs() < SAME);
        if measured.is_exact && is_cpi && values.iter().all(is_one) {
            let note = "No cycles per instruction: in exact mode one instruction is one cycle by definition.";
            if name == CPI {
                figures.notes.push(note.to_owned());
            }
            continue;
        }
        let chart = (0..intervals).map(|interval| {
            calculate(
                &|number| {
                    counter(None, number)?;
                    let (set, _) = measured.model.locate(number)?;
                    let set = u16::from(set.code());
                    let all = interval_counts(measured, level, set, number, &sets);
                    all.get(interval).map(|count| *count as f64)
                },
                speed,
            )
        });
        let chart = chart.collect();
        figures.lines.push(Figure {
            name,
            formula: formula.to_owned(),
            unit,
            values,
            chart,
        });
    }
    figures
}

fn interval_counts(
    measured: &Measured<'_>,
    level: Level,
    set: u16,
    number: u16,
    sets: &[&CounterValues],
) -> Vec<u64> {
    let is_in_sum = |owner: u16| {
        let known = sets
            .iter()
            .find(|known| (known.set, known.cpu) == (set, owner));
        known.is_some_and(|known| known.is_in_sum())
    };
    measured.readings.counter(level, set, number, is_in_sum)
}

/// The tables of all levels, of CPUs and of groups.
pub fn tables(measured: &Measured<'_>) -> Vec<CounterTable> {
    let mut tables = Vec::new();
    for (level, title) in LEVELS {
        for is_of_group in [false, true] {
            let sets = of_kind(measured.sets, level, is_of_group);
            if !sets.is_empty() {
                tables.push(table(measured, level, title, &sets));
            }
        }
    }
    tables
}

fn table(
    measured: &Measured<'_>,
    level: Level,
    title: &str,
    sets: &[&CounterValues],
) -> CounterTable {
    let model = measured.model;
    let is_of_group = sets.iter().any(|set| set.is_of_group());
    let owners = owners(sets);
    let owner = if is_of_group { "group" } else { "CPU" };
    let intervals = measured.readings.intervals(level, is_of_group);
    let mut table = CounterTable {
        title: match is_of_group {
            true => format!("{title}, by coprocessor group"),
            false => title.to_owned(),
        },
        owners: owners
            .iter()
            .map(|number| format!("{owner} {number}"))
            .collect(),
        is_summed: !is_of_group && owners.len() > 1,
        intervals,
        ..CounterTable::default()
    };
    let instructions: u64 = match is_of_group {
        true => 0,
        false => sets
            .iter()
            .filter(|set| set.set == 1)
            .filter_map(|set| value(set, 1))
            .fold(0, u64::wrapping_add),
    };
    for (kind, number) in numbers(sets).into_iter().take(MOST_COUNTERS) {
        let of_kind = sets.iter().filter(|set| set.set == kind);
        let of_owner = |whose: &u16| {
            of_kind
                .clone()
                .find(|set| set.cpu == *whose)
                .and_then(|set| value(set, number))
        };
        let values: Vec<Option<u64>> = owners.iter().map(of_owner).collect();
        let is_zero = values.iter().flatten().all(|value| *value == 0);
        if !is_of_group && is_zero && !counts(model, number, measured.models_caches) {
            table.silent += 1;
            continue;
        }
        let in_sum = of_kind.clone().filter(|set| set.is_in_sum());
        let sum = in_sum
            .filter_map(|set| value(set, number))
            .fold(0, u64::wrapping_add);
        let is_other = kind != 1 || number > 1;
        table.rows.push(CounterRow {
            set: set_name(kind),
            number,
            name: match is_of_group {
                true => group_counter_name(number),
                false => counter_name(model, number),
            },
            values,
            sum: table.is_summed.then_some(sum),
            per_thousand: (instructions > 0 && is_other && !is_zero)
                .then(|| sum as f64 * 1000.0 / instructions as f64),
            chart: match intervals {
                0 => Vec::new(),
                _ => {
                    let counts = interval_counts(measured, level, kind, number, sets);
                    counts.into_iter().map(|count| count as f64).collect()
                }
            },
        });
    }
    let width = measured.readings.width(level, is_of_group);
    if intervals > 0 && width > 1 {
        table.notes.push(format!(
            "An interval of the charts has {width} readings; the last one may have fewer."
        ));
    }
    let set_back = measured.readings.set_back(level, is_of_group);
    if set_back > 0 {
        table.notes.push(format!(
            "In {set_back} readings a counter is lower than in the reading before: it was set in between, and its chart counts it from zero."
        ));
    }
    table
}

fn of_kind(sets: &[CounterValues], level: Level, is_of_group: bool) -> Vec<&CounterValues> {
    let of_level = sets
        .iter()
        .filter(|set| set.level == level && set.authorized);
    of_level
        .filter(|set| (set.set == COPROCESSOR_GROUP) == is_of_group)
        .collect()
}

fn owners(sets: &[&CounterValues]) -> Vec<u16> {
    let mut owners: Vec<u16> = sets.iter().map(|set| set.cpu).collect();
    owners.sort_unstable();
    owners.dedup();
    owners.truncate(MOST_OWNERS);
    owners
}

/// Most counters of a table; no model has as many.
const MOST_COUNTERS: usize = 2000;

/// Most columns of a table of counters.
const MOST_OWNERS: usize = 64;

fn value(set: &CounterValues, number: u16) -> Option<u64> {
    let place = number.checked_sub(set.first)?;
    set.values.get(usize::from(place)).copied()
}

/// All counters of the sets, as set and number, by number.
fn numbers(sets: &[&CounterValues]) -> Vec<(u16, u16)> {
    let all = sets.iter().flat_map(|set| {
        let end = set.first.saturating_add(set.values.len() as u16);
        (set.first..end).map(|counter| (set.set, counter))
    });
    let mut numbers: Vec<_> = all.collect();
    numbers.sort_unstable_by_key(|(set, counter)| (*counter, *set));
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests;
