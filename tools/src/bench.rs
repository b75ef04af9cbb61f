//! What the machine costs: the length of its paths in instructions, and host time as ratios.
//!
//! The bundled guest `bench` counts path lengths under `-icount`, and prints a line `path NAME INSTRUCTIONS` for each.
//! One path no guest can see separately: [`mod@trap`]. Path lengths are exact and the same every time.
//!
//! Host times are not. Runs are made in interleaved pairs, so that a computer that becomes slower slows both, and the
//! median of the pairs' ratios counts. The cost of each single instruction is in [`instructions`], that of the tool itself
//! in [`host`], and how soon it starts what a person asked for in [`start`].

use std::time::Duration;

use anyhow::{Result, bail};
use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::{
    computer::{progress::Progress, temporary::Temporary},
    costs::{BUDGETS, SHADOW_FILLS, TRAP},
    machine::run::{NativeOptions, NativeOutcome, RunOutcome, run, run_native},
    numbers::{grouped, quantities::Sampling},
    options::RunOptions,
};

pub mod host;
pub mod instructions;
pub mod linux;
pub mod start;
pub mod trap;

/// The guest that prints path lengths.
pub const PATHS_GUEST: &str = "bench";

/// The guest that prints the lengths of the paths between a program and a device.
pub const DEVICE_PATHS_GUEST: &str = "bench-devices";

/// A CPU-bound guest that runs on bare QEMU too and takes no interruption.
pub const BARE_GUEST: &str = "spin";

/// A guest that ends soon after it has begun, also on bare QEMU: what it takes is the start and the end.
const SHORT_GUEST: &str = "bare-loop";

/// The same loop with a handler of eleven instructions that only rearms the clock comparator, by the interval of its
/// interruptions in cycles: the least that samples could cost. Each has the most that samples may take in host time, as a ratio
/// to it.
pub const TIMER_INTERVALS: [(u64, f64); 3] = [(1_000_000, 1.03), (100_000, 1.05), (10_000, 1.15)];

/// The path from a program to a virtio device, with one buffer of one descriptor. The device is a network card. The way
/// back, `virtio-give-back`, has no budget: the device interrupts when the host lets it, and on a busy host a trap of
/// the machine's own clock is in each instance.
const DEVICE_BUDGETS: [(&str, u64); 1] = [("virtio-notify", 870)];

/// The guest that prints the lengths of the paths while program events are recorded.
pub const RECORDING_GUEST: &str = "stepping";

/// An instruction that is executed on its own, and a store beside a range into which stores are recorded.
const RECORDING_BUDGETS: [(&str, u64); 2] = [("per-step", 600), ("per-store", 400)];

/// The guest that prints the length of the path of a sample with its call stack, and its path.
pub const STACKS_GUEST: &str = "bench-stacks";
const STACK_BUDGETS: [(&str, u64); 1] = [("sample-stack-16", 760)];

/// The return addresses of that stack, and the interval of its samples, which the guest knows.
const STACK_DEPTH: u32 = 16;
const STACK_INTERVAL: u64 = 10_000;

/// The operator's command that samples of diagnostic data need.
const DIAGNOSTIC: &str = "AUTH CPU 0 SAMPLING DIAGNOSTIC ON";

/// The guest's word for a path that this machine does not have.
const ABSENT: &str = "absent";

/// A path and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLength {
    /// Its name.
    pub name: String,
    /// Instructions.
    pub instructions: u64,
}

impl PathLength {
    /// The path's budget, if it has one.
    pub fn budget(&self) -> Option<u64> {
        let known = BUDGETS.iter().chain(&DEVICE_BUDGETS);
        let known = known.chain(&RECORDING_BUDGETS).chain(&STACK_BUDGETS);
        let known = known.chain([&TRAP]).chain(&SHADOW_FILLS);
        known
            .into_iter()
            .find(|(name, _)| *name == self.name)
            .map(|(_, budget)| *budget)
    }

    /// Whether the path is over its budget.
    pub fn is_over(&self) -> bool {
        self.budget()
            .is_some_and(|budget| self.instructions > budget)
    }
}

/// Host time of the machine as a ratio to bare QEMU.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// What is compared.
    pub what: String,
    /// The ratio of each pair.
    pub pairs: Vec<f64>,
    /// The most that their median may be.
    pub budget: f64,
}

impl Ratio {
    /// The middle ratio; for an even number the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        let mut sorted = self.pairs.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.get(middle) {
            None => f64::NAN,
            Some(upper) if sorted.len() % 2 == 1 => *upper,
            Some(upper) => f64::midpoint(sorted[middle - 1], *upper),
        }
    }

    /// The lowest ratio. If it is far from the median, the host was not quiet.
    pub fn lowest(&self) -> f64 {
        self.pairs.iter().copied().fold(f64::NAN, f64::min)
    }

    /// The highest ratio.
    pub fn highest(&self) -> f64 {
        self.pairs.iter().copied().fold(f64::NAN, f64::max)
    }

    /// Whether the median is over the budget. No pairs at all are over it.
    pub fn is_over(&self) -> bool {
        let median = self.median();
        median.is_nan() || median > self.budget
    }
}

/// The lines `path NAME INSTRUCTIONS` of a guest's console.
pub fn parse(console: &str) -> Result<Vec<PathLength>> {
    parse_all(console, BUDGETS.iter().chain(&SHADOW_FILLS))
}

/// The same; these paths must be among them.
fn parse_all<'a>(
    console: &str,
    expected: impl Iterator<Item = &'a (&'a str, u64)>,
) -> Result<Vec<PathLength>> {
    let mut paths = Vec::new();
    for line in console.lines() {
        let mut words = line.split_whitespace();
        if words.next() != Some("path") {
            continue;
        }
        let (Some(name), Some(number), None) = (words.next(), words.next(), words.next()) else {
            bail!("the guest {PATHS_GUEST} printed a line that is not a path: {line}");
        };
        if number == ABSENT {
            continue;
        }
        let Ok(instructions) = number.parse() else {
            bail!("the guest {PATHS_GUEST} printed a length that is not a number: {line}");
        };
        paths.push(PathLength {
            name: name.to_owned(),
            instructions,
        });
    }
    let missing: Vec<&str> = expected
        .map(|(name, _)| *name)
        .filter(|name| paths.iter().all(|path| path.name != *name))
        .collect();
    if !missing.is_empty() {
        bail!(
            "the guest {PATHS_GUEST} did not measure: {}",
            missing.join(", ")
        );
    }
    Ok(paths)
}

/// Measures path lengths.
pub fn paths(options: &RunOptions, progress: &Progress) -> Result<Vec<PathLength>> {
    let mut paths = guest_paths(options, progress)?;
    let trap = PathLength {
        name: TRAP.0.to_owned(),
        instructions: trap::measure(options, progress)?.outside(),
    };
    paths.insert(0, trap);
    paths.extend(recording_paths(options, progress)?);
    paths.extend(stack_paths(options, progress)?);
    paths.extend(device_paths(options, progress)?);
    Ok(paths)
}

/// Measures the path lengths that a guest sees by its clock.
pub fn guest_paths(options: &RunOptions, progress: &Progress) -> Result<Vec<PathLength>> {
    let mut options = options.clone();
    options.guest = PATHS_GUEST.to_owned();
    options.operator.push(DIAGNOSTIC.to_owned());
    parse(&console_of(options, progress)?)
}

/// Measures the paths while program events are recorded.
fn recording_paths(options: &RunOptions, progress: &Progress) -> Result<Vec<PathLength>> {
    let mut options = options.clone();
    options.guest = RECORDING_GUEST.to_owned();
    options.sampling = Sampling::Off;
    parse_all(&console_of(options, progress)?, RECORDING_BUDGETS.iter())
}

/// Measures the path of a sample whose call stack is followed. It has a run of its own, because the samples of the run
/// are in each of its loops.
fn stack_paths(options: &RunOptions, progress: &Progress) -> Result<Vec<PathLength>> {
    let mut options = options.clone();
    options.guest = STACKS_GUEST.to_owned();
    options.sampling = Sampling::Every(STACK_INTERVAL);
    options.stacks = Some(STACK_DEPTH);
    parse_all(&console_of(options, progress)?, STACK_BUDGETS.iter())
}

/// Measures the paths between a guest and a device. They have a run of their own, because a run with a device is not
/// repeatable.
fn device_paths(options: &RunOptions, progress: &Progress) -> Result<Vec<PathLength>> {
    let mut options = options.clone();
    options.guest = DEVICE_PATHS_GUEST.to_owned();
    options.devices.network = true;
    parse_all(&console_of(options, progress)?, DEVICE_BUDGETS.iter())
}

/// What a guest of a successful run has written.
fn console_of(mut options: RunOptions, progress: &Progress) -> Result<String> {
    let directory = Temporary::new()?;
    options.out = Some(directory.path().to_owned());
    let outcome = run(&options, progress)?;
    if outcome.end.exit_code() != 0 {
        bail!("{}\n{}", outcome.end.sentence(), outcome.console);
    }
    Ok(outcome.console)
}

/// Measures host-time ratios in this many pairs each.
pub fn ratios(options: &RunOptions, pairs: usize, progress: &Progress) -> Result<Vec<Ratio>> {
    let mut ratios = Vec::new();
    let off = ("sampling off, to bare QEMU".to_owned(), Sampling::Off);
    let million = (
        "a sample every 1,000,000 cycles, to bare QEMU".to_owned(),
        Sampling::Every(1_000_000),
    );
    let to_bare =
        [off, million].map(|(what, sampling)| (what, sampling, BARE_GUEST.to_owned(), 1.05));
    let to_timers = TIMER_INTERVALS.map(|(interval, budget)| {
        let every = grouped(interval);
        let what = format!("a sample every {every} cycles, to a bare timer handler");
        let guest = format!("bare-timer-{interval}");
        (what, Sampling::Every(interval), guest, budget)
    });
    for (what, sampling, bare, budget) in to_bare.into_iter().chain(to_timers) {
        let mut step = progress.step(&format!("timing {what}"));
        let mut measured = Vec::new();
        for pair in 0..pairs {
            let how_far = format!("{pair} of {pairs} pairs");
            step.reach_of(pair as u64, pairs as u64, &how_far);
            // The start and the end are the same however long a guest runs.
            let below = bare_time(&bare, options)?.saturating_sub(bare_time(SHORT_GUEST, options)?);
            let above = machine_time(BARE_GUEST, sampling, options)?.saturating_sub(machine_time(
                SHORT_GUEST,
                Sampling::Off,
                options,
            )?);
            if below.is_zero() {
                bail!(
                    "the guest {bare} took no longer than {SHORT_GUEST}, so this computer is too busy; try again"
                );
            }
            measured.push(above.as_secs_f64() / below.as_secs_f64());
        }
        step.done(&format!("timed {what}"));
        ratios.push(Ratio {
            what,
            pairs: measured,
            budget,
        });
    }
    Ok(ratios)
}

fn bare_time(guest: &str, options: &RunOptions) -> Result<Duration> {
    let mut native = NativeOptions::new(guest);
    native.qemu.clone_from(&options.qemu);
    Ok(bare_success(&native)?.wall)
}

/// A run on bare QEMU that ended with success.
fn bare_success(native: &NativeOptions) -> Result<NativeOutcome> {
    let outcome = run_native(native, &Progress::Silent)?;
    if outcome.exit_code != Some(0) {
        bail!(
            "the guest {} failed on bare QEMU ({:?}):\n{}{}",
            native.guest,
            outcome.exit_code,
            outcome.console,
            outcome.complaints
        );
    }
    Ok(outcome)
}

fn machine_time(guest: &str, sampling: Sampling, options: &RunOptions) -> Result<Duration> {
    let directory = Temporary::new()?;
    let mut options = options.clone();
    options.guest = guest.to_owned();
    options.sampling = sampling;
    options.out = Some(directory.path().to_owned());
    let RunOutcome {
        end, wall, console, ..
    } = run(&options, &Progress::Silent)?;
    if end.exit_code() != 0 {
        bail!("{}\n{console}", end.sentence());
    }
    Ok(wall)
}

fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    table
}

fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn verdict(is_over: bool) -> Cell {
    Cell::new(if is_over { "OVER" } else { "within" })
}

/// Path lengths beside their budgets.
pub fn paths_text(paths: &[PathLength]) -> String {
    let mut table = table(["path", "instructions", "budget", ""]);
    for path in paths {
        let budget = path.budget();
        table.add_row(vec![
            Cell::new(&path.name),
            right(path.instructions),
            right(budget.map_or("-".to_owned(), |budget| budget.to_string())),
            if budget.is_some() {
                verdict(path.is_over())
            } else {
                Cell::new("")
            },
        ]);
    }
    table.to_string()
}

/// Ratios beside their budgets.
pub fn ratios_text(ratios: &[Ratio]) -> String {
    let mut table = table(["host time", "median", "lowest", "highest", "budget", ""]);
    for ratio in ratios {
        table.add_row(vec![
            Cell::new(&ratio.what),
            right(format!("{:.3}", ratio.median())),
            right(format!("{:.3}", ratio.lowest())),
            right(format!("{:.3}", ratio.highest())),
            right(format!("{:.2}", ratio.budget)),
            verdict(ratio.is_over()),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> String {
        let lines = BUDGETS.iter().chain(&SHADOW_FILLS);
        lines
            .map(|(name, budget)| format!("path {name} {budget}\n"))
            .collect()
    }

    #[test]
    fn a_path_within_its_budget_is_not_over_it() {
        let paths = parse(&complete()).unwrap();
        assert_eq!(paths.len(), BUDGETS.len() + SHADOW_FILLS.len());
        assert!(paths.iter().all(|path| !path.is_over()));
        let one_more = PathLength {
            name: "sample".to_owned(),
            instructions: 251,
        };
        assert!(one_more.is_over());
        let unknown = PathLength {
            name: "other".to_owned(),
            instructions: 9999,
        };
        assert!(!unknown.is_over() && unknown.budget().is_none());
    }

    #[test]
    fn a_guest_that_measures_too_little_or_nonsense_is_an_error() {
        assert!(
            parse("hello\n")
                .unwrap_err()
                .to_string()
                .contains("did not measure: trap-decode, ssm")
        );
        assert!(
            parse(&(complete() + "path svc many\n"))
                .unwrap_err()
                .to_string()
                .contains("not a number")
        );
        assert!(
            parse(&(complete() + "path svc\n"))
                .unwrap_err()
                .to_string()
                .contains("not a path")
        );
    }

    #[test]
    fn the_median_of_pairs_forgives_one_bad_pair() {
        let ratio = |pairs: &[f64]| Ratio {
            what: String::new(),
            pairs: pairs.to_vec(),
            budget: 1.05,
        };
        assert!(!ratio(&[1.01, 9.0, 1.02]).is_over());
        assert!((ratio(&[1.0, 1.2]).median() - 1.1).abs() < 1e-9);
        assert!(ratio(&[1.06]).is_over());
        assert!(ratio(&[]).is_over());
    }
}
