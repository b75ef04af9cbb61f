//! The entries made in a CPU's DAT-on shadow since it was last empty.

use crate::arch::address::{Real, Virtual};
use crate::guest::state::access::Translation;

/// How many fills are remembered.
pub(in crate::guest) const REMEMBERED: usize = 8;

/// An entry made in the shadow.
#[derive(Clone, Copy, Debug)]
pub(in crate::guest) struct Filled {
    /// The guest's address-space-control element.
    pub(in crate::guest) guest: u64,
    /// The page.
    pub(in crate::guest) at: Virtual,
    /// The translation by the guest's tables, for the address that was accessed.
    pub(in crate::guest) translation: Translation,
    /// The real address of the shadow's entry.
    pub(in crate::guest) entry: Real,
}

/// The fills since the shadow was last empty.
#[derive(Clone, Copy, Debug)]
pub(in crate::guest) struct Recent {
    pub(in crate::guest) filled: [Filled; REMEMBERED],
    /// How many there were; if there are more than are remembered, the list is incomplete.
    pub(in crate::guest) count: usize,
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
    pub(in crate::guest) fn note(&mut self, filled: Filled) {
        if let Some(place) = self.filled.get_mut(self.count) {
            *place = filled;
        }
        self.count += 1;
    }

    /// The shadow is empty.
    pub(in crate::guest) const fn clear(&mut self) {
        self.count = 0;
    }

    /// Tables of the shadow were dropped, and with them entries that were remembered.
    pub(in crate::guest) const fn lose(&mut self) {
        self.count = REMEMBERED + 1;
    }
}
