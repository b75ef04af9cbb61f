//! The paths of a guest that is a machine, beside their budgets.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::{number, plain_table, trimmed};
use crate::{
    costs::paths::Paths, formats::counters::in_supervisor_state, numbers::grouped, report::Report,
};

/// The table, if the run counted paths, and how many of the guest's instructions are in it.
pub fn text(report: &Report) -> Option<String> {
    let paths = Paths::new(&report.record.paths);
    if paths.is_empty() {
        return None;
    }
    let mut table = plain_table(&[
        "path of the guest, a machine",
        "number",
        "shortest",
        "mean",
        "longest",
        "budget",
        "of the path",
        "",
    ]);
    for path in paths.frequent() {
        let budget = path.budget.as_ref();
        table.add_row(vec![
            Cell::new(&path.cause),
            number(grouped(path.paths)),
            number(grouped(path.shortest)),
            number(grouped(path.mean)),
            number(grouped(path.longest)),
            number(budget.map_or("-".to_owned(), |budget| grouped(budget.instructions))),
            Cell::new(budget.map_or("-", |budget| budget.path)),
            Cell::new(budget.map_or("", |budget| budget.verdict())),
        ]);
    }
    let mut text = trimmed(&table);
    // Writing to a string does not fail.
    if let Some(rest) = paths.rest() {
        let _ = write!(text, "\n {rest}");
    }
    let sum = paths.sum(in_supervisor_state(&report.counters));
    let _ = write!(text, "\n\npaths: {sum}");
    Some(text)
}
