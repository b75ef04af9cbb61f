//! The traces of a window on one CPU. What they do is in
//! [`recording::per::window`](crate::recording::per::window).

use crate::state::recording::Recording;
use per::trace::{MOST_TRACES, Traces};

/// The traces of a window on one CPU: a recording beside that of the CPU, which is as in the first run.
#[derive(Debug)]
pub struct WindowTraces {
    pub(crate) recording: Recording,
    /// The guest's cycles when the watched instruction began.
    pub(crate) began: u64,
    /// Whether the real control registers 9 to 11 are those of the window.
    pub(crate) is_on: bool,
    /// The interruptions that the real PSW allowed, while the hardware only tries to fetch the next instruction.
    pub(crate) looks: Option<u64>,
    /// How many events each trace has had.
    pub counts: [u64; MOST_TRACES],
    /// Instructions that the machine performed together with the watched one, so that nobody saw them.
    pub unseen: u64,
}

impl WindowTraces {
    /// Nothing has been traced yet.
    #[must_use]
    pub fn new(traces: Traces) -> Self {
        Self {
            recording: Recording {
                traces,
                below: true,
                ..Recording::default()
            },
            began: 0,
            is_on: false,
            looks: None,
            counts: [0; MOST_TRACES],
            unseen: 0,
        }
    }

    /// The traces.
    #[must_use]
    pub const fn all(&self) -> Traces {
        self.recording.traces
    }

    /// Whether the instruction at an address is watched.
    #[must_use]
    pub fn watches(&self, at: u64) -> bool {
        self.recording.is_watching(at)
    }

    /// Whether the hardware stops the guest for them.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }
}
