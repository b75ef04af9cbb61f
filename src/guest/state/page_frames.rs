//! What is known of the page frames of the guest's storage.

use crate::arch::address::{Absolute, PAGE, Real};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use spin::Mutex;

/// A page frame whose instructions, if any, are not known: writable, not executable.
pub(in crate::guest) const DATA: u16 = 0;

/// A page frame that was scanned and holds nothing sensitive: executable, not writable.
pub(in crate::guest) const TEXT: u16 = 1;

/// A page frame that is executed and stored into by the same instruction, open for that one step.
pub(in crate::guest) const OPEN: u16 = 2;

/// From here on: executed from code copy number `state - COPIED`, not writable.
pub(in crate::guest) const COPIED: u16 = 3;

/// The state of a page frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// May be stored into, is not executed.
    Data,
    /// Is executed where it stands, is not stored into.
    Text,
    /// Is executed and stored into, for one instruction.
    Open,
    /// Is executed and fetched from the copy at this real address, is not stored into.
    Copied(Real),
}

/// What is known of the page frames of the guest's storage.
#[derive(Debug)]
pub struct PageFrames {
    pub(in crate::guest) states: &'static [AtomicU16],
    /// The guest page number plus one that each code copy belongs to, or zero.
    pub(in crate::guest) owners: &'static [AtomicU32],
    /// The first code copy.
    pub(in crate::guest) copies: Real,
    /// The copy that is given out next.
    pub(in crate::guest) next: AtomicU32,
    /// Pages scanned so far.
    pub scans: AtomicU64,
    /// Pages that had to be copied.
    pub copied: AtomicU64,
    /// Places that were uncovered so far.
    pub uncovered: AtomicU64,
    /// One CPU at a time uncovers: what it finds covered must be so until it is done.
    pub(in crate::guest) uncovering: Mutex<()>,
}

impl PageFrames {
    /// All pages data; `states` has one entry per page frame of the guest, `owners` one per page
    /// of the pool of code copies at `copies`.
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

    /// The state of the frame at `at`; what is not in the guest's storage is data.
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
    pub(in crate::guest) const fn copy(&self, state: u16) -> Real {
        self.copies.offset((state - COPIED) as u64 * PAGE)
    }

    #[inline]
    pub(in crate::guest) fn raw(&self, at: Absolute) -> u16 {
        self.states
            .get((at.0 / PAGE) as usize)
            .map_or(DATA, |state| state.load(Ordering::Relaxed))
    }

    pub(in crate::guest) fn set(&self, at: Absolute, state: u16) {
        if let Some(slot) = self.states.get((at.0 / PAGE) as usize) {
            slot.store(state, Ordering::Relaxed);
        }
    }

    /// Takes a code copy for the page at `at`; gives its number and the page it was taken from.
    pub(in crate::guest) fn take_copy(&self, at: Absolute) -> Option<(u16, Option<Absolute>)> {
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
