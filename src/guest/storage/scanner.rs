//! Which page frames have instructions, and how the sensitive ones among them are caught.
//!
//! A few instructions do not trap, although the architecture makes them privileged or their result must be the guest's
//! and not the hardware's: EPSW, STFLE, TPROT, PCKMO, MVPG and SACF. So no instruction is fetched from a page until
//! something in it is executed for the first time; then the page is scanned. **Guest storage is never changed.** If a
//! page has the bits of a sensitive instruction, instructions are fetched from a copy in the HSA. In the copy an
//! unassigned opcode of the same length replaces what must not be executed ([`sensitive`] decides what that is); it
//! traps, and the firmware finds the true instruction in the original. The instructions of the message-security assist
//! are caught in the same way while [`Configuration::caught`] says so.
//!
//! **No operand is ever accessed in a copy.** The shadow has two sides of each of the guest's spaces, one for
//! instructions and one for operands ([`Side`](crate::state::shadow::Side)), and only the side for instructions
//! has copies. So data that look like an instruction are fetched unchanged, whatever they are replaced by in the copy.
//!
//! A place may be covered although it is not known to be an instruction. When control comes to it, it is uncovered,
//! together with all that follows from it ([`uncover`]). On a strict machine nothing is ever uncovered: what is
//! replaced is executed by the firmware, or by the hardware alone ([`insn::strict`]).
//!
//! **An instruction can extend from one page into the next one**, and only the translation of the moment says which page that
//! is. It must not find there what is replaced. So no page whose copy begins with a replacement is mapped behind a page from
//! which an instruction could extend, unless what extends is replaced in the copy of that page, too (`replace_ends`): then
//! it traps, and is executed alone. The fill of the shadow sees to that (`shadow::adjoining`).
//!
//! A page that is executed is not stored into: the shadow maps it read-only, and a store makes it data again. The state
//! of a page belongs to its absolute frame, so it is the same for every alias.
//!
//! Where CPUs execute at the same time, a page is scanned only when every CPU knows that it must not store into it
//! ([`PageState::Still`]), and a copy is filled only when none can execute from it any more.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::page_frames::{
    BEGINS, BESIDE, COPIED, DATA, EDGE, ENDS, OF_EXECUTES, PageState, STILL, TEXT, TRUSTED,
    number_of_copy,
};
use crate::storage::checked::{Frame, Piece};
use crate::storage::checked_absolute;
use crate::storage::shadow::identity::page_changed;
use crate::storage::shadow::{await_others, wait_for_others};
use arch::address::{Absolute, PAGE, Real, Virtual};
use core::sync::atomic::Ordering;
use insn::sensitive::Scan;
use insn::{Offsets, executed, sensitive, split, strict};

/// The page frame that holds an address: only storage has frames with a state.
fn frame(configuration: &Configuration, at: Absolute) -> Option<Frame> {
    let page = checked_absolute(configuration, at.page(), PAGE).ok()?;
    Some(page.frame())
}

/// Where the guest is about to execute in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An instruction begins at this offset.
    At(usize),
    /// This many bytes at the beginning of the page belong to an instruction that begins on the preceding page.
    Carried(usize),
}

/// Makes the page at `at` executable: scans it, and copies it if it must be.
///
/// Where CPUs execute at the same time, another CPU may be scanning a page: then nothing is done, and the guest tries
/// again.
pub fn make_executable<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    entry: Entry,
) -> PageState {
    let at = at.page();
    let pages = &configuration.page_frames;
    if let Some(frame) = frame(configuration, at) {
        if configuration.is_concurrent() {
            make_executable_beside_others(configuration, hardware, frame, entry);
        } else {
            let _alone = pages.changing.lock();
            if pages.raw(at) == DATA {
                let next = |hardware: &mut H| free_next_copy(configuration, hardware);
                let state = prepare(configuration, hardware, frame, entry, next);
                set_state(configuration, hardware, at, state);
            }
        }
    }
    pages.state(at)
}

/// The same while other CPUs may be in the guest. They may store into the page, and execute from the copy that it gets,
/// until they have passed the requests that say otherwise.
#[cold]
fn make_executable_beside_others<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    frame: Frame,
    entry: Entry,
) {
    let pages = &configuration.page_frames;
    let at = frame.origin().absolute();
    let Some(_scans) = pages.scanning.try_lock() else {
        return;
    };
    let next = {
        let _alone = pages.changing.lock();
        if pages.raw(at) != DATA {
            return;
        }
        let next = free_next_copy(configuration, hardware);
        let ends = if pages.ends(at) { ENDS } else { 0 };
        set_state(configuration, hardware, at, STILL | ends);
        next
    };
    wait_for_others(configuration, hardware, configuration.shadow.posted());
    let state = prepare(configuration, hardware, frame, entry, |_| next);
    let _alone = pages.changing.lock();
    // If something was stored into the page meanwhile, it is data again, and the copy stays free.
    if pages.raw(at) == STILL {
        set_state(configuration, hardware, at, state);
    }
}

/// The number of the code copy that is taken next. The page that had it becomes data.
fn free_next_copy<H: Hardware>(configuration: &Configuration, hardware: &mut H) -> Option<u16> {
    let (number, owner) = configuration.page_frames.next_copy()?;
    if let Some(owner) = owner {
        let _ = drop_text(configuration, hardware, owner);
        set_state(configuration, hardware, owner, DATA);
    }
    Some(number)
}

/// Scans a page, and fills the code copy that `next` gives if the page needs one. Returns the state that the page can
/// have now.
fn prepare<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    frame: Frame,
    entry: Entry,
    next: impl FnOnce(&mut H) -> Option<u16>,
) -> u16 {
    let pages = &configuration.page_frames;
    pages.scans.fetch_add(1, Ordering::Relaxed);
    let mut text = [0u8; PAGE as usize];
    hardware.load(frame.origin(), &mut text);
    let (first, carried) = match entry {
        Entry::At(offset) => (Some(offset), 0),
        Entry::Carried(bytes) => (None, bytes),
    };
    let caught = configuration.caught();
    let at = frame.origin().absolute();
    let ends = pages.ends(at);
    let Scan {
        mut replaced,
        trusts,
        only_executes,
    } = if configuration.strict {
        strict::scan(&text, caught, ends)
    } else {
        sensitive::scan(&text, first, carried, caught)
    };
    if ends && !configuration.strict {
        replaced.insert_all(&strict::ends(&text));
    }
    let edges = [0, PAGE as usize - 8].map(|at| sensitive::doubleword(&text, at));
    let edge = if caught.has_split() && split::is_edge(edges[0], edges[1]) {
        EDGE
    } else {
        0
    };
    let in_place = edge | if trusts { TRUSTED } else { TEXT };
    // What a device may store into is not executed in place.
    let is_stored_into = pages.is_stored_into_by_device(at);
    if replaced.is_empty() && !is_stored_into {
        return in_place;
    }
    let Some(number) = next(hardware) else {
        return in_place;
    };
    pages.copied.fetch_add(1, Ordering::Relaxed);
    let copy = pages.copy(number);
    hardware.copy_page(frame, copy);
    replace(hardware, copy, &text, &Offsets::NONE, &replaced);
    let mut state = (COPIED + number) | edge;
    // A program that executes the page itself would execute the end of it, too.
    let of_executes = only_executes && !is_stored_into && !(ends && caught.has_split());
    for (holds, beside) in [
        (of_executes, OF_EXECUTES),
        (strict::begins_replaced(&replaced), BEGINS),
        (ends, ENDS),
    ] {
        if holds {
            state |= beside;
        }
    }
    state
}

/// Whether the page itself is executed in this state, at least by some programs.
const fn is_in_place(state: u16) -> bool {
    matches!(state & !BESIDE, TEXT | TRUSTED) || state & OF_EXECUTES != 0
}

/// Sets the state of a page, and updates what depends on it. The caller holds the lock of the states.
fn set_state<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    state: u16,
) {
    let pages = &configuration.page_frames;
    if let Some(number) = number_of_copy(state) {
        pages.take_copy(number, at);
    }
    pages.set(at, state);
    page_changed(configuration, hardware, at);
    if is_in_place(state) && !pages.owners.is_empty() && pages.is_stored_into_by_device(at) {
        // A device has begun to store into it since it was scanned.
        let _ = drop_text(configuration, hardware, at);
        pages.set(at, DATA);
        page_changed(configuration, hardware, at);
    }
}

/// Changes a code copy, in which the halfwords `before` are replaced, to one in which `replaced` are. Later halfwords
/// are changed first, so that another CPU which finds the beginning of an instruction finds the rest of it, too.
fn replace<H: Hardware>(
    hardware: &mut H,
    copy: Real,
    text: &[u8; PAGE as usize],
    before: &Offsets,
    replaced: &Offsets,
) {
    for (offset, which) in replaced.changes(before) {
        let original = sensitive::doubleword(text, offset);
        let value = match which {
            0 => original,
            _ => sensitive::replace(original, which),
        };
        hardware.hsa_store(copy.offset(offset as u64), value);
    }
}

/// The copy of the page that holds an address, if it has one, and its frame.
#[inline]
fn copied(configuration: &Configuration, at: Absolute) -> Option<(Real, Frame)> {
    match configuration.page_frames.state(at) {
        PageState::Copied(copy) => Some((copy, frame(configuration, at)?)),
        _ => None,
    }
}

/// Whether the halfword at `at` differs in the copy of its page.
fn differs<H: Hardware>(hardware: &H, frame: Frame, copy: Real, at: Absolute) -> bool {
    let original = hardware.load_u64(frame.at(Virtual(at.0 & !7)));
    let copied = hardware.hsa_load(copy.offset(at.byte_index() & !7));
    sensitive::differing(original, copied) >> (at.byte_index() >> 1 & 3) & 1 != 0
}

/// What stands in the place of a halfword when it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// The halfword itself.
    Itself,
    /// A replacement, because an instruction that begins there is sensitive.
    OfSensitive,
    /// A replacement, although an instruction that begins there is not: it is covered.
    Covered,
}

/// What stands in the place of the halfword at `at` at the moment.
#[must_use]
pub fn in_place<H: Hardware>(configuration: &Configuration, hardware: &H, at: Absolute) -> InPlace {
    let Some((copy, frame)) = copied(configuration, at) else {
        return InPlace::Itself;
    };
    if !differs(hardware, frame, copy, at) {
        InPlace::Itself
    } else if is_sensitive(configuration, hardware, frame, at) {
        InPlace::OfSensitive
    } else {
        InPlace::Covered
    }
}

/// Whether the instruction at `at`, if there is one, is sensitive at the moment.
fn is_sensitive<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    frame: Frame,
    at: Absolute,
) -> bool {
    let caught = configuration.caught();
    sensitive::is_caught_in(at.byte_index() as usize, caught, |offset| {
        let at = offset as u64;
        let doubleword = hardware.load_u64(frame.at(Virtual(at & !7)));
        (doubleword >> (48 - 8 * (at & 6))) as u16
    })
}

/// Whether an instruction can extend from a page into the next one.
pub(super) fn extends<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    at: Absolute,
) -> bool {
    let Some(frame) = frame(configuration, at) else {
        return false;
    };
    strict::extends(hardware.load_u64(frame.at(Virtual(PAGE - 8))))
}

/// Whether what is replaced at an offset extends into the next page, where it might find something replaced.
fn stays_replaced<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    frame: Frame,
    offset: usize,
) -> bool {
    if !configuration.page_frames.ends(frame.origin().absolute()) {
        return false;
    }
    let mut text = [0u8; PAGE as usize];
    hardware.load(frame.origin(), &mut text);
    strict::ends(&text).contains(offset)
}

/// A page whose copy begins with a replacement is about to be executed behind the page at `at`, from which an instruction can
/// extend. That is replaced, until the page changes: it is scanned again when it is next executed.
#[cold]
pub(super) fn replace_ends<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
) {
    make_data(configuration, hardware, at, ENDS);
}

/// The halfwords of a page that are replaced in its copy.
fn replaced_in<H: Hardware>(hardware: &H, copy: Real, text: &[u8; PAGE as usize]) -> Offsets {
    Offsets::by_doublewords(|at| {
        let (original, copied) = (
            sensitive::doubleword(text, at),
            hardware.hsa_load(copy.offset(at as u64)),
        );
        if original == copied {
            return 0;
        }
        sensitive::differing(original, copied)
    })
}

/// Executes the instruction at `at`, of so many bytes, as it is from now on, until its page changes. Returns `false` if it
/// was not replaced.
#[cold]
pub fn trust<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    length: u64,
) -> bool {
    let pages = &configuration.page_frames;
    let _alone = pages.changing.lock();
    let Some((copy, frame)) = copied(configuration, at) else {
        return false;
    };
    if !differs(hardware, frame, copy, at) {
        return false;
    }
    let offset = at.byte_index();
    if stays_replaced(configuration, hardware, frame, offset as usize) {
        return false;
    }
    // What follows its first halfword may be covered. What is on the next page never is.
    let end = (offset + length).min(PAGE);
    for offset in (offset / 2..end / 2).rev().map(|halfword| 2 * halfword) {
        let place = copy.offset(offset & !7);
        let original = hardware.load_u64(frame.at(Virtual(offset & !7)));
        let replaced = sensitive::differing(original, hardware.hsa_load(place));
        let left = replaced & !(1 << (offset >> 1 & 3));
        hardware.hsa_store(place, sensitive::replace(original, left));
    }
    pages.uncovered.fetch_add(1, Ordering::Release);
    true
}

/// What covers a place to which control has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Nothing: what trapped is what stands there.
    Absent,
    /// Nothing any more.
    Removed,
    /// A replacement that stays, because the machine is strict, because no instruction is known to begin there, or because what
    /// begins there extends into the next page.
    Kept,
}

/// Control has come to `at`, where an instruction should not trap. If it trapped because it was covered in the copy, it and
/// all that is known to follow from it are uncovered. `is_assigned` says whether it is an instruction, by all of its text,
/// which may extend into the next page.
#[inline]
pub fn uncover<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    is_assigned: bool,
) -> Cover {
    let pages = &configuration.page_frames;
    let _alone = pages.changing.lock();
    match pages.state(at) {
        PageState::Copied(copy) => uncover_in(configuration, hardware, copy, at, is_assigned),
        _ => Cover::Absent,
    }
}

/// The same in a page that has a copy. The caller holds the lock of the states.
#[cold]
#[inline(never)]
fn uncover_in<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    copy: Real,
    at: Absolute,
    is_assigned: bool,
) -> Cover {
    let pages = &configuration.page_frames;
    let Some(frame) = frame(configuration, at) else {
        return Cover::Absent;
    };
    if !differs(hardware, frame, copy, at) || is_sensitive(configuration, hardware, frame, at) {
        return Cover::Absent;
    }
    if configuration.strict {
        return Cover::Kept;
    }
    let offset = at.byte_index() as usize;
    let caught = configuration.caught();
    let mut text = [0u8; PAGE as usize];
    hardware.load(frame.origin(), &mut text);
    let before = replaced_in(hardware, copy, &text);
    if !before.contains(offset) {
        return Cover::Absent;
    }
    let mut after = sensitive::scan_again(&text, &before, (offset, is_assigned), caught);
    if pages.ends(at) {
        after.insert_all(&strict::ends(&text));
    }
    if after.contains(offset) {
        return Cover::Kept;
    }
    replace(hardware, copy, &text, &before, &after);
    pages.uncovered.fetch_add(1, Ordering::Release);
    Cover::Removed
}

/// Stores the doubleword with the instruction at `at` into the copy of its page once more, as it is there. Returns `false` if
/// the page has no copy, or the instruction is replaced in it.
#[cold]
pub fn renew<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) -> bool {
    let _alone = configuration.page_frames.changing.lock();
    let Some((copy, frame)) = copied(configuration, at) else {
        return false;
    };
    if differs(hardware, frame, copy, at) {
        return false;
    }
    let place = copy.offset(at.byte_index() & !7);
    let value = hardware.hsa_load(place);
    hardware.hsa_store(place, value);
    true
}

/// Tests whether a device has stored into a page since it was copied, and makes the page data if so: a device does not
/// announce its stores before it has finished.
#[cold]
pub fn look_for_device_store<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
) {
    let pages = &configuration.page_frames;
    if !matches!(pages.state(at), PageState::Copied(_)) {
        return;
    }
    let same = {
        // The copy must not become that of another page meanwhile.
        let _alone = pages.changing.lock();
        let Some((copy, frame)) = copied(configuration, at) else {
            return;
        };
        no_copy_of(hardware, frame, copy).is_none()
    };
    if !same {
        make_data(configuration, hardware, at, 0);
    }
}

/// The first doubleword of a code copy that differs from its page by anything but what would be replaced there.
fn no_copy_of<H: Hardware>(hardware: &H, frame: Frame, copy: Real) -> Option<Real> {
    let places = (0..).step_by(8).map(|offset| copy.offset(offset));
    let differs = |&(at, place): &(Real, _)| {
        let (original, copied) = (hardware.load_u64(place), hardware.hsa_load(at));
        let replaced = sensitive::differing(original, copied);
        sensitive::replace(original, replaced) != copied
    };
    let found = places.zip(frame.doublewords()).find(differs);
    found.map(|(at, _)| at)
}

/// A doubleword of a code copy that is in use, in which it is not one of its page. What a device may be changing at the moment
/// is left out, and so is a page whose state is changing.
#[must_use]
pub fn changed_copy<H: Hardware>(configuration: &Configuration, hardware: &H) -> Option<Real> {
    let pages = &configuration.page_frames;
    pages.owners.iter().find_map(|owner| {
        let _alone = pages.changing.try_lock()?;
        let owner = owner.load(Ordering::Relaxed).checked_sub(1)?;
        let at = Absolute(u64::from(owner) * PAGE);
        let (copy, frame) = copied(configuration, at)?;
        if pages.is_stored_into_by_device(at) {
            return None;
        }
        no_copy_of(hardware, frame, copy)
    })
}

/// Tells the scanner that the page at `at` is about to be stored into.
#[inline]
pub fn store_into<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    if configuration.page_frames.raw(at) != DATA {
        make_data(configuration, hardware, at, 0);
    }
}

/// A device may store into a piece of storage at any time from now on. The pages are not executed in place until
/// [`device_has_stored`].
pub fn device_stores<H: Hardware>(configuration: &Configuration, hardware: &mut H, piece: Piece) {
    for first in piece.frames() {
        let at = first.absolute();
        configuration.page_frames.device_stores(at);
        store_into(configuration, hardware, at);
    }
}

/// A device has stored into a piece of storage: what was copied of it has changed.
pub fn device_has_stored<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    piece: Piece,
) {
    for first in piece.frames() {
        let at = first.absolute();
        configuration.page_frames.device_has_stored(at);
        store_into(configuration, hardware, at);
    }
}

/// A device may store into a piece of storage at any time from now on, and nobody knows when it has: the pages are
/// never executed in place again.
pub fn device_stores_for_ever<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    piece: Piece,
) {
    for first in piece.frames() {
        let at = first.absolute();
        configuration.page_frames.device_stores_for_ever(at);
        store_into(configuration, hardware, at);
    }
}

/// As [`store_into`], when the value to be stored is known, and its width: so many of its rightmost bytes, four or eight, at an
/// address that is a multiple of it.
///
/// Control programs change single instructions in pages that are executed. A page without sensitive instructions stays
/// executable if the stored value is not sensitive either, and there is no EXECUTE whose target it could be.
#[inline]
pub fn store_value_into<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    (value, width): (u64, u64),
) {
    let caught = configuration.caught();
    match configuration.page_frames.raw(at) {
        DATA => {}
        // An instruction may extend into the next page now, or from the one before.
        _ if changes_end(configuration, at) => {
            make_data(configuration, hardware, at, 0);
        }
        TEXT if !sensitive::may_be_sensitive(value, caught) => configuration.page_frames.alter(at),
        TEXT if caught.has_split() && is_no_split(configuration, hardware, at, (value, width)) => {
            configuration.page_frames.alter(at);
        }
        state
            if (state == TRUSTED || state & OF_EXECUTES != 0)
                && store_beside_executes(configuration, hardware, at, (value, width)) =>
        {
            configuration.page_frames.alter(at);
        }
        _ => make_data(configuration, hardware, at, 0),
    }
}

/// Whether it matters that a store at `at` may change which instructions extend into the next page, or the rest of one that
/// extends into this page.
#[inline]
pub(super) fn changes_end(configuration: &Configuration, at: Absolute) -> bool {
    // The last doubleword of a page or the first one.
    at.offset(8).byte_index() < 16
        && (configuration.caught().has_split()
            || at.byte_index() >= 8 && configuration.page_frames.any_begins())
}

/// The doubleword of the frame that holds `at`, before and after a store of a value of this width there.
fn stored<H: Hardware>(
    hardware: &H,
    frame: Frame,
    at: Absolute,
    (value, width): (u64, u64),
) -> [u64; 2] {
    let before = hardware.load_u64(frame.at(Virtual(at.0 & !7)));
    let shift = 8 * (8 - width - (at.0 & 7));
    let mask = u64::MAX >> (64 - 8 * width) << shift;
    [before, before & !mask | value << shift & mask]
}

/// Whether a value is suspect only because it could be a part of an instruction of [`split`], and is none where it is stored.
#[cold]
#[inline(never)]
fn is_no_split<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    at: Absolute,
    value: (u64, u64),
) -> bool {
    let others = configuration.caught().without_split();
    !sensitive::may_be_sensitive(value.0, others)
        && !makes_split(configuration, hardware, at, value)
}

/// Whether an instruction of [`split`], if any are caught, is where a value is stored, then. The store is not in the first or the
/// last doubleword of its page.
#[cold]
#[inline(never)]
fn makes_split<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    at: Absolute,
    value: (u64, u64),
) -> bool {
    if !configuration.caught().has_split() {
        return false;
    }
    let Some(frame) = frame(configuration, at) else {
        return false;
    };
    let [_, after] = stored(hardware, frame, at, value);
    let [before, behind] =
        [at.0.wrapping_sub(8), at.0 + 8].map(|at| hardware.load_u64(frame.at(Virtual(at & !7))));
    split::is_any_in(before, after, behind)
}

/// Whether a page without sensitive instructions, and without an EXECUTE, stays one when a value is stored into it.
#[inline(never)]
pub fn leaves_text(configuration: &Configuration, value: u64) -> bool {
    !sensitive::may_be_sensitive(value, configuration.caught())
}

/// Stores a value into the copy of a page, if it has one, as [`store_value_into`] does for a page in which no instruction
/// but EXECUTE can be sensitive. Returns `false` if a changed halfword may be sensitive, may become it as the target of an
/// EXECUTE, or may be the distance to one.
#[cold]
fn store_beside_executes<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    value: (u64, u64),
) -> bool {
    let Some(frame) = frame(configuration, at) else {
        return false;
    };
    // The copy must not become that of another page meanwhile.
    let _alone = configuration.page_frames.changing.lock();
    let state = configuration.page_frames.raw(at);
    if state != TRUSTED && state & OF_EXECUTES == 0 || configuration.page_frames.ends(at) {
        return false;
    }
    let doubleword = |at: Absolute, hardware: &H| hardware.load_u64(frame.at(Virtual(at.0 & !7)));
    let [before, after] = stored(hardware, frame, at, value);
    let changed = sensitive::differing(before, after);
    // With the two halfwords before the doubleword.
    let preceding = match at.byte_index() {
        0..8 => 0,
        _ => doubleword(Absolute(at.0 - 8), hardware),
    };
    let text = u128::from(preceding) << 64 | u128::from(after);
    let is_harmless = (0..4)
        .filter(|halfword| changed >> halfword & 1 != 0)
        .all(|halfword| {
            let [new, one, two] =
                [0, 1, 2].map(|back| (text >> (48 - 16 * halfword + 16 * back)) as u16);
            !executed::may_have_a_part(new)
                && !executed::is_execute(new)
                && ![one, two].into_iter().any(executed::modifies)
        })
        && !makes_split(configuration, hardware, at, value);
    if is_harmless && let PageState::Copied(copy) = configuration.page_frames.state(at) {
        let place = copy.offset(at.byte_index() & !7);
        let replaced = sensitive::differing(before, hardware.hsa_load(place));
        hardware.hsa_store(place, sensitive::replace(after, replaced));
    }
    is_harmless
}

/// Makes every page data again. Each is scanned when it is next executed, for what is sensitive by then.
#[cold]
pub fn forget_all<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    for page in configuration.storage.pages() {
        store_into(configuration, hardware, page);
    }
}

/// Makes a page data again: writable, not executable, its copy dropped. The guest of this CPU does not continue while
/// another one may execute what the page, or its copy, had before. `beside` is what is known of it all the same.
#[cold]
fn make_data<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    beside: u16,
) {
    let at = at.page();
    let _alone = configuration.page_frames.changing.lock();
    let before = drop_text(configuration, hardware, at);
    set_state(configuration, hardware, at, DATA | beside);
    if before != DATA {
        await_others(configuration, hardware);
    }
}

/// Drops what a page has as text: its copy, or what the hardware keeps of it. Returns its state.
fn drop_text<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) -> u16 {
    let pages = &configuration.page_frames;
    let state = pages.raw(at);
    if let Some(owner) = number_of_copy(state).and_then(|n| pages.owners.get(usize::from(n))) {
        let page = (at.0 / PAGE) as u32 + 1;
        let _ = owner.compare_exchange(page, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    if is_in_place(state)
        && let Some(frame) = frame(configuration, at)
    {
        hardware.end_of_text(frame);
    }
    state
}

#[cfg(test)]
mod tests;
