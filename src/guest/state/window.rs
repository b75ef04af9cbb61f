//! The window of a CPU: a part of a run that is looked at again. What it does is in
//! [`measuring::window`](crate::measuring::window).

use crate::state::schedule::NEVER;

/// The window of one CPU.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The clock at which it begins.
    pub from: u64,
    /// The clock at which it has ended.
    pub to: u64,
    /// Cycles from one sample to the next.
    pub interval: u64,
    /// The guest's cycles at which the next sample is due, or [`NEVER`] before the window has begun.
    pub due: u64,
    /// Whether the guest stops when a sample is due, so that nothing need interrupt it.
    pub by_stops: bool,
    /// Samples that were due and were not taken, because the next one was due, too.
    pub missed: u64,
}

impl Window {
    /// A window between two clock values, with a sample each `interval` cycles.
    #[must_use]
    pub const fn new(from: u64, to: u64, interval: u64) -> Self {
        Self {
            from,
            to,
            interval,
            due: NEVER,
            by_stops: false,
            missed: 0,
        }
    }

    /// Whether a moment at which the machine was entered is in it. After one that was not before the end, none is: the machine has
    /// more than one way in, and where the guest was stopped at the end, a shorter way would show a moment before it again.
    pub const fn reaches(&mut self, now: u64) -> bool {
        if self.is_over(now) {
            self.to = 0;
        }
        now >= self.from && now < self.to
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_over(&self, now: u64) -> bool {
        now >= self.to
    }
}
