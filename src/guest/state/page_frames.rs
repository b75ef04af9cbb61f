//! What is known of the page frames of the guest's storage.

use arch::address::{Absolute, PAGE, Real};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use spin::Mutex;

/// A page frame that has not been scanned: writable, not executable.
pub(crate) const DATA: u16 = 0;

/// A page frame that was scanned and has no sensitive instruction: executable, not writable.
pub(crate) const TEXT: u16 = 1;

/// As [`TEXT`], with an EXECUTE that is harmless as long as the page stays what it is.
pub(crate) const TRUSTED: u16 = 2;

/// A page frame that is about to be scanned, where CPUs execute at the same time: neither writable nor executable.
pub(crate) const STILL: u16 = 3;

/// From this value on: executed from code copy number `state - COPIED`, not writable.
pub(crate) const COPIED: u16 = 4;

/// Added to [`COPIED`] and its number: nothing but EXECUTEs is replaced in the copy, so a program that has a single table
/// for instructions and operands executes the page itself.
pub(crate) const OF_EXECUTES: u16 = 0x8000;

/// Beside a state with a code copy: what is replaced at the beginning of the copy may be the end of an instruction of another
/// page.
pub(crate) const BEGINS: u16 = 0x4000;

/// Beside any state: a page behind this one somewhere [`BEGINS`], so what extends from this one into the next one is replaced in
/// its copy.
pub(crate) const ENDS: u16 = 0x2000;

/// Beside a state as text: the page begins or ends with what may be a part of an instruction that no hardware may be given
/// ([`insn::split`]), the other part of which would be on the page before or behind it. A store there makes the page data.
pub(crate) const EDGE: u16 = 0x1000;

/// What is beside a state.
pub(crate) const BESIDE: u16 = BEGINS | ENDS | EDGE;

/// The number of the code copy of a state, if it has one.
pub(crate) const fn number_of_copy(state: u16) -> Option<u16> {
    (state & !(OF_EXECUTES | BESIDE)).checked_sub(COPIED)
}

/// The most code copies that states can number.
const MOST_COPIES: usize = (EDGE - COPIED) as usize;

/// The state of a page frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Writable, not executable.
    Data,
    /// Executable, not writable.
    Text,
    /// Neither writable nor executable: a CPU waits until none can store into it any more, to scan it.
    Still,
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
    /// The page frame into whose text a value was last stored that leaves it text, and how often that was another one than the
    /// time before.
    pub(crate) altered: [AtomicU64; 2],
    /// Whether any page has had a copy that [`BEGINS`].
    pub(crate) any_begins: AtomicBool,
    /// For each page frame, into how many buffers of devices in it a device may store at any time; the largest value
    /// stays. There is none in a configuration without devices.
    pub(crate) stores: &'static [AtomicU8],
    /// Held while the state of a page, the shared tables of its state, or the contents of a copy change. So a CPU that
    /// uncovers something finds it covered until it has finished. Nobody waits for another CPU while holding it.
    pub(crate) changing: Mutex<()>,
    /// Held by the CPU that scans a page, where CPUs execute at the same time: it takes the next copy. It is only ever
    /// tried, because its holder waits for the other CPUs.
    pub(crate) scanning: Mutex<()>,
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
            altered: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            any_begins: AtomicBool::new(false),
            stores: &[],
            changing: Mutex::new(()),
            scanning: Mutex::new(()),
        }
    }

    /// The same with devices: `stores` has one entry for each page frame of the guest.
    #[must_use]
    pub fn with_devices(self, stores: &'static [AtomicU8]) -> Self {
        Self { stores, ..self }
    }

    /// What is kept of the frame at `at`, if it is one of the guest's storage: its state with what is beside it.
    #[inline]
    fn of(&self, at: Absolute) -> Option<&AtomicU16> {
        self.states.get((at.0 / PAGE) as usize)
    }

    /// A value is stored at `at` into text that stays text.
    #[inline]
    pub(crate) fn alter(&self, at: Absolute) {
        let [last, others] = &self.altered;
        let page = at.page().0;
        if last.load(Ordering::Relaxed) != page {
            last.store(page, Ordering::Relaxed);
            others.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of buffers in the frame at `at` into which devices may store.
    fn stores_of(&self, at: Absolute) -> Option<&AtomicU8> {
        self.stores.get((at.0 / PAGE) as usize)
    }

    /// A device may store into the frame at `at` from now on.
    pub(crate) fn device_stores(&self, at: Absolute) {
        if let Some(count) = self.stores_of(at) {
            let more = |count: u8| count.checked_add(1);
            let _ = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        }
    }

    /// A device has stored what it was allowed to by one [`device_stores`](Self::device_stores).
    pub(crate) fn device_has_stored(&self, at: Absolute) {
        if let Some(count) = self.stores_of(at) {
            let less = |count: u8| (count != u8::MAX).then_some(count.saturating_sub(1));
            let _ = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        }
    }

    /// Nobody knows when a device will have stored into the frame at `at`.
    pub(crate) fn device_stores_for_ever(&self, at: Absolute) {
        if let Some(count) = self.stores_of(at) {
            count.store(u8::MAX, Ordering::SeqCst);
        }
    }

    /// Whether a device may store into the frame at `at` at any time.
    pub(crate) fn is_stored_into_by_device(&self, at: Absolute) -> bool {
        let count = self.stores_of(at);
        count.is_some_and(|count| count.load(Ordering::SeqCst) != 0)
    }

    /// How many code copies are in use, and how many there are.
    #[must_use]
    pub fn copies_in_use(&self) -> (usize, usize) {
        let owners = self.owners.iter();
        let used = owners.filter(|owner| owner.load(Ordering::Relaxed) != 0);
        (used.count(), self.owners.len())
    }

    /// The state of the frame at `at`. Addresses outside the guest's storage count as data.
    #[must_use]
    #[inline]
    pub fn state(&self, at: Absolute) -> PageState {
        match self.raw(at) {
            DATA => PageState::Data,
            TEXT | TRUSTED => PageState::Text,
            STILL => PageState::Still,
            copied => PageState::Copied(self.copy((copied & !OF_EXECUTES) - COPIED)),
        }
    }

    /// The code copy of a number.
    pub(crate) const fn copy(&self, number: u16) -> Real {
        self.copies.offset(number as u64 * PAGE)
    }

    /// Whether a program with a single table executes the page itself, although it has a copy.
    pub(crate) fn is_of_executes(&self, at: Absolute) -> bool {
        self.raw(at) & OF_EXECUTES != 0
    }

    /// Whether so many page frames from `at` on are data.
    pub(crate) fn are_data(&self, at: Absolute, count: u64) -> bool {
        let first = (at.0 / PAGE) as usize;
        let states = self.states.iter().skip(first).take(count as usize);
        states
            .into_iter()
            .all(|state| state.load(Ordering::Relaxed) == DATA)
    }

    #[inline]
    pub(crate) fn raw(&self, at: Absolute) -> u16 {
        self.of(at)
            .map_or(DATA, |state| state.load(Ordering::Relaxed) & !BESIDE)
    }

    /// The same, with [`EDGE`]: a page that has one is in none of the states without it.
    #[inline]
    pub(crate) fn raw_with_edge(&self, at: Absolute) -> u16 {
        self.of(at).map_or(DATA, |state| {
            state.load(Ordering::Relaxed) & !(BEGINS | ENDS)
        })
    }

    /// Sets the state of the frame at `at`, with what is beside it.
    pub(crate) fn set(&self, at: Absolute, state: u16) {
        if state & BEGINS != 0 {
            self.any_begins.store(true, Ordering::Release);
        }
        if let Some(kept) = self.of(at) {
            kept.store(state, Ordering::Release);
        }
    }

    /// Whether the end of an instruction of another page may be replaced in the copy of the frame at `at`.
    pub(crate) fn begins(&self, at: Absolute) -> bool {
        self.of(at)
            .is_some_and(|state| state.load(Ordering::Relaxed) & BEGINS != 0)
    }

    /// Whether what extends from the frame at `at` into the next page is replaced when it is executed.
    pub(crate) fn ends(&self, at: Absolute) -> bool {
        self.of(at)
            .is_some_and(|state| state.load(Ordering::Relaxed) & ENDS != 0)
    }

    /// Whether the frame at `at` may have a part of an instruction of which another page has the rest.
    #[inline]
    pub(crate) fn has_edge(&self, at: Absolute) -> bool {
        self.of(at)
            .is_some_and(|state| state.load(Ordering::Relaxed) & EDGE != 0)
    }

    /// Whether it matters which page is executed behind which, because of what is replaced.
    #[inline]
    pub(crate) fn any_begins(&self) -> bool {
        self.any_begins.load(Ordering::Acquire)
    }

    /// The frame whose code copy is at a real address, if that is in a copy of any.
    pub(crate) fn owner_of_copy(&self, at: Real) -> Option<Absolute> {
        let number = at.0.checked_sub(self.copies.0)? / PAGE;
        let owner = self.owners.get(usize::try_from(number).ok()?)?;
        let page = owner.load(Ordering::Relaxed).checked_sub(1)?;
        Some(Absolute(u64::from(page) * PAGE))
    }

    /// The number of the copy that is taken next, and the page that has it, if any.
    pub(crate) fn next_copy(&self) -> Option<(u16, Option<Absolute>)> {
        let count = self.owners.len().min(MOST_COPIES) as u32;
        if count == 0 {
            return None;
        }
        let number = self.next.load(Ordering::Relaxed) % count;
        let owner = self.owners.get(number as usize)?.load(Ordering::Relaxed);
        let page = |owner: u32| Absolute(u64::from(owner - 1) * PAGE);
        Some((number as u16, (owner != 0).then(|| page(owner))))
    }

    /// Gives the copy that [`Self::next_copy`] has found to the page at `at`.
    pub(crate) fn take_copy(&self, number: u16, at: Absolute) {
        let page = (at.0 / PAGE) as u32 + 1;
        if let Some(owner) = self.owners.get(usize::from(number)) {
            owner.store(page, Ordering::Relaxed);
        }
        self.next.fetch_add(1, Ordering::Relaxed);
    }
}
