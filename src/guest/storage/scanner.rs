//! Which page frames have instructions, and how the sensitive ones among them are caught.
//!
//! A few instructions do not trap, although the architecture makes them privileged or their result must be the guest's
//! and not the hardware's: EPSW, STFLE, TPROT, PCKMO, MVPG and SACF. So no instruction is fetched from a page until
//! something in it is executed for the first time; then the page is scanned. **Guest storage is never changed.** If a
//! page has the bits of a sensitive instruction, instructions are fetched from a copy in the HSA. In the copy an
//! unassigned opcode of the same length replaces what must not be executed ([`sensitive`] decides what that is); it
//! traps, and the firmware finds the true instruction in the original. The instructions of the message-security assist
//! are caught in the same way while [`Assist::caught`](crate::state::assist::Assist::caught) says so.
//!
//! **No operand is ever accessed in a copy.** The shadow has two sides of each of the guest's spaces, one for
//! instructions and one for operands ([`Side`](crate::state::shadow::Side)), and only the side for instructions
//! has copies. So data that look like an instruction are fetched unchanged, whatever they are replaced by in the copy.
//!
//! A place may be covered although it is not known to be an instruction. When control comes to it, it is uncovered,
//! together with all that follows from it ([`uncover`]).
//!
//! A page that is executed is not stored into: the shadow maps it read-only, and a store makes it data again. The state
//! of a page belongs to its absolute frame, so it is the same for every alias.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::page_frames::{COPIED, DATA, OPEN, PageState, TEXT};
use crate::storage::checked::Frame;
use crate::storage::checked_absolute;
use crate::storage::shadow::identity::page_changed;
use arch::address::{Absolute, PAGE, Real, Virtual};
use core::sync::atomic::Ordering;
use insn::{Offsets, sensitive};

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
pub fn make_executable<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    entry: Entry,
) -> PageState {
    let at = at.page();
    let pages = &configuration.page_frames;
    if pages.raw(at) != DATA {
        return pages.state(at);
    }
    let Some(frame) = frame(configuration, at) else {
        return pages.state(at);
    };
    pages.scans.fetch_add(1, Ordering::Relaxed);
    let mut text = [0u8; PAGE as usize];
    hardware.load(frame.origin(), &mut text);
    let (first, carried) = match entry {
        Entry::At(offset) => (Some(offset), 0),
        Entry::Carried(bytes) => (None, bytes),
    };
    let replaced = sensitive::scan(&text, first, carried, configuration.assist.caught());
    let mut state = TEXT;
    if !replaced.is_empty()
        && let Some(number) = copy_of(configuration, hardware, frame)
    {
        state = COPIED + number;
        pages.copied.fetch_add(1, Ordering::Relaxed);
        replace(
            hardware,
            pages.copy(state),
            &text,
            &Offsets::NONE,
            &replaced,
        );
    }
    pages.set(at, state);
    page_changed(configuration, hardware, at);
    pages.state(at)
}

/// Takes a code copy for a page frame and fills it. The page that had it before becomes data.
fn copy_of<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    frame: Frame,
) -> Option<u16> {
    let pages = &configuration.page_frames;
    let at = frame.origin().absolute();
    let (number, robbed) = pages.take_copy(at)?;
    if let Some(other) = robbed.filter(|&other| other != at) {
        make_data(configuration, hardware, other);
    }
    hardware.copy_page(frame, pages.copy(COPIED + number));
    Some(number)
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
        let value = sensitive::replace(sensitive::doubleword(text, offset), which);
        hardware.hsa_store(copy.offset(offset as u64), value);
    }
}

/// Control has come to `at`, where an instruction should not trap. Returns `true` if it trapped because it was covered
/// in the copy. It and all that is known to follow from it are uncovered then.
#[cold]
pub fn uncover<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) -> bool {
    let pages = &configuration.page_frames;
    let _alone = pages.uncovering.lock();
    let PageState::Copied(copy) = pages.state(at) else {
        return false;
    };
    let Some(frame) = frame(configuration, at) else {
        return false;
    };
    let offset = at.byte_index() as usize;
    let caught = configuration.assist.caught();
    let around = hardware.load_u64(frame.at(Virtual(at.0 & !7)));
    let halfword = (around >> (48 - 8 * (offset & 6))) as u16;
    if sensitive::is_caught(halfword, caught) {
        return false;
    }
    let mut text = [0u8; PAGE as usize];
    hardware.load(frame.origin(), &mut text);
    let before = Offsets::by_doublewords(|at| {
        let (original, copied) = (
            sensitive::doubleword(&text, at),
            hardware.hsa_load(copy.offset(at as u64)),
        );
        if original == copied {
            return 0;
        }
        sensitive::differing(original, copied)
    });
    if !before.contains(offset) {
        return false;
    }
    let after = sensitive::scan_again(&text, &before, offset, caught);
    if after.contains(offset) {
        return false;
    }
    replace(hardware, copy, &text, &before, &after);
    pages.uncovered.fetch_add(1, Ordering::Release);
    true
}

/// Tests whether a device has stored into a page since it was copied, and makes the page data if so: a device does not
/// announce its stores. If a device stores into a page that is executed in place, the new instructions are executed at
/// once, but not scanned until a program next stores into the page.
#[cold]
pub fn look_for_device_store<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
) {
    let PageState::Copied(copy) = configuration.page_frames.state(at) else {
        return;
    };
    let Some(frame) = frame(configuration, at) else {
        return;
    };
    let same = (0..)
        .step_by(8)
        .zip(frame.doublewords())
        .all(|(offset, place)| {
            let original = hardware.load_u64(place);
            let copied = hardware.hsa_load(copy.offset(offset));
            // The copy may differ only by what would be replaced there.
            let replaced = sensitive::differing(original, copied);
            sensitive::replace(original, replaced) == copied
        });
    if !same {
        make_data(configuration, hardware, at);
    }
}

/// Tells the scanner that the page at `at` is about to be stored into.
#[inline]
pub fn store_into<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    if configuration.page_frames.raw(at) != DATA {
        make_data(configuration, hardware, at);
    }
}

/// As [`store_into`], when the value to be stored is known: as many of the rightmost bytes of `value` as the boundary
/// of `at` is wide, at least two.
///
/// Control programs change single instructions in pages that are executed. A page without sensitive instructions stays
/// executable if the stored value is not sensitive either.
#[inline]
pub fn store_value_into<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    at: Absolute,
    value: u64,
) {
    match configuration.page_frames.raw(at) {
        DATA => {}
        TEXT if !sensitive::may_be_sensitive(value, configuration.assist.caught()) => {}
        _ => make_data(configuration, hardware, at),
    }
}

/// Opens a page for an instruction in it that stores into it and otherwise could never complete. The caller makes sure
/// that only this instruction is executed, and then [`close`]s the page.
#[cold]
pub fn open<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    make_data(configuration, hardware, at);
    configuration.page_frames.set(at, OPEN);
    page_changed(configuration, hardware, at.page());
}

/// Ends what [`open`] began: the page becomes data.
#[cold]
pub fn close<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    make_data(configuration, hardware, at);
}

/// Makes every page data again. Each is scanned when it is next executed, for what is sensitive by then.
#[cold]
pub fn forget_all<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    for frame in 0..configuration.frames() {
        store_into(configuration, hardware, Absolute(frame * PAGE));
    }
}

/// Makes a page data again: writable, not executable, its copy dropped.
#[cold]
fn make_data<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    let pages = &configuration.page_frames;
    let at = at.page();
    let state = pages.raw(at);
    if let Some(owner) = state
        .checked_sub(COPIED)
        .and_then(|n| pages.owners.get(usize::from(n)))
    {
        let page = (at.0 / PAGE) as u32 + 1;
        let _ = owner.compare_exchange(page, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
    if state == TEXT
        && let Some(frame) = frame(configuration, at)
    {
        hardware.end_of_text(frame);
    }
    pages.set(at, DATA);
    page_changed(configuration, hardware, at);
}

#[cfg(test)]
mod tests;
