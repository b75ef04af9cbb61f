//! The table of exact counts.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::{HOTTEST, number, plain_table, shortened, trimmed};
use crate::{
    numbers::{self, grouped},
    report::{ExactCounts, Report},
};

/// The routines by executed instructions, and their sum beside the instruction counter of the run.
pub fn text(report: &Report, exact: &ExactCounts) -> String {
    let percent = |instructions: u64| match exact.counted {
        0 => 0.0,
        counted => instructions as f64 * 100.0 / counted as f64,
    };
    let mut table = plain_table(&[
        "routine",
        "module",
        "instructions",
        "percent",
        "inclusive",
        "percent",
        "calls",
        "entries",
    ]);
    let shown = |value: Option<u64>| number(value.map_or("-".to_owned(), grouped));
    for routine in exact.routines.iter().take(HOTTEST) {
        let module = match &routine.module[..] {
            "" => "-",
            module => module,
        };
        table.add_row(vec![
            Cell::new(shortened(&routine.symbol)),
            Cell::new(module),
            number(grouped(routine.instructions)),
            number(format!("{:.2}", percent(routine.instructions))),
            shown(routine.inclusive),
            number(routine.inclusive.map_or("-".to_owned(), |inclusive| {
                format!("{:.2}", percent(inclusive))
            })),
            shown(routine.calls),
            shown(routine.entries),
        ]);
    }
    let mut text = format!("exact counts\n{}", trimmed(&table));
    let rest = exact.routines.get(HOTTEST..).unwrap_or_default();
    if !rest.is_empty() {
        let sum = numbers::sum(rest.iter().map(|routine| routine.instructions));
        let _ = write!(
            text,
            "\n and {} more with {} instructions ({:.2} percent)",
            rest.len(),
            grouped(sum),
            percent(sum)
        );
    }
    let _ = write!(text, "\n{}", sum(report, exact));
    text.push_str(&unmatched_calls(exact));
    text
}

/// The calls and returns that could not be matched, on a line of their own, if there are any.
fn unmatched_calls(exact: &ExactCounts) -> String {
    let calls = &exact.unmatched_calls;
    let parts = [
        (calls.returns, "returns to where no call was"),
        (calls.abandoned, "calls that ended with one before them"),
        (
            calls.not_followed,
            "calls that were not followed to their end",
        ),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|&(number, _)| number != 0)
        .map(|(number, what)| format!("{} {what}", grouped(number)))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("\ncalls that do not match: {}", parts.join(", "))
}

/// The sum of all executions, and what the instruction counter says.
fn sum(report: &Report, exact: &ExactCounts) -> String {
    let counted = grouped(exact.counted);
    let unmatched = match exact.unmatched {
        0 => String::new(),
        unmatched => format!(
            ", and {} that could not be counted (it is not known where they were)",
            grouped(unmatched)
        ),
    };
    let totals = &report.record.totals;
    if totals.is_empty() {
        return format!("sum: {counted} instructions before the end of the run{unmatched}");
    }
    let counter = numbers::sum(totals.iter().map(|totals| totals.guest_instructions));
    let shown = grouped(counter);
    let known = exact.counted.saturating_add(exact.unmatched);
    let known = known.saturating_add(exact.skipped);
    if exact.counted == counter && exact.unmatched == 0 {
        return format!("sum: {counted} instructions, as the instruction counter says");
    }
    let record = &report.record;
    let window = record.window.as_ref().map(|_| "in the window".to_owned());
    let parts: Vec<String> = window
        .into_iter()
        .chain(record.counted_part.clone())
        .collect();
    let part = match parts.is_empty() {
        true => String::new(),
        false => format!(" {}", parts.join(", ")),
    };
    let sum = format!(
        "sum: {counted} instructions{part} of {shown} by the instruction counter{unmatched}"
    );
    match counter.abs_diff(known) {
        0 => sum,
        difference => format!("{sum}; that leaves a difference of {}", grouped(difference)),
    }
}
