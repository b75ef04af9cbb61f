//! The paths of a control program: what it executes for each interruption of the program above it.
//!
//! A path begins when an interruption takes a CPU from the problem state to the supervisor state, and ends when the CPU
//! is in the problem state again. The machine counts the instructions between the two in its guest. So the guest
//! pays nothing for it, and need not know. If the guest is a machine itself, these are the paths that its own budgets
//! limit.

use crate::tally::{Cause, Tally};

/// Where a path began.
#[derive(Clone, Copy, Debug)]
struct Begun {
    cause: Cause,
    number: u16,
    executed: u64,
}

/// The state of a CPU around a trap: whether it was in problem state, and the instructions that it had executed in
/// supervisor state.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// In problem state.
    pub problem: bool,
    /// Instructions in supervisor state.
    pub executed: u64,
}

/// The paths of one CPU.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    begun: Option<Begun>,
    tally: Tally,
}

impl Paths {
    /// No path yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            begun: None,
            tally: Tally::new(),
        }
    }

    /// A trap of this cause has led from one state to another.
    pub fn note(&mut self, before: State, after: State, cause: Cause, number: u16) {
        match (before.problem, after.problem) {
            // What the machine has already performed of the handler is part of the path.
            (true, false) => {
                self.begun = Some(Begun {
                    cause,
                    number,
                    executed: before.executed,
                });
            }
            (false, true) => {
                if let Some(begun) = self.begun.take() {
                    let length = after.executed.saturating_sub(begun.executed);
                    self.tally.note(begun.cause, begun.number, length);
                }
            }
            _ => {}
        }
    }

    /// The complete paths by cause.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn state(problem: bool, executed: u64) -> State {
        State { problem, executed }
    }

    #[test]
    fn a_path_is_what_is_executed_from_the_problem_state_to_the_problem_state() {
        let mut paths = Paths::new();
        // The first way into the program has no cause.
        paths.note(
            state(false, 0),
            state(true, 1000),
            Cause::Instruction,
            0xB2B2,
        );
        for (begin, end) in [(1000, 1150), (1150, 1290)] {
            paths.note(
                state(true, begin),
                state(false, begin),
                Cause::SupervisorCall,
                0,
            );
            // An instruction of the control program that the machine performs.
            paths.note(
                state(false, begin + 9),
                state(false, begin + 10),
                Cause::Instruction,
                0xB207,
            );
            paths.note(
                state(false, end - 1),
                state(true, end),
                Cause::Instruction,
                0xB2B2,
            );
            // The program's own traps.
            paths.note(state(true, end), state(true, end), Cause::Program, 0x11);
        }
        let [line] = paths.tally().lines() else {
            panic!("{paths:?}");
        };
        assert_eq!((line.cause, line.traps), (Cause::SupervisorCall, 2));
        assert_eq!((line.instructions, line.least, line.most), (290, 140, 150));
    }

    #[test]
    fn what_is_performed_in_the_trap_that_begins_a_path_belongs_to_it() {
        let mut paths = Paths::new();
        paths.note(state(true, 10), state(false, 11), Cause::SupervisorCall, 0);
        paths.note(
            state(false, 20),
            state(true, 21),
            Cause::Instruction,
            0xB2B2,
        );
        assert_eq!(paths.tally().lines()[0].least, 11);
    }
}
