//! The activity that counters count.

use super::CounterSet;

/// What the CPU has done so far: totals that only increase (and wrap).
///
/// They do not change while the CPU is stopped; stopping and starting have no other effect on a counter
/// set. They do not include wait time.
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

    /// The totals that counters count, by [`Source`].
    #[inline(always)]
    pub(super) const fn totals(&self) -> [u64; 6] {
        [
            0,
            0,
            self.cycles,
            self.instructions,
            self.problem_cycles,
            self.problem_instructions,
        ]
    }

    /// The total that a counter counts; zero if it counts nothing.
    #[inline(always)]
    pub(super) const fn of(&self, source: Source) -> u64 {
        self.totals()[source as usize]
    }
}

/// What a counter counts at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Source {
    /// The counter is unassigned, not installed, unauthorized or disabled.
    Unavailable,
    /// It does not change: its set is inactive, or no activity drives it.
    Nothing,
    /// CPU cycles.
    Cycles,
    /// Instructions.
    Instructions,
    /// CPU cycles in the problem state.
    ProblemCycles,
    /// Instructions in the problem state.
    ProblemInstructions,
}

impl Source {
    /// What counter `index` of `set` counts while the set is active.
    ///
    /// The cache counters of the basic set (numbers 2-5) and of the problem-state set of CFVN 1
    /// (34-37) have no total: where caches are modelled, `Facility::count_level_1` counts each event;
    /// elsewhere there are no directory writes and no penalty cycles. The counters of the other sets
    /// have no total either.
    pub(super) const fn of(set: CounterSet, index: u16) -> Self {
        match (set, index) {
            (CounterSet::Basic, 0) => Self::Cycles,
            (CounterSet::Basic, 1) => Self::Instructions,
            (CounterSet::ProblemState, 0) => Self::ProblemCycles,
            (CounterSet::ProblemState, 1) => Self::ProblemInstructions,
            _ => Self::Nothing,
        }
    }
}
