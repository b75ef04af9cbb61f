//! The paths of a guest that is a machine, beside their budgets.

use std::{collections::BTreeMap, fmt::Write as _};

use comfy_table::Cell;
use link::{data::Level, tally::Cause};

use super::{number, plain_table, trimmed};
use crate::{costs, folder::record::TrapsRecord, numbers::grouped, report::Report};

/// The fewest paths of a cause that has a line of its own. By fewer a machine tries at its IPL what its clock charges.
const FEWEST: u64 = 10;

/// The first counters of two sets.
const BASIC: u16 = 0;
const PROBLEM_STATE: u16 = 32;

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

/// The table, if the run counted paths, and how many of the guest's instructions are in it.
pub fn text(report: &Report) -> Option<String> {
    let lines = by_cause(&report.record.paths);
    if lines.is_empty() {
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
    let (shown, rest): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.traps >= FEWEST);
    for line in shown {
        let cause = Cause::from_number(line.cause);
        let mean = line.instructions / line.traps.max(1);
        let budget = costs::budget(cause, line.number);
        let verdict = match budget {
            None => "",
            Some((_, most)) if costs::to_compare(cause, line.least, mean) > most => "longer",
            Some(_) => "within",
        };
        table.add_row(vec![
            Cell::new(costs::cause(cause, line.number)),
            number(grouped(line.traps)),
            number(grouped(line.least)),
            number(grouped(mean)),
            number(grouped(line.most)),
            number(budget.map_or("-".to_owned(), |(_, budget)| grouped(budget))),
            Cell::new(budget.map_or("-", |(name, _)| name)),
            Cell::new(verdict),
        ]);
    }
    let mut text = trimmed(&table);
    let sum = |lines: &[&TrapsRecord], field: fn(&TrapsRecord) -> u64| {
        grouped(lines.iter().map(|line| field(line)).sum())
    };
    // Writing to a string does not fail.
    if !rest.is_empty() {
        let _ = write!(
            text,
            "\n and {} more causes with {} paths, {} instructions",
            rest.len(),
            sum(&rest, |line| line.traps),
            sum(&rest, |line| line.instructions)
        );
    }
    let all: Vec<&TrapsRecord> = lines.iter().collect();
    let _ = write!(
        text,
        "\n\npaths: {} instructions",
        sum(&all, |line| line.instructions)
    );
    if let Some(executed) = in_supervisor_state(report) {
        let _ = write!(
            text,
            " of the {} that the guest executed in supervisor state",
            grouped(executed)
        );
    }
    Some(text)
}

/// The guest's instructions in supervisor state, if they were counted.
fn in_supervisor_state(report: &Report) -> Option<u64> {
    let instructions = |first| {
        let sets = report.counters.iter();
        let own = sets.filter(|set| set.level == Level::Machine && set.first == first);
        let counts = own.map(|set| set.values.get(1).copied());
        let counts = counts.collect::<Option<Vec<u64>>>()?;
        (!counts.is_empty()).then(|| counts.iter().sum::<u64>())
    };
    instructions(BASIC)?.checked_sub(instructions(PROBLEM_STATE)?)
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
