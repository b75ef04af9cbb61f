//! When the machine wants control of a CPU next.

/// Never.
pub const NEVER: u64 = u64::MAX;

/// So many cycles after a look at the rings of a device that does not interrupt, the machine looks again.
pub const POLL: u64 = 100_000;

/// When the next samples of a CPU are due, in cycles of its account.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The next sample of the guest's own sampling function.
    pub own: u64,
    /// The next sample of the machine's.
    pub machine: u64,
    /// The end of this CPU's turn.
    pub turn: u64,
    /// The clock at which the machine does at the latest what it does at the end of a turn for others than the guest. The
    /// turn ends by the guest's cycles, of which few pass while the machine works for the guest nearly all the time.
    pub look_at: u64,
    /// Clock units that passed, last time, between setting the comparator and leaving. Ways out differ by a few
    /// instructions. A way out that repeats finds its own time here, so that a comparator which interrupts before
    /// the guest gets on is set right the next time.
    pub slack: u64,
    /// When the comparator was set, if this way out has set it.
    pub armed_at: u64,
    /// The number of traps so far and the clock up to which the wait of a dedicated CPU was sampled,
    /// when it was last sampled.
    pub waited: (u64, u64),
    /// Samples stored at the machine's level.
    pub taken: u64,
    /// Samples that the machine's level could not store.
    pub lost: u64,
    /// What is left to do after a sample of the machine's level.
    pub after: AfterSample,
}

/// What is left to do after a sample of the machine's level, in one byte that the path of a sample tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct AfterSample(u8);

impl AfterSample {
    /// A machine-level block has become full and must be sent.
    pub const BLOCK_FULL: Self = Self(1);
    /// The call stack of each sample is wanted. This stays.
    pub const STACK: Self = Self(2);
    /// The clock is the host's: it may have passed the time of several samples. This stays.
    pub const LATE: Self = Self(4);

    /// Whether there is anything.
    #[must_use]
    #[inline(always)]
    pub const fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Whether this is left.
    #[must_use]
    #[inline]
    pub const fn has(self, what: Self) -> bool {
        self.0 & what.0 != 0
    }

    /// This is left too.
    #[inline(always)]
    pub const fn add(&mut self, what: Self) {
        self.0 |= what.0;
    }

    /// This is done.
    #[inline]
    pub const fn clear(&mut self, what: Self) {
        self.0 &= !what.0;
    }
}

impl Schedule {
    /// The guest has set the clock forward by so many units.
    pub(crate) const fn shift(&mut self, forward: u64) {
        if self.look_at != NEVER {
            self.look_at = self.look_at.wrapping_add(forward);
        }
    }

    /// The machine has set the clock back by so many units, which have passed.
    pub const fn set_back(&mut self, units: u64) {
        self.look_at = self.look_at.saturating_sub(units);
    }

    /// When the next sample of either level is due.
    #[must_use]
    #[inline]
    pub const fn next_sample(&self) -> u64 {
        if self.own < self.machine {
            self.own
        } else {
            self.machine
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            own: NEVER,
            machine: NEVER,
            turn: NEVER,
            look_at: NEVER,
            slack: 0,
            armed_at: 0,
            waited: (0, 0),
            taken: 0,
            lost: 0,
            after: AfterSample::default(),
        }
    }
}
