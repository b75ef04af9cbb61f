//! The time from the shell to the first instruction of what a person asked for.
//!
//! This command starts itself again, as a shell would. Each round has a plain boot, and everything else is compared with
//! the boot of its own round, so a computer that becomes slower slows both. A command in Linux has begun when its first
//! output arrives. A small guest and the help are timed to their ends, so their first instruction was earlier.

use std::{
    env,
    io::Read,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use super::{Ratio, right, table, verdict};
use crate::computer::{interrupt, progress::Progress, temporary::Temporary};

/// The date in Linux, which decides nothing here but that the system may be kept.
const DATE: &str = "2026-01-01T00:00:00";

/// What the command in Linux writes.
const WORD: &str = "begun";

/// A guest that ends at once.
const GUEST: &str = "b_stfl";

/// What is timed, and the most that it may take as a ratio to a plain boot. A boot is to take six seconds at most, a kept
/// system one, and a bundled guest 0.3.
const BUDGETS: [(Start, &str, f64); 3] = [
    (Start::Kept, "a command in a kept system", 1.0 / 6.0),
    (Start::Bundled, "a bundled guest, to its end", 0.05),
    (Start::Help, "the help, to its end", 0.01),
];

/// A way to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Boot,
    Kept,
    Bundled,
    Help,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts {
    /// The times of plain boots, in the order of the rounds.
    pub boots: Vec<Duration>,
    /// The times of each other start, with its ratios to the boots.
    pub others: Vec<(Vec<Duration>, Ratio)>,
}

impl Starts {
    /// Whether one is over its budget.
    pub fn is_over(&self) -> bool {
        self.others.iter().any(|(_, ratio)| ratio.is_over())
    }
}

/// Measures in this many rounds.
pub fn measure(qemu: Option<&Path>, rounds: usize, progress: &Progress) -> Result<Starts> {
    ensure!(
        rounds > 0,
        "0 rounds measure nothing; choose 1 or more with --pairs"
    );
    let directory = Temporary::new()?;
    let timer = Timer {
        qemu,
        directory: directory.path(),
    };
    {
        // What is built, downloaded or kept only once comes before any timing.
        let step = progress.step("starting everything once");
        for (start, _, _) in BUDGETS {
            timer.time(start)?;
        }
        step.done("started everything once");
    }
    let mut boots = Vec::new();
    let mut others: Vec<Vec<Duration>> = vec![Vec::new(); BUDGETS.len()];
    let mut step = progress.step("timing starts");
    for round in 1..=rounds {
        boots.push(timer.time(Start::Boot)?);
        for (times, (start, _, _)) in others.iter_mut().zip(BUDGETS) {
            times.push(timer.time(start)?);
        }
        step.update(&format!("{round} of {rounds} rounds"));
    }
    step.done("timed starts");
    Ok(compared(boots, others))
}

fn compared(boots: Vec<Duration>, others: Vec<Vec<Duration>>) -> Starts {
    let others = others.into_iter().zip(BUDGETS);
    let others = others.map(|(times, (_, what, budget))| {
        let pairs = times.iter().zip(&boots);
        let ratio = |(time, boot): (&Duration, &Duration)| time.as_secs_f64() / boot.as_secs_f64();
        let ratio = Ratio {
            what: what.to_owned(),
            pairs: pairs.map(ratio).collect(),
            budget,
        };
        (times, ratio)
    });
    Starts {
        others: others.collect(),
        boots,
    }
}

/// Starts this command again.
struct Timer<'a> {
    qemu: Option<&'a Path>,
    directory: &'a Path,
}

impl Timer<'_> {
    fn time(&self, start: Start) -> Result<Duration> {
        ensure!(!interrupt::requested(), "interrupted");
        let program = env::current_exe().context("this command does not know where it is")?;
        let mut command = Command::new(program);
        let linux = ["linux", "--rtc", DATE, "--out", "linux"];
        match start {
            Start::Boot => command.args(linux).arg("--fresh"),
            Start::Kept => command.args(linux),
            Start::Bundled => command.args(["run", GUEST, "--out", GUEST]),
            Start::Help => command.arg("--help"),
        };
        if let (Some(qemu), true) = (self.qemu, start != Start::Help) {
            command.arg("--qemu").arg(std::path::absolute(qemu)?);
        }
        if let Start::Boot | Start::Kept = start {
            command.args(["--", &format!("echo {WORD}")]);
        }
        command
            .current_dir(self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().context("cannot start this command again")?;
        let mut output = child.stdout.take().context("this command has no output")?;
        // Its errors are few, and read when it has ended.
        let mut first = [0; WORD.len()];
        let is_there = output.read_exact(&mut first).is_ok();
        let to_first = began.elapsed();
        let mut rest = Vec::new();
        output.read_to_end(&mut rest)?;
        let ended = child.wait_with_output()?;
        let to_end = began.elapsed();
        if !ended.status.success() || !is_there {
            bail!(
                "a start failed ({}):\n{}",
                ended.status,
                String::from_utf8_lossy(&ended.stderr)
            );
        }
        Ok(match start {
            Start::Boot | Start::Kept => to_first,
            Start::Bundled | Start::Help => to_end,
        })
    }
}

/// The times as text.
pub fn text(starts: &Starts) -> String {
    let seconds = |times: &[Duration]| {
        let times = Ratio {
            what: String::new(),
            pairs: times.iter().map(Duration::as_secs_f64).collect(),
            budget: 0.0,
        };
        right(format!("{:.2}", times.median()))
    };
    let mut table = table([
        "from the shell to",
        "seconds",
        "to a boot",
        "lowest",
        "highest",
        "budget",
        "",
    ]);
    let first = [comfy_table::Cell::new("a command after a plain boot")];
    table.add_row(first.into_iter().chain([seconds(&starts.boots)]));
    for (times, ratio) in &starts.others {
        table.add_row(vec![
            comfy_table::Cell::new(&ratio.what),
            seconds(times),
            right(format!("{:.3}", ratio.median())),
            right(format!("{:.3}", ratio.lowest())),
            right(format!("{:.3}", ratio.highest())),
            right(format!("{:.3}", ratio.budget)),
            verdict(ratio.is_over()),
        ]);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_is_compared_with_the_boot_of_its_own_round() {
        let seconds = |all: [u64; 3]| all.map(Duration::from_secs).to_vec();
        // The computer is ten times slower in the second round.
        let boots = seconds([10, 100, 10]);
        let others = vec![seconds([1, 10, 1]), seconds([1, 10, 1]), seconds([0, 0, 9])];
        let starts = compared(boots, others);
        let over: Vec<bool> = (starts.others.iter())
            .map(|(_, ratio)| ratio.is_over())
            .collect();
        assert_eq!(over, [false, true, false]);
        assert!(starts.is_over());
        let text = text(&starts);
        assert!(text.contains("10.00") && text.contains("OVER"), "{text}");
    }

    #[test]
    fn nothing_is_measured_in_no_rounds() {
        let error = measure(None, 0, &Progress::Silent).unwrap_err().to_string();
        assert!(error.contains("--pairs"), "{error}");
    }
}
