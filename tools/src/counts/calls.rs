//! The calls of a run with exact counts: which routine was called from where, how often, and what it executed until it returned.

use std::collections::BTreeMap;

use link::counts::{Calls, Unmatched};
use serde::Serialize;

use super::Instruction;

/// A routine that was called, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Where the routine was entered.
    pub routine: Instruction,
    /// The instruction that called it; `None` if an interruption, a new program or the beginning of the counts led to it.
    pub site: Option<Instruction>,
}

/// What calls executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// How often.
    pub times: u64,
    /// The instructions up to the end of each call, those of the routines that were called in it included.
    pub inclusive: u64,
    /// The part of them that no other call of the routine has, too.
    pub outermost: u64,
}

impl Called {
    /// Adds more calls. The sums of all CPUs are below 2^64, but for what a damaged file says.
    pub fn add(&mut self, more: Self) {
        self.times = self.times.saturating_add(more.times);
        self.inclusive = self.inclusive.saturating_add(more.inclusive);
        self.outermost = self.outermost.saturating_add(more.outermost);
    }
}

/// Calls and returns that could not be matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnmatchedCalls {
    /// Branches on general register 14 to where no call returns.
    pub returns: u64,
    /// Calls that ended because one before them did.
    pub abandoned: u64,
    /// Calls whose instructions are not known, because too many were active.
    pub not_followed: u64,
}

/// The calls of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// By routine and place.
    pub edges: BTreeMap<Edge, Called>,
    /// What could not be matched.
    pub unmatched: UnmatchedCalls,
}

impl CallCounts {
    /// Adds the calls of an entry.
    pub(super) fn add(&mut self, calls: &Calls) {
        let at = |address| Instruction {
            address,
            parameter: calls.parameter,
            state: calls.state,
            asn: calls.asn,
        };
        let edge = Edge {
            routine: at(calls.routine),
            site: (calls.site != 0).then(|| at(calls.site)),
        };
        self.edges.entry(edge).or_default().add(Called {
            times: calls.times,
            inclusive: calls.inclusive,
            outermost: if calls.is_again { 0 } else { calls.inclusive },
        });
    }

    /// Adds what a CPU could not match.
    pub(super) fn add_unmatched(&mut self, more: &Unmatched) {
        let sum = &mut self.unmatched;
        sum.returns = sum.returns.saturating_add(more.returns);
        sum.abandoned = sum.abandoned.saturating_add(more.abandoned);
        sum.not_followed = sum.not_followed.saturating_add(more.not_followed);
    }
}
