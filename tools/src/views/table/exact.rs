//! The table of exact counts.

use comfy_table::Cell;

use super::{HOTTEST, number, plain_table, shortened, trimmed};
use crate::{
    numbers::grouped,
    report::{ExactCounts, Report},
};

/// The routines by executed instructions, and their sum beside the instruction counter of the run.
pub fn text(report: &Report, exact: &ExactCounts) -> String {
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
    let percent = |value: Option<u64>| {
        number(value.map_or("-".to_owned(), |value| {
            format!("{:.2}", exact.percent(value))
        }))
    };
    for routine in exact.routines.iter().take(HOTTEST) {
        let module = match &routine.module[..] {
            "" => "-",
            module => module,
        };
        table.add_row(vec![
            Cell::new(shortened(&routine.symbol)),
            Cell::new(module),
            shown(Some(routine.instructions)),
            percent(Some(routine.instructions)),
            shown(routine.inclusive),
            percent(routine.inclusive),
            shown(routine.calls),
            shown(routine.entries),
        ]);
    }
    let head = format!("exact counts\n{}", trimmed(&table));
    let rest = exact.rest(HOTTEST).map(|rest| format!(" {rest}"));
    let lines = [
        Some(head),
        rest,
        Some(exact.sum(&report.record)),
        exact.unmatched_calls(),
    ];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}
