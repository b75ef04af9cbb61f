//! Program-event recording of a CPU: the requested events, and the watched instruction.

use crate::state::access::{Access, Space};
use crate::state::protected::Protected;
use crate::state::reference::Reference;
use crate::state::shadow::slots::Slot;
use crate::state::watched::{Noted, Watched};
use arch::address::Virtual;
use core::cell::Cell;
use per::trace::Traces;
use per::{Controls, Format, Identification};

/// What is the same for all CPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Support {
    /// The format of the controls and of the identification.
    pub format: Format,
    /// Whether events can be recorded: the machine below can forbid the execution of a page.
    pub records: bool,
}

/// How a CPU runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is recorded.
    #[default]
    Off,
    /// Freely, up to the first instruction that the protection of a page stops.
    Range,
    /// One instruction at a time.
    Step,
}

/// Program-event recording of one CPU.
#[derive(Debug)]
pub struct Recording {
    /// What the guest requests at present.
    pub(crate) controls: Controls,
    pub(crate) phase: Phase,
    /// Whether every instruction is executed on its own, wherever it is.
    pub(crate) everything: bool,
    /// The pages that are protected because something in them may be an event.
    pub(crate) protected: Protected,
    /// Whether [`Self::watched`] is valid.
    pub(crate) watching: bool,
    pub(crate) watched: Watched,
    /// The events of an instruction that is completed, and its length.
    pub(crate) pending: Option<(Identification, u8)>,
    /// Whether millicode has stored into the range.
    pub(crate) stored: Cell<bool>,
    /// The operands that millicode has referred to.
    pub(crate) noted: Noted,
    /// Whether millicode has stored by a real address.
    pub(crate) stored_real: Cell<bool>,
    /// Whether the guest goes on as it ran before the trap: millicode has made a store beside the ranges.
    pub(crate) goes_on: bool,
    /// Instructions until the next test for a pending I/O interruption.
    pub(crate) patience: u32,
    /// Whether the hardware fetches instructions from the slot space.
    pub(crate) in_slots: bool,
    /// The slot that the guest is left with.
    pub(crate) slot: Option<Slot>,
    /// The slot in which the last trap was, unless that only showed that the instruction has completed.
    pub(crate) trapped_in: Option<Slot>,
    /// The operator's traces.
    pub(crate) traces: Traces,
    /// Whether no trace does more than count, and none is of stores.
    pub(crate) only_counts: bool,
    /// Whether the machine records anything for itself: the operator's traces, or references for the caches.
    pub(crate) below: bool,
    /// Whether the machine has reported that it cannot record the requested events.
    pub(crate) refused: bool,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            controls: Controls::NONE,
            phase: Phase::Off,
            everything: false,
            protected: Protected::NOTHING,
            watching: false,
            watched: Watched::NONE,
            pending: None,
            stored: Cell::new(false),
            noted: Noted::new(),
            stored_real: Cell::new(false),
            goes_on: false,
            patience: 0,
            in_slots: false,
            slot: None,
            trapped_in: None,
            traces: Traces::NONE,
            only_counts: false,
            below: false,
            refused: false,
        }
    }
}

impl Recording {
    /// Whether anything is recorded. Pages of text are not kept then, so that no instruction is performed
    /// unwatched.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.phase != Phase::Off
    }

    /// Whether instructions are executed one at a time. The real CPU is disabled for I/O then.
    #[must_use]
    pub fn is_stepping(&self) -> bool {
        self.phase == Phase::Step
    }

    /// Whether the instruction at an address is being watched.
    pub(crate) fn is_watching(&self, at: u64) -> bool {
        self.watching && self.watched.at == at
    }

    /// A reset: forgets the instruction and its events.
    pub const fn reset(&mut self) {
        self.watching = false;
        self.pending = None;
        self.protected.forget();
    }

    /// Millicode refers to an operand of the watched instruction, in the named space or else in that of the
    /// PSW.
    #[inline]
    pub fn note(&self, space: Option<Space>, at: Virtual, length: u64, access: Access) {
        if self.watching {
            self.note_watched(space, at, length, access);
        }
    }

    #[cold]
    fn note_watched(&self, space: Option<Space>, at: Virtual, length: u64, access: Access) {
        if access == Access::Store
            && self.watched.controls.range.meets(at.0, length)
            && self.watched.spaces.has(space)
        {
            self.stored.set(true);
        }
        self.noted.add(Reference {
            at,
            length,
            access,
            space,
        });
    }

    /// Millicode stores at a real address for the watched instruction.
    pub fn note_store_real(&self) {
        self.stored_real.set(true);
    }
}
