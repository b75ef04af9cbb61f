//! The traces of a window on one CPU. What they do is in
//! [`recording::per::window`](crate::recording::per::window).

use crate::state::copies::Copies;
use crate::state::recording::Recording;
use crate::state::schedule::NEVER;
use arch::address::Real;
use per::trace::{MOST_TRACES, Traces};

/// The traces of a window on one CPU: a recording in addition to that of the CPU, which is as in the first run.
#[derive(Debug)]
pub struct WindowTraces {
    pub(crate) recording: Recording,
    /// From where the CPU fetches its instructions.
    pub copies: Copies,
    /// Whether the guest may store into a range that is traced, with any instruction.
    pub(crate) of_stores: bool,
    /// Where the guest stops next.
    pub(crate) stop: Option<u64>,
    /// The guest's cycles at which it stops in any case.
    pub due: u64,
    /// Whether the guest goes on after a branch that the machine has performed.
    pub(crate) after_branch: bool,
    /// Whether an instruction up to that may look at a clock.
    pub(crate) reads_clock: bool,
    /// The guest's cycles when the watched instruction began.
    pub(crate) began: u64,
    /// How many events each trace has had.
    pub counts: [u64; MOST_TRACES],
    /// Instructions that were executed together with the watched one, so that nobody saw them: the machine performed both, or the
    /// second one is the target of an EXECUTE that stands before it.
    pub unseen: u64,
}

impl WindowTraces {
    /// Nothing has been traced yet. Nothing else uses the area at `at`.
    #[must_use]
    pub fn new(traces: Traces, at: Real) -> Self {
        Self {
            of_stores: traces.stores().next().is_some(),
            recording: Recording {
                traces,
                below: true,
                ..Recording::default()
            },
            copies: Copies::new(at),
            stop: None,
            due: NEVER,
            after_branch: false,
            reads_clock: false,
            began: 0,
            counts: [0; MOST_TRACES],
            unseen: 0,
        }
    }

    /// The traces.
    #[must_use]
    pub const fn all(&self) -> Traces {
        self.recording.traces
    }

    /// Whether the guest was left with what stops it for them.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.copies.is_on()
    }

    /// Whether the guest goes on after a branch that the machine has performed.
    #[must_use]
    pub const fn is_after_branch(&self) -> bool {
        self.after_branch
    }

    /// Whether the guest may look at a clock before it stops again.
    #[must_use]
    pub const fn reads_clock(&self) -> bool {
        self.reads_clock || self.copies.looks.is_some()
    }

    /// The watched instruction has ended, and the account shows so many cycles. What was executed with it is unseen.
    pub(crate) fn note_unseen(&mut self, total: u64) {
        let alone = 1 + u64::from(self.recording.watched.text.executed);
        // Some exceptions are charged less than the machine has found at IPL.
        let done = total.saturating_sub(self.began);
        self.unseen += done.saturating_sub(alone);
    }

    /// Whether an instruction at an address may have an event.
    pub(crate) fn concern(&self, at: u64) -> bool {
        self.of_stores || self.recording.traces.concern(at)
    }
}

impl AsMut<Copies> for WindowTraces {
    fn as_mut(&mut self) -> &mut Copies {
        &mut self.copies
    }
}
