//! The pages that a CPU's shadow protects because something in them may be a PER event.

use arch::address::{Absolute, Virtual};
use arch::interruption::is_access;
use per::Range;

/// The pages that are protected against one kind of access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtectedPages {
    /// The address-space-control element of the space with protected pages, except those in [`Self::entered`].
    pub(crate) space: Option<u64>,
    /// From the first to the last page that may have been entered into the shadow since.
    pub(crate) entered: Option<Range>,
}

impl ProtectedPages {
    pub(crate) const NONE: Self = Self {
        space: None,
        entered: None,
    };

    /// A page may have been entered into the shadow.
    pub(crate) fn enter(&mut self, page: Range) {
        self.entered = Some(self.entered.map_or(page, |entered| entered.hull(page)));
    }

    /// Protects the pages of a space. Returns the range whose pages may still be open.
    pub(crate) fn close(&mut self, space: u64) -> Option<Range> {
        let entered = self.entered.take();
        if self.space.replace(space) == Some(space) {
            entered
        } else {
            Some(Range::ALL)
        }
    }
}

/// The pages of a space that may be executed while the pages of the range are open: those without an EXECUTE, and these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InspectedPages {
    /// The address-space-control element of the space; none while the pages of the range are protected.
    pub(crate) space: Option<u64>,
    /// The pages that may have been entered into the shadow and were not inspected since, or have an EXECUTE.
    entered: [Option<Virtual>; 4],
}

impl InspectedPages {
    pub(crate) const NONE: Self = Self {
        space: None,
        entered: [None; 4],
    };

    /// The shadow has no page of a space.
    pub(crate) const fn begin(&mut self, space: u64) {
        *self = Self::NONE;
        self.space = Some(space);
    }

    /// A page may have been entered into the shadow.
    pub(crate) fn enter(&mut self, page: Virtual) {
        if self.space.is_none() || self.entered.contains(&Some(page)) {
            return;
        }
        match self.entered.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(page),
            // More than are known.
            None => *self = Self::NONE,
        }
    }

    /// The pages that were entered.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Virtual> + use<> {
        core::mem::take(&mut self.entered).into_iter().flatten()
    }
}

/// Addresses of a page at which no EXECUTE begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// Where the page is.
    pub(crate) page: Absolute,
    /// How many requests to update the shadow this CPU had carried out: a page that has changed is among them.
    pub(crate) changes: u64,
    /// The addresses.
    pub(crate) addresses: Range,
}

impl Gap {
    /// No page.
    const NONE: Self = Self {
        page: Absolute(0),
        changes: u64::MAX,
        addresses: Range::ALL,
    };
}

/// What a CPU's shadow protects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protected {
    /// Against stores.
    pub(crate) stores: ProtectedPages,
    /// Against execution.
    pub(crate) places: ProtectedPages,
    /// How often one of the pages was entered since the last instruction in the range.
    pub(crate) visits: u8,
    /// The pages that are executed while those of the range are open.
    pub(crate) inspected: InspectedPages,
    /// Where the guest last ran freely beside an EXECUTE.
    pub(crate) gap: Gap,
    /// Whether the last trap was an access exception.
    pub(crate) faulted: bool,
    /// The address of an instruction that is executed on its own with pages open.
    pub(crate) alone: Option<u64>,
}

impl Protected {
    /// Nothing is protected.
    pub const NOTHING: Self = Self {
        stores: ProtectedPages::NONE,
        places: ProtectedPages::NONE,
        visits: 0,
        inspected: InspectedPages::NONE,
        gap: Gap::NONE,
        faulted: false,
        alone: None,
    };

    /// It is no longer known what is protected.
    pub const fn forget(&mut self) {
        *self = Self::NOTHING;
    }

    /// Whether the instruction at an address is executed on its own because it needs open pages.
    pub fn has_alone(&self, at: u64) -> bool {
        self.alone == Some(at)
    }

    /// The instruction that was executed on its own is completed.
    pub const fn completed(&mut self) {
        if self.alone.take().is_none() {
            self.visits = 0;
        }
    }

    /// A program interruption other than a PER event. What the hardware has stored cannot be inspected yet.
    pub fn trapped(&mut self, code: u16) {
        self.faulted = is_access(code);
    }
}
