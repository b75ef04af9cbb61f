//! The instruction that is watched for program-event recording, as it was before its execution
//! began.

use crate::state::access::{Access, Space};
use crate::state::reference::Reference;
use crate::state::text::Text;
use arch::address::Virtual;
use core::cell::Cell;
use per::Controls;

/// An instruction whose execution was allowed to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// Its address, or that of the EXECUTE whose target it is.
    pub at: u64,
    /// The left half of the PSW before it.
    pub mask: u64,
    /// The PER controls before it.
    pub controls: Controls,
    /// The spaces in which its stores may be events.
    pub spaces: EventSpaces,
    /// The instruction; of length zero if it could not be fetched.
    pub text: Text,
    /// The address of its text.
    pub text_at: u64,
    /// The general registers before it.
    pub general: [u64; 16],
    /// Whether it may be a branch instruction.
    pub branches: bool,
}

impl Watched {
    pub const NONE: Self = Self {
        at: 0,
        mask: 0,
        controls: Controls::NONE,
        spaces: EventSpaces::ALL,
        text: Text::of([0; 6]),
        text_at: 0,
        general: [0; 16],
        branches: false,
    };

    /// Whether a PER event nullifies it: at its own fetch, or at that of the EXECUTE whose target
    /// it is.
    pub fn is_nullified(&self) -> bool {
        let fetched = [self.at, self.text_at];
        self.text.length != 0 && fetched.into_iter().any(|at| self.controls.nullify(at))
    }

    /// The address of the next sequential instruction.
    pub(crate) fn next(&self) -> u64 {
        self.at.wrapping_add(self.text.length.into())
    }
}

/// The spaces in which a store may be an event, under the PSW and the control registers before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventSpaces {
    /// The space of the PSW, or real storage.
    pub current: bool,
    /// The spaces that an instruction may name, by the number of [`Space`].
    pub named: [bool; 4],
}

impl EventSpaces {
    /// Every space.
    pub const ALL: Self = Self {
        current: true,
        named: [true; 4],
    };

    /// Whether a store into a space, or else into that of the PSW, may be an event.
    pub fn has(self, space: Option<Space>) -> bool {
        space.map_or(self.current, |space| self.named[space as usize])
    }
}

/// Operands of an instruction that millicode performs, as many as there is room for.
#[derive(Debug)]
pub(crate) struct Noted {
    pub count: Cell<usize>,
    pub(crate) references: [Cell<Reference>; MOST_NOTED],
}

/// The most references of any instruction that does not move data.
const MOST_NOTED: usize = 4;

impl Noted {
    pub const fn new() -> Self {
        Self {
            count: Cell::new(0),
            references: [const { Cell::new(Reference::new(Virtual(0), 0, Access::Fetch)) };
                MOST_NOTED],
        }
    }

    pub fn add(&self, reference: Reference) {
        let count = self.count.get();
        if let Some(free) = self.references.get(count) {
            free.set(reference);
            self.count.set(count + 1);
        }
    }

    pub fn all(&self) -> impl Iterator<Item = Reference> {
        self.references.iter().take(self.count.get()).map(Cell::get)
    }
}
