//! Call stacks as text: routines by their inclusive samples, and the callers and callees of one.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use comfy_table::Cell;
use link::stack::End;

use super::{HOTTEST, number, plain_table, shortened, trimmed};
use crate::{
    nearest,
    numbers::grouped,
    profile::callers::{Calls, Routine},
    report::Report,
};

/// Names that a refusal lists.
const MOST_NAMES: usize = 10;

fn module(routine: &Routine) -> &str {
    match &routine.module[..] {
        "" => "-",
        module => module,
    }
}

fn percent(report: &Report, samples: u64) -> Cell {
    number(format!("{:.2}", report.percent(samples)))
}

/// The routines with the most inclusive samples.
pub(super) fn hottest(report: &Report, calls: &Calls) -> String {
    let mut table = plain_table(&[
        "symbol",
        "module",
        "inclusive",
        "percent",
        "exclusive",
        "percent",
    ]);
    let all = calls.by_inclusive();
    for (routine, shares) in all.iter().take(HOTTEST) {
        table.add_row(vec![
            Cell::new(shortened(&routine.symbol)),
            Cell::new(module(routine)),
            number(grouped(shares.inclusive)),
            percent(report, shares.inclusive),
            number(grouped(shares.exclusive)),
            percent(report, shares.exclusive),
        ]);
    }
    let mut text = trimmed(&table);
    if let Some(rest) = all.get(HOTTEST..).filter(|rest| !rest.is_empty()) {
        let samples: u64 = rest.iter().map(|(_, shares)| shares.exclusive).sum();
        let _ = write!(
            text,
            "\n and {} more with {} samples of their own ({:.2} percent)",
            rest.len(),
            grouped(samples),
            report.percent(samples)
        );
    }
    text
}

/// How many stacks there are, and why they ended.
pub(super) fn found(calls: &Calls) -> String {
    let found = &calls.found;
    let complete = found.ends.get(&End::Complete).copied().unwrap_or_default();
    let mut text = format!(
        "{} followed, {} complete",
        grouped(found.stacks()),
        grouped(complete)
    );
    for (end, stacks) in &found.ends {
        let (stacks, words) = (grouped(*stacks), end.words());
        let _ = match end {
            End::Complete => Ok(()),
            End::Depth => write!(text, ", {stacks} {words}"),
            _ => write!(text, ", {stacks} broken: {words}"),
        };
    }
    text
}

/// The callers and callees of the routine with this name, or with the only name that this is a part of.
///
/// # Errors
/// There is no such routine, there are several, or the run did not follow stacks.
pub fn beside(report: &Report, name: &str) -> Result<String> {
    let calls = report.calls.as_ref().context(
        "the run did not follow call stacks; run it with --stacks, and the report has callers",
    )?;
    let routine = routine(calls, name)?;
    let shares = calls.routines.get(routine).copied().unwrap_or_default();
    let mut text = format!(
        "{} in {}: {} samples in it or in what it had called ({:.2} percent), {} in itself ({:.2} percent)\n",
        routine.symbol,
        module(routine),
        grouped(shares.inclusive),
        report.percent(shares.inclusive),
        grouped(shares.exclusive),
        report.percent(shares.exclusive)
    );
    for (what, none, lines) in [
        (
            "caller",
            "no stack has a caller of it",
            calls.callers_of(routine),
        ),
        (
            "callee",
            "no stack has a routine that it had called",
            calls.callees_of(routine),
        ),
    ] {
        if lines.is_empty() {
            let _ = writeln!(text, "\n{none}");
            continue;
        }
        let mut table = plain_table(&[what, "module", "samples", "percent"]);
        for (routine, samples) in lines {
            table.add_row(vec![
                Cell::new(shortened(&routine.symbol)),
                Cell::new(module(routine)),
                number(grouped(samples)),
                percent(report, samples),
            ]);
        }
        let _ = writeln!(text, "\n{}", trimmed(&table));
    }
    Ok(text)
}

/// The routine that a person means.
fn routine<'c>(calls: &'c Calls, name: &str) -> Result<&'c Routine> {
    let of = |test: &dyn Fn(&str) -> bool| -> Vec<&'c Routine> {
        let all = calls.routines.keys();
        all.filter(|routine| test(&routine.symbol)).collect()
    };
    let exact = of(&|symbol| symbol == name);
    let found = if exact.is_empty() {
        of(&|symbol| symbol.contains(name))
    } else {
        exact
    };
    match &found[..] {
        [] => {
            let all = calls.routines.keys().map(|routine| &routine.symbol[..]);
            let near = nearest::mentioned(&nearest::nearest(name, all));
            bail!(
                "no stack has a routine {name}{near}; name one of the report, or a part of its name"
            )
        }
        [one] => Ok(one),
        many => {
            let names = many.iter().take(MOST_NAMES);
            let names: Vec<String> = names
                .map(|routine| format!("{} ({})", routine.symbol, module(routine)))
                .collect();
            bail!(
                "{} routines have {name} in their names; name one of them: {}",
                many.len(),
                names.join(", ")
            )
        }
    }
}
