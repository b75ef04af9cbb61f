//! Exact counts by routine.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Counts, Executed, Instruction, calls::Called};
use crate::symbols::{
    Routine,
    names::{Line, Names},
};

/// The exact counts of a routine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutineCounts {
    /// The routine, or one of the lines in parentheses.
    pub symbol: String,
    /// The program that it is part of; empty where there is none.
    pub module: String,
    /// Instructions that were executed in it.
    pub instructions: u64,
    /// How often its first instruction was executed; `None` for a line that is no routine.
    pub entries: Option<u64>,
    /// How often it was called; `None` if it never was, nor entered in another way that is known.
    pub calls: Option<u64>,
    /// The instructions from each call to its end, those of the routines that were called in it included. Where it was called
    /// again in a call, they are in this sum once.
    pub inclusive: Option<u64>,
}

/// An instruction with its name.
pub struct Named<'n> {
    /// The instruction.
    pub instruction: Instruction,
    /// How often it was executed.
    pub executed: Executed,
    /// Its line in a report.
    pub line: Line<'n>,
    /// Its routine, if it is known.
    pub routine: Option<Routine<'n>>,
}

impl Counts {
    /// All instructions with their names.
    pub fn named<'n>(&self, names: &'n Names) -> impl Iterator<Item = Named<'n>> {
        self.executed.iter().map(|(instruction, executed)| {
            let sample = instruction.sample();
            Named {
                instruction: *instruction,
                executed: *executed,
                line: names.line(&sample),
                routine: names.routine(&sample),
            }
        })
    }

    /// The routines by the instructions that were executed in them, the most first. Equal ones are in alphabetical order.
    #[must_use]
    pub fn routines(&self, names: &Names) -> Vec<RoutineCounts> {
        #[derive(Default)]
        struct Found {
            instructions: u64,
            entries: Option<u64>,
            called: Option<Called>,
        }
        let mut routines: BTreeMap<Line<'_>, Found> = BTreeMap::new();
        for named in self.named(names) {
            let found = routines.entry(named.line).or_default();
            found.instructions += named.executed.instructions;
            if let Some(routine) = named.routine {
                let is_first = routine.address == routine.symbol.start;
                let times = if is_first { named.executed.times } else { 0 };
                found.entries = Some(found.entries.unwrap_or(0) + times);
            }
        }
        for (edge, called) in &self.calls.edges {
            let sample = edge.routine.sample();
            let Some(routine) = names.routine(&sample) else {
                continue;
            };
            // A call into the middle is one of a part of the routine.
            let is_first = routine.address == routine.symbol.start;
            if is_first || edge.site.is_none() {
                let found = routines.entry(names.line(&sample)).or_default();
                found.called.get_or_insert_default().add(*called);
            }
        }
        let mut routines: Vec<RoutineCounts> = routines
            .into_iter()
            .map(|(line, found)| RoutineCounts {
                symbol: line.symbol.into_owned(),
                module: line.module.into_owned(),
                instructions: found.instructions,
                entries: found.entries,
                calls: found.called.map(|called| called.times),
                inclusive: found.called.map(|called| called.outermost),
            })
            .collect();
        routines.sort_by_key(|routine| std::cmp::Reverse(routine.instructions));
        routines
    }
}
