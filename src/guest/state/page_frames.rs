//! What is known of the page frames of the guest's storage.

use arch::address::{Absolute, PAGE, Real};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use spin::Mutex;

/// A page frame that has not been scanned: writable, not executable.
pub(crate) const DATA: u16 = 0;

/// A page frame that was scanned and has no sensitive instruction: executable, not writable.
pub(crate) const TEXT: u16 = 1;

/// A page frame that one instruction both executes and stores into: open for that one step.
pub(crate) const OPEN: u16 = 2;

/// From this value on: executed from code copy number `state - COPIED`, not writable.
pub(crate) const COPIED: u16 = 3;

/// The state of a page frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Writable, not executable.
    Data,
    /// Executable, not writable.
    Text,
    /// Executable and writable, for one instruction.
    Open,
    /// Not writable; executed and fetched from the copy at this real address.
    Copied(Real),
}

/// What is known of the page frames of the guest's storage.
#[derive(Debug)]
pub struct PageFrames {
    pub(crate) states: &'static [AtomicU16],
    /// For each code copy, the number of its guest page plus one, or zero.
    pub(crate) owners: &'static [AtomicU32],
    /// The first code copy.
    pub(crate) copies: Real,
    /// The copy that is taken next.
    pub(crate) next: AtomicU32,
    /// Pages scanned so far.
    pub scans: AtomicU64,
    /// Pages that had to be copied.
    pub copied: AtomicU64,
    /// Places that were uncovered so far.
    pub uncovered: AtomicU64,
    /// Only one CPU at a time uncovers, so that what it finds covered stays covered until it has
    /// finished.
    pub(crate) uncovering: Mutex<()>,
}

impl PageFrames {
    /// Page frames that have not been scanned. `states` has one entry for each page frame of the
    /// guest, `owners` one for each page of the pool of code copies at `copies`.
    #[must_use]
    pub const fn new(
        states: &'static [AtomicU16],
        owners: &'static [AtomicU32],
        copies: Real,
    ) -> Self {
        Self {
            states,
            owners,
            copies,
            next: AtomicU32::new(0),
            scans: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            uncovered: AtomicU64::new(0),
            uncovering: Mutex::new(()),
        }
    }

    /// The state of the frame at `at`. Addresses outside the guest's storage count as data.
    #[must_use]
    #[inline]
    pub fn state(&self, at: Absolute) -> PageState {
        match self.raw(at) {
            DATA => PageState::Data,
            TEXT => PageState::Text,
            OPEN => PageState::Open,
            copied => PageState::Copied(self.copy(copied)),
        }
    }

    /// The code copy of a state that has one.
    pub(crate) const fn copy(&self, state: u16) -> Real {
        self.copies.offset((state - COPIED) as u64 * PAGE)
    }

    #[inline]
    pub(crate) fn raw(&self, at: Absolute) -> u16 {
        self.states
            .get((at.0 / PAGE) as usize)
            .map_or(DATA, |state| state.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, at: Absolute, state: u16) {
        if let Some(slot) = self.states.get((at.0 / PAGE) as usize) {
            slot.store(state, Ordering::Relaxed);
        }
    }

    /// Takes a code copy for the page at `at`. Returns its number, and the page that it was taken
    /// from, if any.
    pub(crate) fn take_copy(&self, at: Absolute) -> Option<(u16, Option<Absolute>)> {
        let count = self.owners.len().min((u16::MAX - COPIED) as usize) as u32;
        if count == 0 {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed) % count;
        let page = (at.0 / PAGE) as u32 + 1;
        let before = self.owners[number as usize].swap(page, Ordering::Relaxed);
        let robbed = (before != 0).then(|| Absolute(u64::from(before - 1) * PAGE));
        Some((number as u16, robbed))
    }
}
