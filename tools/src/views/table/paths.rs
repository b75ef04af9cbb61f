//! The paths of a guest that is a machine, beside their budgets.

use std::collections::BTreeMap;

use comfy_table::Cell;
use link::tally::Cause;

use super::{number, plain_table, trimmed};
use crate::{costs, folder::record::TrapsRecord, numbers::grouped, report::Report};

/// The paths by cause on all CPUs, the most expensive first.
pub fn by_cause(paths: &[TrapsRecord]) -> Vec<TrapsRecord> {
    let mut lines: BTreeMap<(u8, u16), TrapsRecord> = BTreeMap::new();
    for path in paths {
        let key = (path.cause, path.number);
        let line = lines.entry(key).or_insert_with(|| TrapsRecord {
            traps: 0,
            instructions: 0,
            ..path.clone()
        });
        line.traps = line.traps.saturating_add(path.traps);
        line.instructions = line.instructions.saturating_add(path.instructions);
        line.least = line.least.min(path.least);
        line.most = line.most.max(path.most);
    }
    let mut lines: Vec<TrapsRecord> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.instructions));
    lines
}

/// The table, if the run counted paths.
pub fn text(report: &Report) -> Option<String> {
    let lines = by_cause(&report.record.paths);
    if lines.is_empty() {
        return None;
    }
    let mut table = plain_table(&[
        "paths of the guest, a machine",
        "number",
        "shortest",
        "mean",
        "longest",
        "budget",
        "of the path",
        "",
    ]);
    for line in lines {
        let cause = Cause::from_number(line.cause);
        let budget = costs::budget(cause, line.number);
        let verdict = budget.map_or("", |(_, budget)| {
            if line.least > budget {
                "OVER"
            } else {
                "within"
            }
        });
        table.add_row(vec![
            Cell::new(costs::cause(cause, line.number)),
            number(grouped(line.traps)),
            number(grouped(line.least)),
            number(grouped(line.instructions / line.traps.max(1))),
            number(grouped(line.most)),
            number(budget.map_or("-".to_owned(), |(_, budget)| grouped(budget))),
            Cell::new(budget.map_or("-", |(name, _)| name)),
            Cell::new(verdict),
        ]);
    }
    Some(trimmed(&table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_all_cpus_are_one_line_for_each_cause() {
        let path = |cpu, number, instructions, least, most| TrapsRecord {
            cpu,
            cause: Cause::Instruction as u8,
            number,
            traps: 2,
            instructions,
            least,
            most,
        };
        let lines = by_cause(&[
            path(0, 0xB209, 340, 160, 180),
            path(0, 0xB2B2, 1000, 450, 550),
            path(1, 0xB209, 330, 150, 170),
        ]);
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].number, lines[0].traps), (0xB2B2, 2));
        let stpt = &lines[1];
        assert_eq!((stpt.traps, stpt.instructions), (4, 670));
        assert_eq!((stpt.least, stpt.most), (150, 180));
    }
}
