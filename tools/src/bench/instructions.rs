//! What a single instruction costs that the machine performs, as a ratio to bare QEMU, which performs it itself.
//!
//! The guest `instruction-times` executes each in a loop, in real time, and reads the clock. It runs above the machine and on
//! bare QEMU in turn.
//!
//! Bare QEMU translates some of them into a few instructions of the host. No trap can be as short, so there the ratio has no
//! budget: what takes less on bare QEMU than a 20th of the shortest trap, that of STORE CPU ADDRESS, is only shown.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use comfy_table::Cell;
use link::state::Mode;

use super::{ABSENT, Ratio, bare_success, console_of, right, table, verdict};
use crate::{
    computer::progress::Progress, machine::run::NativeOptions, numbers::quantities::Sampling,
    options::RunOptions,
};

/// The guest that times instructions.
pub const GUEST: &str = "instruction-times";

/// The most that an instruction may take, as a ratio to bare QEMU.
const BUDGET: f64 = 20.0;

/// The instruction with the shortest way through the machine.
const FASTEST: &str = "STAP";

/// The text that has no instruction: the loop alone.
const NOTHING: &str = "nothing";

/// What an instruction takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Its shortest time on bare QEMU, in nanoseconds.
    pub below: f64,
    /// Its shortest time above the machine, in nanoseconds.
    pub above: f64,
    /// The ratio of the two in each pair of runs.
    pub ratio: Ratio,
}

/// The times of a run: what was timed, and nanoseconds beyond the loop.
type Times = Vec<(String, f64)>;

/// Measures each instruction in this many pairs of runs; the highest ratio is the first.
pub fn measure(options: &RunOptions, pairs: usize, progress: &Progress) -> Result<Vec<Cost>> {
    if pairs == 0 {
        bail!("0 pairs measure nothing; choose 1 or more with --pairs");
    }
    let mut options = options.clone();
    options.guest = GUEST.to_owned();
    options.mode = Mode::RealTime;
    options.sampling = Sampling::Off;
    let mut native = NativeOptions::new(GUEST);
    native.icount = false;
    native.qemu.clone_from(&options.qemu);
    let mut step = progress.step("timing single instructions");
    let mut costs = Vec::new();
    for pair in 0..pairs {
        let bare = bare_success(&native)?;
        let above = console_of(options.clone(), &Progress::Silent)?;
        add(&mut costs, &times(&bare.console)?, times(&above)?);
        let done = pair + 1;
        step.reach_of(
            done as u64,
            pairs as u64,
            &format!("{done} of {pairs} pairs"),
        );
    }
    step.done("timed single instructions");
    limit(&mut costs)?;
    costs.sort_by(|one, other| other.ratio.median().total_cmp(&one.ratio.median()));
    Ok(costs)
}

/// Adds the times of a pair of runs. What only one of the two machines has is left out.
fn add(costs: &mut Vec<Cost>, below: &Times, above: Times) {
    for (what, above) in above {
        let Some(&(_, below)) = below.iter().find(|(name, _)| *name == what) else {
            continue;
        };
        if let Some(cost) = costs.iter_mut().find(|cost| cost.ratio.what == what) {
            cost.below = cost.below.min(below);
            cost.above = cost.above.min(above);
            cost.ratio.pairs.push(above / below);
        } else {
            let (pairs, budget) = (vec![above / below], f64::INFINITY);
            costs.push(Cost {
                below,
                above,
                ratio: Ratio {
                    what,
                    pairs,
                    budget,
                },
            });
        }
    }
}

/// Gives a budget to each instruction for which a trap can be within it.
fn limit(costs: &mut [Cost]) -> Result<()> {
    let shortest = costs
        .iter()
        .find(|cost| cost.ratio.what == FASTEST)
        .with_context(|| format!("the guest {GUEST} did not time {FASTEST}"))?
        .above;
    for cost in costs {
        if cost.below * BUDGET >= shortest {
            cost.ratio.budget = BUDGET;
        }
    }
    Ok(())
}

/// The times on a console. What took no longer than the loop alone counts as a nanosecond.
fn times(console: &str) -> Result<Times> {
    let mut times = Times::new();
    for line in console.lines() {
        let Some(rest) = line.strip_prefix("time ") else {
            continue;
        };
        let Some((name, time)) = rest.rsplit_once(' ') else {
            bail!("the guest {GUEST} printed a line without a time: {line}");
        };
        if time == ABSENT {
            continue;
        }
        let picoseconds: f64 = time
            .parse()
            .with_context(|| format!("the guest {GUEST} printed no time, but: {line}"))?;
        times.push((name.to_owned(), picoseconds / 1000.0));
    }
    let (_, empty) = times
        .iter()
        .find(|(name, _)| name == NOTHING)
        .with_context(|| format!("the guest {GUEST} did not time the loop alone:\n{console}"))?;
    let empty = *empty;
    times.retain(|(name, _)| name != NOTHING);
    for (_, time) in &mut times {
        *time = f64::max(*time - empty, 1.0);
    }
    Ok(times)
}

/// Whether an instruction is over its budget.
pub fn is_over(costs: &[Cost]) -> bool {
    costs.iter().any(|cost| cost.ratio.is_over())
}

/// The costs beside their budgets.
pub fn text(costs: &[Cost]) -> String {
    let mut table = table(["instruction", "bare ns", "ns", "ratio", "budget", ""]);
    for cost in costs {
        let ratio = &cost.ratio;
        let has_budget = ratio.budget.is_finite();
        table.add_row(vec![
            Cell::new(&ratio.what),
            right(format!("{:.0}", cost.below)),
            right(format!("{:.0}", cost.above)),
            right(format!("{:.1}", ratio.median())),
            right(if has_budget {
                format!("{BUDGET:.0}")
            } else {
                "-".to_owned()
            }),
            if has_budget {
                verdict(ratio.is_over())
            } else {
                Cell::new("")
            },
        ]);
    }
    let mut text = table.to_string();
    let _ = write!(
        text,
        "\n\nWhat has no budget takes less on bare QEMU than a {BUDGET:.0}th of the machine's shortest trap.\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_what_an_instruction_takes_beyond_the_loop() {
        let console =
            "hello\ntime nothing 500\ntime SIGP, sense 20500\ntime LRA 600\ntime PFMF absent\n";
        let expected = [("SIGP, sense".to_owned(), 20.0), ("LRA".to_owned(), 1.0)];
        assert_eq!(times(console).unwrap(), expected);
        for (console, why) in [
            ("time LRA x\n", "no time"),
            ("time LRA\n", "without a time"),
            ("time LRA 7\n", "the loop alone"),
        ] {
            let refusal = times(console).unwrap_err().to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
    }

    #[test]
    fn an_instruction_has_a_budget_where_a_trap_can_be_within_it() {
        let times = |all: &[(&str, f64)]| -> Times {
            let own = |&(name, time): &(&str, f64)| (name.to_owned(), time);
            all.iter().map(own).collect()
        };
        let mut costs = Vec::new();
        let below = times(&[("STAP", 1.0), ("SIGP", 25.0), ("SVC", 100.0)]);
        let above = [
            ("STAP", 500.0),
            ("SIGP", 600.0),
            ("SVC", 600.0),
            ("LPP", 9.0),
        ];
        add(&mut costs, &below, times(&above));
        let slower = [("STAP", 700.0), ("SIGP", 650.0), ("SVC", 2000.0)];
        add(&mut costs, &below, times(&slower));
        limit(&mut costs).unwrap();
        let shown: Vec<_> = costs
            .iter()
            .map(|cost| {
                (
                    &cost.ratio.what[..],
                    cost.above,
                    cost.ratio.budget,
                    cost.ratio.is_over(),
                )
            })
            .collect();
        let none = f64::INFINITY;
        let expected = [
            ("STAP", 500.0, none, false),
            ("SIGP", 600.0, BUDGET, true),
            ("SVC", 600.0, BUDGET, false),
        ];
        assert_eq!(shown, expected);
        assert!(is_over(&costs));
        let text = text(&costs);
        assert!(text.contains("OVER") && text.contains("within"), "{text}");
        assert!(limit(&mut costs[1..]).is_err());
    }

    #[test]
    fn no_pairs_measure_nothing() {
        let refusal = measure(&RunOptions::default(), 0, &Progress::Silent).unwrap_err();
        assert!(refusal.to_string().contains("--pairs"));
    }
}
