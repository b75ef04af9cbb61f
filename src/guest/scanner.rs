//! Which page frames hold instructions, and what the sensitive ones among them became.
//!
//! A few instructions that the architecture makes privileged, or whose result must be the guest's
//! and not the hardware's, do not trap: EPSW, STFLE, TPROT, PCKMO, MVPG and SACF. So a page is mapped
//! no-execute until something in it is executed for the first time; then it is scanned. **Guest
//! storage is never changed:** a page with a sensitive site is executed from a copy in the HSA in
//! which the site holds an unassigned opcode of the same length, so that it traps, and the trap
//! finds the true instruction in the original. The instructions of the message-security assist are
//! caught in the same way while [`super::assist`] says so.
//!
//! What cannot be proved to be an instruction is never replaced. A page with such a candidate is
//! **watched**: no-execute, except on a CPU that [`super::watch`] has set to be interrupted before
//! control can reach the candidate.
//!
//! A page that is executed is not stored into: the shadow maps it read-only, and a store makes it
//! data again. What is known of a page belongs to its absolute frame, so every alias agrees.

use crate::arch::address::{Absolute, PAGE, Real};
use crate::guest::configuration::Configuration;
use crate::guest::hardware::Hardware;
use crate::guest::shadow;
use crate::insn::sensitive::{self, Sensitive, Sites, Stretch};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A page frame whose instructions, if any, are not known: writable, not executable.
const DATA: u16 = 0;
/// A page frame that was scanned and holds no sensitive site: executable, not writable.
const TEXT: u16 = 1;
/// A page frame that is executed and stored into by the same instruction, open for that one step.
const OPEN: u16 = 2;
/// From here on: executed from code copy number `state - COPIED`, not writable.
const COPIED: u16 = 3;
/// Added to [`TEXT`] and [`COPIED`]: there is a candidate that is not proved.
const WATCHED: u16 = 0x8000;

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
pub struct Pages {
    states: &'static [AtomicU16],
    /// The guest page number plus one that each code copy belongs to, or zero.
    owners: &'static [AtomicU32],
    /// The first code copy.
    copies: Real,
    /// The copy that is given out next.
    next: AtomicU32,
    /// Pages scanned so far.
    pub scans: AtomicU64,
    /// Pages that had to be watched when they were scanned.
    pub watches: AtomicU64,
}

impl Pages {
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
            watches: AtomicU64::new(0),
        }
    }

    /// The state of the frame at `at`; what is not in the guest's storage is data.
    #[must_use]
    #[inline]
    pub fn state(&self, at: Absolute) -> PageState {
        match self.raw(at) & !WATCHED {
            DATA => PageState::Data,
            TEXT => PageState::Text,
            OPEN => PageState::Open,
            copied => PageState::Copied(self.copy(copied)),
        }
    }

    /// The code copy of a state that has one.
    const fn copy(&self, state: u16) -> Real {
        let number = (state & !WATCHED) - COPIED;
        self.copies.offset(number as u64 * PAGE)
    }

    /// Whether the frame at `at` is executed under watch only.
    #[must_use]
    #[inline]
    pub fn watched(&self, at: Absolute) -> bool {
        self.raw(at) & WATCHED != 0
    }

    #[inline]
    fn raw(&self, at: Absolute) -> u16 {
        self.states
            .get((at.0 / PAGE) as usize)
            .map_or(DATA, |state| state.load(Ordering::Relaxed))
    }

    fn set(&self, at: Absolute, state: u16) {
        if let Some(slot) = self.states.get((at.0 / PAGE) as usize) {
            slot.store(state, Ordering::Relaxed);
        }
    }

    /// Takes a code copy for the page at `at`; gives its number and the page it was taken from.
    fn take_copy(&self, at: Absolute) -> Option<(u16, Option<Absolute>)> {
        let count = self.owners.len().min((WATCHED - COPIED) as usize) as u32;
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

/// Where the guest is about to execute in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An instruction begins at this offset.
    At(usize),
    /// So many bytes at the beginning of the page belong to an instruction of the page before.
    Carried(usize),
}

/// Makes the page at `at` executable: scans it, and copies and patches it if it must be.
pub fn make_executable<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    entry: Entry,
) -> PageState {
    let at = at.page();
    let pages = &configuration.pages;
    if pages.raw(at) != DATA {
        return pages.state(at);
    }
    pages.scans.fetch_add(1, Ordering::Relaxed);
    let mut text = [0u8; PAGE as usize];
    hardware.load(at, &mut text);
    let caught = configuration.assist.caught();
    let sites = match &entry {
        Entry::At(offset) => sensitive::scan(&text, core::slice::from_ref(offset), 0, caught),
        Entry::Carried(bytes) => sensitive::scan(&text, &[], *bytes, caught),
    };
    let mut state = TEXT;
    if sites.iter().any(|site| site.proved)
        && let Some(number) = copy_of(configuration, hardware, at)
    {
        state = COPIED + number;
        replace_proved(configuration, hardware, state, &sites);
    }
    if sites.stretches(|_| false).next().is_some() {
        state |= WATCHED;
        pages.watches.fetch_add(1, Ordering::Relaxed);
    }
    pages.set(at, state);
    shadow::page_changed(configuration, hardware, at);
    pages.state(at)
}

/// Takes a code copy for the page at `at` and fills it; the page that had it is data again.
fn copy_of<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
) -> Option<u16> {
    let pages = &configuration.pages;
    let (number, robbed) = pages.take_copy(at)?;
    if let Some(other) = robbed.filter(|&other| other != at) {
        make_data(configuration, hardware, other);
    }
    hardware.copy_page(at, pages.copy(COPIED + number));
    Some(number)
}

/// Replaces the proved sites in the code copy of `state`.
fn replace_proved<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    state: u16,
    sites: &Sites<'_>,
) {
    let copy = configuration.pages.copy(state);
    for site in sites.iter().filter(|site| site.proved) {
        patch(hardware, copy, site.offset, site.instruction.replacement());
    }
}

/// The stretches of a watched page that are left, in ascending order.
pub type Stretches = heapless::Vec<Stretch, MOST_STRETCHES>;

/// Stretches that are told apart; more of them are taken together.
pub const MOST_STRETCHES: usize = 64;

/// Scans the watched page at `at` once more, now that the guest is known to begin instructions at
/// the offsets `entries`, too, and gives what still may not be entered unseen. What has become
/// proved is replaced, and the page is no longer watched if nothing is left.
pub fn examine<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    entries: &[usize],
) -> Stretches {
    let pages = &configuration.pages;
    let mut stretches = Stretches::new();
    let old = pages.raw(at);
    if old & WATCHED == 0 {
        return stretches;
    }
    let mut text = [0u8; PAGE as usize];
    hardware.load(at, &mut text);
    let sites = sensitive::scan(&text, entries, 0, configuration.assist.caught());
    // What another entry proved stays proved.
    let copied = |state: u16| state & !WATCHED >= COPIED;
    let mut settled = [false; PAGE as usize / 2];
    for site in sites.iter().filter(|_| copied(old)) {
        settled[site.offset / 2] = is_patched(hardware, pages.copy(old), site.offset, &text);
    }
    let more = sites
        .iter()
        .any(|site| site.proved && !settled[site.offset / 2]);
    let mut state = old;
    if more {
        if !copied(old)
            && let Some(number) = copy_of(configuration, hardware, at)
        {
            state = WATCHED | (COPIED + number);
        }
        if copied(state) {
            replace_proved(configuration, hardware, state, &sites);
        }
    }
    for stretch in sites.stretches(|offset| settled[offset / 2]) {
        if stretches.push(stretch).is_err()
            && let Some(last) = stretches.last_mut()
        {
            last.end = stretch.end;
        }
    }
    if stretches.is_empty() {
        state &= !WATCHED;
    }
    if state != old {
        pages.set(at, state);
        shadow::page_changed(configuration, hardware, at);
    }
    stretches
}

/// Whether the halfword at `offset` of a code copy is not that of the page.
fn is_patched<H: Hardware>(hardware: &H, copy: Real, offset: usize, text: &[u8]) -> bool {
    let doubleword = hardware.hsa_load(copy.offset((offset as u64) & !7));
    let halfword = (doubleword >> (48 - 8 * (offset as u32 & 6))) as u16;
    halfword.to_be_bytes() != text[offset..offset + 2]
}

/// Puts the halfword `replacement` at `offset` of a code copy.
fn patch<H: Hardware>(hardware: &mut H, copy: Real, offset: usize, replacement: u16) {
    let doubleword = copy.offset((offset as u64) & !7);
    let shift = 48 - 8 * (offset as u32 & 6);
    let old = hardware.hsa_load(doubleword);
    let new = (old & !(0xFFFF << shift)) | (u64::from(replacement) << shift);
    hardware.hsa_store(doubleword, new);
}

/// Looks whether a device has stored into a page since it was copied, and makes it data then: a device asks
/// nobody. What it stores into a page that is executed where it stands needs no such look to be executed,
/// but is not scanned before the page is next stored into by a program.
#[cold]
pub fn look_again<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    let PageState::Copied(copy) = configuration.pages.state(at) else {
        return;
    };
    let at = at.page();
    let same = (0..PAGE).step_by(8).all(|offset| {
        let original = hardware.load_u64(at.offset(offset));
        let copied = hardware.hsa_load(copy.offset(offset));
        original == copied
            || original
                .to_be_bytes()
                .as_chunks::<2>()
                .0
                .iter()
                .zip(copied.to_be_bytes().as_chunks::<2>().0)
                .all(|(original, copied)| {
                    let site = Sensitive::from_halfword(u16::from_be_bytes(*original));
                    let replacement = site.map(|site| site.replacement().to_be_bytes());
                    original == copied || replacement == Some(*copied)
                })
    });
    if !same {
        make_data(configuration, hardware, at);
    }
}

/// Tells the scanner that the page that holds `at` is about to be stored into.
#[inline]
pub fn store_into<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    if configuration.pages.raw(at) != DATA {
        make_data(configuration, hardware, at);
    }
}

/// As [`store_into`], when it is known what will be stored: as many of the rightmost bytes of `value` as
/// the boundary is wide on which `at` is, at least two.
///
/// Control programs change single instructions in pages that are executed. A page that holds nothing sensitive
/// goes on being executed if what is stored is not sensitive either.
#[inline]
pub fn store_value_into<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    value: u64,
) {
    match configuration.pages.raw(at) {
        DATA => {}
        TEXT if !sensitive::may_be_sensitive(value, configuration.assist.caught()) => {}
        _ => make_data(configuration, hardware, at),
    }
}

/// Opens a page for an instruction that stands in it and stores into it: it could never complete
/// otherwise. The caller sees to it that just this instruction is executed, and then [`close`]s it.
#[cold]
pub fn open<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    make_data(configuration, hardware, at);
    configuration.pages.set(at, OPEN);
    shadow::page_changed(configuration, hardware, at.page());
}

/// Ends what [`open`] began: the page is data.
#[cold]
pub fn close<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    make_data(configuration, hardware, at);
}

/// Makes every page data again: each is scanned anew when it is next executed, for what is sensitive
/// by then.
#[cold]
pub fn forget_all<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    for frame in 0..configuration.frames() {
        store_into(configuration, hardware, Absolute(frame * PAGE));
    }
}

/// Makes a page data again: writable, not executable, its copy dropped.
#[cold]
fn make_data<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    let pages = &configuration.pages;
    let at = at.page();
    let state = pages.raw(at);
    if let Some(owner) = (state & !WATCHED)
        .checked_sub(COPIED)
        .and_then(|n| pages.owners.get(usize::from(n)))
    {
        let page = (at.0 / PAGE) as u32 + 1;
        let _ = owner.compare_exchange(page, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    pages.set(at, DATA);
    shadow::forget_watches(configuration, at);
    configuration.watched.forget(at);
    shadow::page_changed(configuration, hardware, at);
}
