//! The paths of a guest that is a machine, by cause, beside their budgets.

use std::{cmp::Reverse, collections::BTreeMap};

use link::tally::Cause;
use serde::Serialize;

use super::{budget, cause, to_compare};
use crate::{
    folder::record::TrapsRecord,
    numbers::{self, grouped},
};

/// The fewest paths of a cause that has a line of its own. By fewer a machine tries at its IPL what its clock charges.
const FEWEST: u64 = 10;

/// The paths of all causes on all CPUs, the most expensive first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Paths(Vec<Path>);

/// The paths of one cause. Lengths are in instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// The cause in words.
    pub cause: String,
    /// How many paths there were.
    pub paths: u64,
    /// Their instructions.
    pub instructions: u64,
    /// The shortest one.
    pub shortest: u64,
    /// The mean.
    pub mean: u64,
    /// The longest one.
    pub longest: u64,
    /// The budget, if the cause has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// A budget, and whether the paths keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// The path that it is for, as `bench` names it.
    pub path: &'static str,
    /// The most instructions.
    pub instructions: u64,
    /// Whether the usual path is within it.
    pub within: bool,
}

impl Path {
    fn new(counted: &TrapsRecord) -> Self {
        let cause_of = Cause::from_number(counted.cause);
        let mean = counted.instructions / counted.traps.max(1);
        let budget = budget(cause_of, counted.number).map(|(path, instructions)| Budget {
            path,
            instructions,
            within: to_compare(cause_of, counted.least, mean) <= instructions,
        });
        Self {
            cause: cause(cause_of, counted.number),
            paths: counted.traps,
            instructions: counted.instructions,
            shortest: counted.least,
            mean,
            longest: counted.most,
            budget,
        }
    }

    /// Whether the cause has a line of its own.
    fn is_frequent(&self) -> bool {
        self.paths >= FEWEST
    }
}

impl Budget {
    /// What a person reads.
    pub const fn verdict(&self) -> &'static str {
        if self.within { "within" } else { "longer" }
    }
}

impl Paths {
    /// The paths of a record.
    pub fn new(counted: &[TrapsRecord]) -> Self {
        let mut causes: BTreeMap<(u8, u16), TrapsRecord> = BTreeMap::new();
        for path in counted {
            let key = (path.cause, path.number);
            let sum = causes.entry(key).or_insert_with(|| TrapsRecord {
                traps: 0,
                instructions: 0,
                ..path.clone()
            });
            sum.traps = sum.traps.saturating_add(path.traps);
            sum.instructions = sum.instructions.saturating_add(path.instructions);
            sum.least = sum.least.min(path.least);
            sum.most = sum.most.max(path.most);
        }
        let mut paths: Vec<Path> = causes.values().map(Path::new).collect();
        paths.sort_by_key(|path| Reverse(path.instructions));
        Self(paths)
    }

    /// Whether none were counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The causes that have a line of their own.
    pub fn frequent(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter(|path| path.is_frequent())
    }

    /// What the other causes have together, in words, if there are any.
    pub fn rest(&self) -> Option<String> {
        let rest: Vec<&Path> = self.0.iter().filter(|path| !path.is_frequent()).collect();
        let sum = |field: fn(&Path) -> u64| {
            let values = rest.iter().map(|path| field(path));
            grouped(numbers::sum(values))
        };
        (!rest.is_empty()).then(|| {
            format!(
                "and {} more causes with {} paths, {} instructions",
                rest.len(),
                sum(|path| path.paths),
                sum(|path| path.instructions)
            )
        })
    }

    /// The instructions of all paths in words, beside those that the guest executed in supervisor state, if they were
    /// counted.
    pub fn sum(&self, executed: Option<u64>) -> String {
        let all = self.0.iter().map(|path| path.instructions);
        let all = grouped(numbers::sum(all));
        match executed {
            Some(executed) => format!(
                "{all} instructions of the {} that the guest executed in supervisor state",
                grouped(executed)
            ),
            None => format!("{all} instructions"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Paths of two CPUs: STPT on both, LPSWE, which is longer than its budget, and two of a cause without a name.
    pub(crate) fn counted() -> Vec<TrapsRecord> {
        let path = |cpu, number, traps, instructions, least, most| TrapsRecord {
            cpu,
            cause: Cause::Instruction as u8,
            number,
            traps,
            instructions,
            least,
            most,
        };
        vec![
            path(0, 0xB209, 6, 1020, 160, 180),
            path(0, 0xB2B2, 20, 10_000, 450, 550),
            path(0, 0xE5FF, 2, 900, 450, 450),
            path(1, 0xB209, 5, 800, 150, 170),
        ]
    }

    #[test]
    fn the_paths_of_all_cpus_are_one_line_for_each_cause() {
        let paths = Paths::new(&counted());
        let lines: Vec<&Path> = paths.frequent().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0].cause[..], lines[0].paths), ("LPSWE", 20));
        assert_eq!(
            lines[0].budget.map(|budget| budget.verdict()),
            Some("longer")
        );
        let stpt = lines[1];
        assert_eq!((stpt.paths, stpt.instructions), (11, 1820));
        assert_eq!((stpt.shortest, stpt.mean, stpt.longest), (150, 165, 180));
        let budget = stpt.budget.unwrap();
        assert_eq!((budget.path, budget.verdict()), ("stpt", "within"));
    }

    #[test]
    fn causes_with_few_paths_share_a_line_and_count_in_the_sum() {
        let paths = Paths::new(&counted());
        let rest = paths.rest();
        assert_eq!(
            rest.as_deref(),
            Some("and 1 more causes with 2 paths, 900 instructions")
        );
        assert_eq!(paths.sum(None), "12,720 instructions");
        let of = paths.sum(Some(13_000));
        assert!(
            of.starts_with("12,720 instructions of the 13,000 that"),
            "{of}"
        );
        assert_eq!(Paths::new(&[]).rest(), None);
    }
}
