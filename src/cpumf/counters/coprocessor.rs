//! The coprocessors of a group, and what a function does to one.
//!
//! A coprocessor performs one function at a time. A function that finds it busy is blocked until the
//! functions before it are done; then it occupies the coprocessor for its own time. All of that is
//! known when the CPU issues the function, so one call counts all of it.

/// A coprocessor of a group, as the counter sets distinguish them (Figure 2-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coprocessor {
    /// The SHA coprocessor. Counters 0-3.
    Sha,
    /// The DEA/AES coprocessor, which also computes MACs. Counters 4-7.
    DeaAes,
    /// The ECC coprocessor, for which the group has no counters; each CPU counts its functions.
    Ecc,
}

impl Coprocessor {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sha, Self::DeaAes, Self::Ecc];
}

/// A kind of function, as the crypto-activity counter set distinguishes them (Figures 2-7 and 2-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CryptoFunction {
    /// Pseudorandom-number generation with any algorithm. Counters 64-67.
    Prng,
    /// A SHA function. Counters 68-71.
    Sha,
    /// A DEA function. Counters 72-75.
    Dea,
    /// An AES function, including those of the Galois-field multiplier. Counters 76-79.
    Aes,
    /// An elliptic-curve function. Counters 80-83, with CSVN 6 and above.
    Ecc,
}

impl CryptoFunction {
    /// All kinds, by counter number.
    pub const ALL: [Self; 5] = [Self::Prng, Self::Sha, Self::Dea, Self::Aes, Self::Ecc];

    /// The number of the first of the kind's four counters.
    #[must_use]
    pub const fn first_counter(self) -> u16 {
        64 + 4 * self as u16
    }
}

/// The cost of one function in CPU cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupation {
    /// How long the coprocessor was busy with the function.
    pub busy: u64,
    /// How long the function was blocked, because the coprocessor was busy with another.
    pub blocked: u64,
}

impl Occupation {
    /// The amounts that the function adds to its four counters: function count, cycle count,
    /// blocked-function count and blocked-cycle count, in the order of all the figures.
    #[must_use]
    pub const fn counted(self) -> [u64; 4] {
        [1, self.busy, (self.blocked > 0) as u64, self.blocked]
    }
}

/// When a coprocessor is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Occupancy {
    free_at: u64,
}

impl Occupancy {
    /// Never occupied so far.
    pub(super) const FREE: Self = Self { free_at: 0 };

    /// A function of `cycles` CPU cycles is issued at `now`, in cycles of a clock that the CPUs of
    /// the group share and that does not wrap.
    pub(super) const fn issue(&mut self, now: u64, cycles: u64) -> Occupation {
        let blocked = self.free_at.saturating_sub(now);
        self.free_at = now.saturating_add(blocked).saturating_add(cycles);
        Occupation {
            busy: cycles,
            blocked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_blocked_only_while_the_coprocessor_is_busy() {
        let mut coprocessor = Occupancy::FREE;
        // (issued at, cycles, blocked for)
        let table = [
            (100, 50, 0),
            (120, 10, 30),
            (130, 5, 30),
            (165, 1, 0),
            (200, 1, 0),
        ];
        for (now, cycles, blocked) in table {
            let found = coprocessor.issue(now, cycles);
            assert_eq!((found.busy, found.blocked), (cycles, blocked), "at {now}");
        }
    }

    #[test]
    fn a_function_that_was_not_blocked_adds_nothing_to_the_blocked_counts() {
        let free = Occupation {
            busy: 7,
            blocked: 0,
        };
        assert_eq!(free.counted(), [1, 7, 0, 0]);
        let blocked = Occupation {
            busy: 7,
            blocked: 9,
        };
        assert_eq!(blocked.counted(), [1, 7, 1, 9]);
    }

    #[test]
    fn the_kinds_of_functions_have_the_counters_of_figure_2_8() {
        let firsts = CryptoFunction::ALL.map(CryptoFunction::first_counter);
        assert_eq!(firsts, [64, 68, 72, 76, 80]);
    }
}
