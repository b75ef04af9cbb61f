//! The activity that counters count.

use super::CounterSet;

/// What the CPU has done so far: totals that only grow (and wrap).
///
/// They stand still while the CPU is stopped, which is all that stopping and starting mean to a
/// counter set. Wait time is in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// CPU cycles.
    pub cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// CPU cycles in the problem state.
    pub problem_cycles: u64,
    /// Instructions executed in the problem state.
    pub problem_instructions: u64,
}

impl Activity {
    /// No activity.
    pub const NONE: Self = Self {
        cycles: 0,
        instructions: 0,
        problem_cycles: 0,
        problem_instructions: 0,
    };

    /// The total that drives counter `index` of `set`; zero for a counter without a source.
    ///
    /// The cache counters of the basic set (numbers 2-5) and of the problem-state set of CFVN 1
    /// (34-37) have none: no cache is modelled, so no directory is written and no penalty paid.
    /// Crypto-activity, extended and MT-diagnostic counters have none either.
    pub(super) const fn of(&self, set: CounterSet, index: u16) -> u64 {
        match (set, index) {
            (CounterSet::Basic, 0) => self.cycles,
            (CounterSet::Basic, 1) => self.instructions,
            (CounterSet::ProblemState, 0) => self.problem_cycles,
            (CounterSet::ProblemState, 1) => self.problem_instructions,
            _ => 0,
        }
    }
}
