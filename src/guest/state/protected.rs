//! The pages that a CPU's shadow protects because something in them may be a PER event.

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

/// What a CPU's shadow protects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protected {
    /// Against stores.
    pub(crate) stores: ProtectedPages,
    /// Against execution.
    pub(crate) places: ProtectedPages,
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
        self.alone = None;
    }

    /// A program interruption. What the hardware has stored cannot be inspected yet.
    pub fn trapped(&mut self, code: u16) {
        self.faulted = is_access(code);
    }
}
