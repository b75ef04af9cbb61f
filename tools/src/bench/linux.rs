//! The cost of the machine for Linux: host time compared with bare QEMU, and instructions.
//!
//! The same kernel, the same first file system and the same script run above the machine and on bare QEMU, under the
//! same clock. The cost of a part of the script (`linux/script.sh`) is the cost of a run with it, less that of a run
//! with a part that does nothing. For host time that second run is the boot. The instructions of a boot end where the
//! shell begins, because the kernel has work left (its self-tests) that the script waits for.
//!
//! Instructions are exact: the machine counts its own beside the guest's. The traps are counted in separate runs,
//! because counting is work, too.

use std::{
    fs,
    io::{self, Write},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use link::{state::Mode, tally::Cause};

use crate::{
    bench::Ratio,
    computer::{progress::Progress, temporary::Temporary},
    costs,
    folder::record::TrapsRecord,
    linux::{self, LinuxOptions, Release, native},
    numbers::quantities::Rtc,
    options::RunOptions,
};

mod devices;
mod floor;
mod text;

pub use text::text;

use devices::{DEVICE_PARTS, Served};
use floor::Floor;

/// The script that the guest runs. Its arguments name the parts to run.
const SCRIPT: &str = include_str!("linux/script.sh");

/// The beginning of the line that the script writes before a part.
const MARK: &str = "@";

/// The mark behind the last part.
const END: &str = "end";

/// A part that does nothing.
const NOTHING: &str = "nothing";

/// The command of a boot that ends where the shell begins.
const SHELL_ONLY: &str = "true";

/// The name of the boot among the parts.
const BOOT: &str = "boot";

/// What a boot is called where its host time is.
const TIMED_BOOT: &str = "boot to the shell";

/// A part of the script.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its name in the script and on the command line.
    name: &'static str,
    /// What it does.
    what: &'static str,
    /// The budget of its host time, as a ratio to bare QEMU's.
    ratio: f64,
    /// The budget of the machine's instructions, in percent of the guest's.
    percent: f64,
}

/// The parts that need no devices. The first one does not leave problem state by itself.
const PARTS: [Part; 5] = [
    Part {
        name: "loop",
        what: "a loop of the shell",
        ratio: 1.05,
        percent: 1.0,
    },
    Part {
        name: "fork",
        what: "fork and exec",
        ratio: 1.6,
        percent: 95.0,
    },
    Part {
        name: "calls",
        what: "system calls of 4 KiB",
        ratio: 2.0,
        percent: 250.0,
    },
    Part {
        name: "faults",
        what: "page faults",
        ratio: 1.6,
        percent: 115.0,
    },
    Part {
        name: "switches",
        what: "context switches",
        ratio: 1.6,
        percent: 140.0,
    },
];

/// The names of the parts.
pub fn names() -> impl Iterator<Item = &'static str> {
    let parts = PARTS.iter().map(|part| part.name);
    let devices = DEVICE_PARTS.iter().map(|part| part.0);
    std::iter::once(BOOT).chain(parts).chain(devices)
}

/// Which parts are measured.
#[derive(Clone, Debug, Default)]
pub struct Choice(Vec<String>);

impl Choice {
    /// These parts; without any, all of them.
    pub const fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|chosen| chosen == name)
    }

    /// The chosen parts that need no devices.
    fn parts(&self) -> Vec<Part> {
        let parts = PARTS.iter().filter(|part| self.has(part.name));
        parts.copied().collect()
    }

    /// The chosen parts with devices.
    fn device_parts(&self) -> Vec<(&'static str, &'static str, f64)> {
        let parts = DEVICE_PARTS.iter().filter(|part| self.has(part.0));
        parts.copied().collect()
    }
}

/// The budget of a boot's host time, as a ratio.
const BOOT_RATIO: f64 = 1.3;

/// The budget of the machine's instructions in a boot, in percent of the guest's instructions.
///
/// A kernel waits in loops for the clock while it boots. So the guest's instructions change by a few percent when the machine's
/// do by a millionth: Linux 6.12 had 1290, 1318 and 1334 million, with 182 million of the machine each time.
const BOOT_PERCENT: f64 = 6.0;

/// How long the script waits behind a mark.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest boot.
const LIMIT: Duration = Duration::from_secs(900);

/// The date of all runs, so that the counts are the same every time: 1 January 2026.
const DATE: &str = "2026-01-01T00:00:00";

/// Instructions of the guest, and of the machine for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// What the guest did.
    pub what: String,
    /// Its instructions.
    pub guest: u64,
    /// The machine's.
    pub machine: u64,
    /// The most of the machine's instructions, in percent of the guest's.
    pub budget: Option<f64>,
}

impl Share {
    /// The machine's instructions in percent of the guest's.
    pub fn percent(&self) -> f64 {
        self.machine as f64 * 100.0 / self.guest as f64
    }

    /// Whether the machine is over its budget. A guest without instructions is over any budget.
    pub fn is_over(&self) -> bool {
        let percent = self.percent();
        self.budget
            .is_some_and(|budget| percent.is_nan() || percent > budget)
    }
}

/// Traps of one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traps {
    /// The cause in words.
    pub cause: String,
    /// How many there were.
    pub traps: u64,
    /// The machine's instructions for all of them.
    pub instructions: u64,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct LinuxBench {
    /// Host time.
    pub ratios: Vec<Ratio>,
    /// Instructions.
    pub shares: Vec<Share>,
    /// Traps of a boot and of each part, with titles.
    pub traps: Vec<(String, Vec<Traps>)>,
    /// What QEMU takes for these traps by itself, if host time was measured.
    pub floor: Option<Floor>,
}

impl LinuxBench {
    /// Whether a budget of instructions is exceeded. Host times depend on the host, so they do not count.
    pub fn is_over(&self) -> bool {
        self.shares.iter().any(Share::is_over)
    }
}

/// Measures the chosen parts, with this number of pairs for the host times. The options say how many CPUs there are and
/// whether their clock is the host's. Then there are only host times.
pub fn measure(
    options: &RunOptions,
    release: Release,
    choice: &Choice,
    pairs: usize,
    progress: &Progress,
) -> Result<LinuxBench> {
    let is_real_time = options.mode.is_real_time();
    if is_real_time && pairs == 0 {
        bail!("nothing but host time is measured in real time; give --pairs 1 or more");
    }
    let bench = Bench::new(options, release, progress)?;
    let timed = timed_parts(choice);
    let mut times = Vec::new();
    for pair in 1..=pairs {
        let step = progress.step(&format!("timing pair {pair} of {pairs}"));
        let (above, natively) = bench.pair(choice)?;
        step.done(&format!(
            "timed pair {pair} of {pairs}: {}",
            seconds(&timed, &above, &natively)
        ));
        times.push((above, natively));
    }
    if is_real_time {
        return Ok(LinuxBench {
            ratios: ratios(&timed, &times),
            shares: Vec::new(),
            traps: Vec::new(),
            floor: None,
        });
    }
    let parts = choice.parts();
    let shares = bench.shares(&parts, choice.has(BOOT))?;
    let mut traps = Vec::new();
    if choice.has(BOOT) {
        let boot = bench.counted(&[], true, "the traps of a boot")?.traps;
        traps.push((BOOT.to_owned(), by_cause(&boot, &[])));
    }
    if !parts.is_empty() {
        let nothing = bench.counted(&[NOTHING], true, "the traps of nothing")?;
        for part in parts {
            let what = format!("the traps of {}", part.what);
            let counted = bench.counted(&[part.name], true, &what)?;
            let traps_of_part = by_cause(&counted.traps, &nothing.traps);
            traps.push((part.what.to_owned(), traps_of_part));
        }
    }
    let floor = match pairs {
        0 => None,
        _ => Some(Floor::measure(&bench, pairs, &traps, &timed, &times)?),
    };
    Ok(LinuxBench {
        ratios: ratios(&timed, &times),
        shares,
        traps,
        floor,
    })
}

/// Measures what has a budget of instructions: a boot and the loop.
pub fn budgeted(options: &RunOptions, release: Release, progress: &Progress) -> Result<Vec<Share>> {
    Bench::new(options, release, progress)?.shares(&PARTS[..1], true)
}

/// The host times of one side of a pair: of the boot and of each part.
type Times = Vec<Duration>;

/// The names of what is timed, with budgets, in the order of the times. A boot is always timed, because the others are
/// longer than it.
fn timed_parts(choice: &Choice) -> Vec<(&'static str, f64)> {
    let parts = choice.parts().into_iter();
    let parts = parts.map(|part| (part.what, part.ratio));
    let devices = choice.device_parts().into_iter();
    let devices = devices.map(|(_, what, budget)| (what, budget));
    std::iter::once((TIMED_BOOT, BOOT_RATIO))
        .chain(parts)
        .chain(devices)
        .collect()
}

/// The times of a pair in words.
fn seconds(timed: &[(&str, f64)], above: &Times, natively: &Times) -> String {
    let words =
        timed
            .iter()
            .zip(above.iter().zip(natively))
            .map(|((what, _), (above, natively))| {
                format!(
                    "{what} {:.1} s and {:.1} s natively",
                    above.as_secs_f64(),
                    natively.as_secs_f64()
                )
            });
    words.collect::<Vec<_>>().join(", ")
}

fn ratios(timed: &[(&str, f64)], pairs: &[(Times, Times)]) -> Vec<Ratio> {
    let ratio = |(place, &(what, budget)): (usize, &(&str, f64))| {
        let of = |(above, below): &(Times, Times)| {
            above[place].as_secs_f64() / below[place].as_secs_f64()
        };
        Ratio {
            what: format!("{what}, to bare QEMU"),
            pairs: pairs.iter().map(of).collect(),
            budget,
        }
    };
    if pairs.is_empty() {
        return Vec::new();
    }
    timed.iter().enumerate().map(ratio).collect()
}

/// The counts of a run.
struct Counted {
    share: Share,
    traps: Vec<TrapsRecord>,
}

/// What all runs have in common.
struct Bench<'a> {
    options: LinuxOptions,
    progress: &'a Progress,
}

/// Performs one run. It writes the guest's output, and returns when QEMU began.
type Run = fn(&Bench<'_>, &LinuxOptions, &mut Marks) -> Result<Instant>;

impl<'a> Bench<'a> {
    fn new(run: &RunOptions, release: Release, progress: &'a Progress) -> Result<Self> {
        let rtc: Rtc = DATE.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
        let options = LinuxOptions {
            release,
            // What is timed is a boot.
            fresh: true,
            run: RunOptions {
                rtc,
                limit: Some(LIMIT),
                silence: LIMIT,
                qemu: run.qemu.clone(),
                sampling: crate::numbers::quantities::Sampling::Off,
                cpus: run.cpus.or(Some(1)),
                mode: run.mode,
                ..RunOptions::new("linux")
            },
            ..LinuxOptions::default()
        };
        // Downloads come before any timing.
        linux::prepare(&options, progress)?;
        Ok(Self { options, progress })
    }

    /// Times a boot and each part, alternately above the machine and natively. The guest's output is held back, so it
    /// does not show when a part begins. So each part has a run of its own, less the boot: for the parts that use devices
    /// a boot with these devices.
    fn pair(&self, choice: &Choice) -> Result<(Times, Times)> {
        let mut times = self.sides(None, choice.parts().iter().map(|part| part.name))?;
        let parts = choice.device_parts();
        if parts.is_empty() {
            return Ok(times);
        }
        let served = Served::new()?;
        let devices = self.sides(Some(&served), parts.iter().map(|part| part.0))?;
        times.0.extend(devices.0.into_iter().skip(1));
        times.1.extend(devices.1.into_iter().skip(1));
        Ok(times)
    }

    /// The times of a boot and of these parts above the machine, and natively.
    fn sides<'p>(
        &self,
        served: Option<&Served>,
        parts: impl Iterator<Item = &'p str>,
    ) -> Result<(Times, Times)> {
        let mut times = (Times::new(), Times::new());
        for part in std::iter::once(NOTHING).chain(parts) {
            times.1.push(self.timed(served, part, natively)?);
            times.0.push(self.timed(served, part, above)?);
        }
        for side in [&mut times.0, &mut times.1] {
            let (boot, parts) = side.split_at_mut(1);
            for part in parts {
                *part = part.saturating_sub(boot[0]);
            }
        }
        Ok(times)
    }

    /// The host time of a boot and one part.
    fn timed(&self, served: Option<&Served>, part: &str, run: Run) -> Result<Duration> {
        let part = &*served.map_or(part.to_owned(), |served| served.argument(part));
        let (mut options, _kept) = self.with_script(&[part])?;
        let directory = Temporary::new()?;
        options.run.out = Some(directory.path().to_owned());
        let is_real_time = options.run.mode.is_real_time();
        if let Some(served) = served {
            if !is_real_time {
                options.run.mode = Mode::Interactive;
            }
            options.run.devices = served.devices();
        }
        // Where the clock counts instructions, a guest that waits takes no time of the host.
        let waited = if is_real_time { PAUSE } else { Duration::ZERO };
        let mut marks = Marks::default();
        let began = run(self, &options, &mut marks)?;
        match &marks.all[..] {
            [(begin, _), (end, at)] if begin == part && end == END => {
                Ok((*at - began).saturating_sub(waited))
            }
            _ => bail!(
                "the guest did not come to its end, but wrote:\n{}",
                marks.text()
            ),
        }
    }

    /// The instructions of each of these parts, and of a boot if it is wanted.
    fn shares(&self, parts: &[Part], with_boot: bool) -> Result<Vec<Share>> {
        let mut shares = Vec::new();
        if with_boot {
            shares.push(Share {
                what: BOOT.to_owned(),
                budget: Some(BOOT_PERCENT),
                ..self.counted(&[], false, "a boot")?.share
            });
        }
        if parts.is_empty() {
            return Ok(shares);
        }
        let nothing = self.counted(&[NOTHING], false, NOTHING)?.share;
        for part in parts {
            let with = self.counted(&[part.name], false, part.what)?.share;
            shares.push(Share {
                what: part.what.to_owned(),
                guest: with.guest.saturating_sub(nothing.guest),
                machine: with.machine.saturating_sub(nothing.machine),
                budget: Some(part.percent),
            });
        }
        Ok(shares)
    }

    /// Counts a run of the script with these parts, or without any a boot.
    fn counted(&self, parts: &[&str], with_traps: bool, what: &str) -> Result<Counted> {
        let step = self.progress.step(&format!("counting {what}"));
        let (mut options, _kept) = self.with_script(parts)?;
        if parts.is_empty() {
            options.script = None;
            options.command = vec![SHELL_ONLY.to_owned()];
        }
        let directory = Temporary::new()?;
        options.run.out = Some(directory.path().to_owned());
        options.run.count_traps = with_traps;
        let mut marks = Marks::default();
        let outcome = linux::run(&options, &Progress::Silent, &mut marks)?;
        if outcome.exit_code() != 0 {
            bail!(
                "{}\n{}",
                outcome.complaint().unwrap_or_default(),
                marks.text()
            );
        }
        let record = outcome.run.report.record;
        let totals = record.totals.iter();
        let share = Share {
            what: what.to_owned(),
            guest: totals.clone().map(|totals| totals.guest_instructions).sum(),
            machine: totals.map(|totals| totals.firmware_instructions).sum(),
            budget: None,
        };
        step.done(&format!("counted {what}"));
        Ok(Counted {
            share,
            traps: record.traps,
        })
    }

    /// The options of a run of these parts, and the directory of the script.
    fn with_script(&self, parts: &[&str]) -> Result<(LinuxOptions, Temporary)> {
        let directory = Temporary::new()?;
        let file = directory.path().join("script");
        fs::write(&file, SCRIPT)
            .context("cannot write the guest's script; free some space in TMPDIR")?;
        let options = LinuxOptions {
            script: Some(file),
            command: parts.iter().map(|part| (*part).to_owned()).collect(),
            ..self.options.clone()
        };
        Ok((options, directory))
    }
}

fn above(_: &Bench<'_>, options: &LinuxOptions, marks: &mut Marks) -> Result<Instant> {
    let outcome = linux::run(options, &Progress::Silent, marks)?;
    if let Some(complaint) = outcome.complaint() {
        bail!(complaint);
    }
    Ok(outcome.run.began)
}

fn natively(bench: &Bench<'_>, options: &LinuxOptions, marks: &mut Marks) -> Result<Instant> {
    native::run(options, LIMIT, bench.progress, marks)
        .with_context(|| format!("it wrote:\n{}", marks.text()))
}

/// Takes the time when a line of the script arrives.
#[derive(Debug, Default)]
struct Marks {
    all: Vec<(String, Instant)>,
    line: Vec<u8>,
    rest: Vec<u8>,
}

impl Marks {
    /// The output without the marks.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.rest).into_owned()
    }
}

impl Write for Marks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = Instant::now();
        for &byte in bytes {
            self.line.push(byte);
            if byte != b'\n' {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match String::from_utf8_lossy(&line).trim_end().strip_prefix(MARK) {
                Some(mark) => self.all.push((mark.to_owned(), now)),
                None => self.rest.extend(line),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Traps by cause, less those of another run, the most expensive first.
fn by_cause(traps: &[TrapsRecord], less: &[TrapsRecord]) -> Vec<Traps> {
    let key = |traps: &TrapsRecord| (traps.cause, traps.number);
    let mut all: Vec<Traps> = traps
        .iter()
        .map(|line| {
            let other = less.iter().find(|other| key(other) == key(line));
            let (traps, instructions) =
                other.map_or((0, 0), |other| (other.traps, other.instructions));
            Traps {
                cause: costs::cause(Cause::from_number(line.cause), line.number),
                traps: line.traps.saturating_sub(traps),
                instructions: line.instructions.saturating_sub(instructions),
            }
        })
        .collect();
    all.retain(|line| line.traps > 0);
    all.sort_by_key(|line| std::cmp::Reverse(line.instructions));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_in_percent_of_the_guests_instructions() {
        let share = |guest, machine| Share {
            what: String::new(),
            guest,
            machine,
            budget: Some(12.0),
        };
        assert!(!share(1000, 120).is_over());
        assert!(share(1000, 121).is_over());
        assert!(share(0, 0).is_over());
        let free = Share {
            budget: None,
            ..share(1, 9)
        };
        assert!(!free.is_over());
    }

    #[test]
    fn a_mark_is_a_whole_line_however_it_arrives() {
        let mut marks = Marks::default();
        for piece in ["text\n@lo", "op\r\n@", "end\n", "more"] {
            marks.write_all(piece.as_bytes()).unwrap();
        }
        let names: Vec<&str> = marks.all.iter().map(|mark| &mark.0[..]).collect();
        assert_eq!(names, ["loop", "end"]);
        assert_eq!(marks.text(), "text\n");
    }

    #[test]
    fn the_traps_of_a_boot_are_subtracted_from_those_of_a_part() {
        let line = |number, traps, instructions| TrapsRecord {
            cpu: 0,
            cause: Cause::Instruction as u8,
            number,
            traps,
            instructions,
            ..TrapsRecord::default()
        };
        let boot = [line(0xB2B2, 10, 1000), line(0xB20D, 5, 50)];
        let work = [
            line(0xB20D, 5, 50),
            line(0xB2B2, 30, 3000),
            line(0xEB2F, 9, 9000),
        ];
        let rest = by_cause(&work, &boot);
        let words: Vec<(&str, u64, u64)> = rest
            .iter()
            .map(|line| (&line.cause[..], line.traps, line.instructions))
            .collect();
        assert_eq!(words, [("LCTLG", 9, 9000), ("LPSWE", 20, 2000)]);
    }

    #[test]
    fn each_part_is_in_the_script_and_has_a_ratio() {
        for name in names().filter(|name| *name != BOOT) {
            let name = name.replace(devices::RECEIVE, "receive*");
            assert!(SCRIPT.contains(&format!("{name})")), "{name}");
        }
        assert!(SCRIPT.contains(&format!("sleep {}\n", PAUSE.as_secs())));
        let second = Duration::from_secs(1);
        let timed = timed_parts(&Choice::default());
        let pair = (vec![2 * second; timed.len()], vec![second; timed.len()]);
        let ratios = ratios(&timed, &[pair]);
        assert_eq!(ratios.len(), 9);
        assert!((ratios[3].median() - 2.0).abs() < 1e-9 && !ratios[3].is_over());
        assert!(ratios[0].is_over());
    }
}
