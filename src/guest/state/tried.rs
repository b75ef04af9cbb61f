//! How often a CPU has tried the same instruction, one time immediately after the other.

use arch::address::Virtual;

/// The instruction that a CPU tries once more, in the hope that the machine below has the present text of it by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    at: Virtual,
    /// The number of the trap after which it was last tried once more.
    trap: u64,
    times: u16,
}

impl Tried {
    /// The instruction at `at` has trapped, and this trap is the CPU's `trap`th. Returns whether it may be tried once more:
    /// at most `limit` times in a row.
    pub fn again(&mut self, at: Virtual, trap: u64, limit: u16) -> bool {
        let follows = self.at == at && self.trap.wrapping_add(1) == trap;
        let before = if follows { self.times } else { 0 };
        if before >= limit {
            *self = Self::default();
            return false;
        }
        *self = Self {
            at,
            trap,
            times: before + 1,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Virtual = Virtual(0x1000);

    #[test]
    fn an_instruction_is_tried_so_many_times_in_a_row_and_then_from_the_first_time_on() {
        let mut tried = Tried::default();
        let answers = (1..=8).map(|trap| tried.again(AT, trap, 3));
        let thrice = [true, true, true, false];
        assert!(answers.eq(thrice.into_iter().chain(thrice)));
    }

    #[test]
    fn another_trap_in_between_or_another_instruction_begins_anew() {
        let mut tried = Tried::default();
        assert!(tried.again(AT, 1, 1));
        assert!(tried.again(AT, 3, 1));
        assert!(tried.again(Virtual(0x1002), 4, 1));
        assert!(tried.again(AT, 5, 1));
        assert!(!tried.again(AT, 6, 1));
    }

    #[test]
    fn where_no_other_cpu_executes_nothing_is_tried_again() {
        assert!(!Tried::default().again(AT, 1, 0));
    }
}
