//! The entries made in a CPU's DAT-on shadow since it was last empty.

use crate::state::access::Translation;
use arch::address::{Real, Virtual};

/// How many fills are remembered.
pub(crate) const REMEMBERED: usize = 8;

/// An entry made in the shadow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// The guest's address-space-control element.
    pub(crate) guest: u64,
    /// The page.
    pub(crate) at: Virtual,
    /// The translation by the guest's tables, for the address that was accessed.
    pub(crate) translation: Translation,
    /// The real address of the shadow's entry.
    pub(crate) entry: Real,
}

/// The fills since the shadow was last empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent {
    pub(crate) filled: [Filled; REMEMBERED],
    /// How many there were; if there are more than are remembered, the list is incomplete.
    pub(crate) count: usize,
}

impl Default for Recent {
    fn default() -> Self {
        let nothing = Filled {
            guest: 0,
            at: Virtual(0),
            translation: Translation::untranslated(Virtual(0)),
            entry: Real(0),
        };
        Self {
            filled: [nothing; REMEMBERED],
            count: 0,
        }
    }
}

impl Recent {
    /// The shadow has a new entry.
    #[inline]
    pub(crate) fn note(&mut self, filled: Filled) {
        if let Some(place) = self.filled.get_mut(self.count) {
            *place = filled;
        }
        self.count += 1;
    }

    /// The shadow is empty.
    pub(crate) const fn clear(&mut self) {
        self.count = 0;
    }

    /// Tables of the shadow were dropped, and with them entries that were remembered.
    pub(crate) const fn lose(&mut self) {
        self.count = REMEMBERED + 1;
    }
}
