//! Who had called the routine of a sample: its call stack, and sums over all of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{Profile, Sample};
use crate::{
    calls::stacks::{Sampled, StackCounts, Stacks},
    symbols::names::{Frame, Line},
};

/// The call stacks of one reading of the samples; none if the run did not follow them.
/// The flag says that samples in problem state are those of programs of Linux.
pub struct Callers(Option<Stacks>, bool);

impl Callers {
    pub(super) fn new(stacks: Option<Stacks>, is_linux: bool) -> Self {
        Self(stacks, is_linux)
    }

    /// Whether there are call stacks.
    pub fn are_known(&self) -> bool {
        self.0.is_some()
    }

    /// The callers of a sample, the innermost first. The samples of a CPU come in their order.
    pub fn of(&mut self, sample: &Sample) -> Result<Vec<Frame>> {
        let Some(stacks) = &mut self.0 else {
            return Ok(Vec::new());
        };
        let found = stacks.of_sample(&Sampled {
            cpu: sample.cpu,
            number: sample.number,
            address: sample.entry.instruction_address.get(),
            process: sample.entry.guest_program_parameter.get() as u32,
            is_program: self.1 && sample.entry.problem_state(),
        })?;
        Ok(found.map(|found| found.callers).unwrap_or_default())
    }

    /// What was found up to now; `None` if there are no call stacks.
    pub fn found(&self) -> Option<&StackCounts> {
        self.0.as_ref().map(|stacks| &stacks.found)
    }
}

/// A routine by name and program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Routine {
    /// Its name, or one of the lines in parentheses.
    pub symbol: String,
    /// Its program; empty where there is none.
    pub module: String,
}

/// Samples of a routine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// In the routine or in what it had called. A routine that calls itself counts once.
    pub inclusive: u64,
    /// In the routine itself.
    pub exclusive: u64,
}

/// Sums over the call stacks of all samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Samples of each routine.
    pub routines: BTreeMap<Routine, Shares>,
    /// Samples in whose stacks the first routine had called the second one.
    pub pairs: BTreeMap<(Routine, Routine), u64>,
    /// The stacks.
    pub found: StackCounts,
}

impl Calls {
    /// Those of a profile; `None` if it has no call stacks.
    pub fn of(profile: &Profile) -> Result<Option<Self>> {
        let mut callers = profile.callers()?;
        if !callers.are_known() {
            return Ok(None);
        }
        let mut shares: BTreeMap<Line<'_>, Shares> = BTreeMap::new();
        let mut pairs: BTreeMap<(Line<'_>, Line<'_>), u64> = BTreeMap::new();
        for sample in profile.samples() {
            let sample = sample?;
            let stack = profile.names.stack(&sample.entry, &callers.of(&sample)?);
            if let Some(routine) = stack.first() {
                shares.entry(routine.clone()).or_default().exclusive += 1;
            }
            for routine in stack.iter().collect::<BTreeSet<_>>() {
                shares.entry(routine.clone()).or_default().inclusive += 1;
            }
            let calls = stack.windows(2).map(|pair| (&pair[1], &pair[0]));
            for (caller, callee) in calls.collect::<BTreeSet<_>>() {
                *pairs.entry((caller.clone(), callee.clone())).or_default() += 1;
            }
        }
        let routine = |line: Line<'_>| Routine {
            symbol: line.symbol.into_owned(),
            module: line.module.into_owned(),
        };
        Ok(Some(Self {
            routines: shares
                .into_iter()
                .map(|(line, shares)| (routine(line), shares))
                .collect(),
            pairs: pairs
                .into_iter()
                .map(|((caller, callee), samples)| ((routine(caller), routine(callee)), samples))
                .collect(),
            found: callers.found().cloned().unwrap_or_default(),
        }))
    }

    /// The routines with their samples, the one with the most inclusive ones first.
    pub fn by_inclusive(&self) -> Vec<(&Routine, Shares)> {
        let mut all: Vec<_> = self
            .routines
            .iter()
            .map(|(routine, shares)| (routine, *shares))
            .collect();
        // A stable sort: equal counts stay in alphabetical order.
        all.sort_by_key(|(_, shares)| std::cmp::Reverse((shares.inclusive, shares.exclusive)));
        all
    }

    /// The routines that had called this one, with samples, the most frequent first.
    pub fn callers_of(&self, routine: &Routine) -> Vec<(&Routine, u64)> {
        self.beside(|(caller, callee)| (callee == routine).then_some(caller))
    }

    /// The routines that this one had called, with samples, the most frequent first.
    pub fn callees_of(&self, routine: &Routine) -> Vec<(&Routine, u64)> {
        self.beside(|(caller, callee)| (caller == routine).then_some(callee))
    }

    fn beside<'c>(
        &'c self,
        other: impl Fn(&'c (Routine, Routine)) -> Option<&'c Routine>,
    ) -> Vec<(&'c Routine, u64)> {
        let found = self.pairs.iter();
        let found = found.filter_map(|(pair, samples)| Some((other(pair)?, *samples)));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        found
    }
}
