//! The spaces from which a CPU fetches instructions while it counts them.
//!
//! Operands are accessed as ever. For instructions the hardware has tables of the machine's own, in which each page is a copy
//! of what the guest would fetch otherwise: of the page frame, or of its code copy. In that copy the machine replaces branches
//! ([`recording::counts`](crate::recording::counts)). Everything else is where it would be, and does what it would do: so
//! what traps in a run without counting traps here, in the same way.
//!
//! A page is entered only if the shadow has it. Whatever the shadow does not have is missed by the hardware here, too. When the
//! shadow may have dropped something, all tables are forgotten.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::copies::{
    COPIES, CopiedPage, CopiedSpace, Copies, HALFWORDS, PAGES, Source, TABLES, Then,
    UNCOPIED_SPACE, WAYS,
};
use crate::state::page_frames::PageState;
use crate::state::shadow::{MIX, TABLE};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::protection::{find_page_table, page_table};
use crate::storage::{self, checked_absolute};
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::control::asce;
use arch::interruption::ProgramInterruption as Exception;
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_FRAME, PTE_INVALID, PTE_PROTECTION, RTE_INVALID, STE_INVALID,
};
use core::sync::atomic::Ordering;

/// Bytes of a page table.
const PAGE_TABLE: u64 = 256 * 8;

/// Forgets everything that may not be true any more.
pub(crate) fn catch_up<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    copies: &mut Copies,
) {
    let now = Then {
        changes: changes(configuration),
        seen: cpu.shadow.seen,
        drops: cpu.shadow.dropped(),
    };
    if copies.then != now {
        copies.then = now;
        forget(copies);
    }
    let [last, others] =
        (configuration.page_frames.altered.each_ref()).map(|it| it.load(Ordering::Relaxed));
    if copies.alterations != others {
        copies.alterations = others;
        copies.change();
        let frame = Absolute(last);
        copies.altered = [hardware.real_of(frame); 2];
        if let PageState::Copied(copy) = configuration.page_frames.state(frame) {
            copies.altered[1] = copy;
        }
    }
}

/// Whether the hardware still translates as it did when this page was found, and its text is as it was then if
/// [`Copies::text`] is.
pub(crate) fn is_as_found<H: Hardware>(
    hardware: &H,
    copies: &Copies,
    place: Real,
    entry: u64,
) -> bool {
    hardware.hsa_load(place) == entry && !copies.altered.contains(&Real(entry & PTE_FRAME))
}

/// Empties the TLB if it may have what was forgotten.
pub(crate) fn settle<H: Hardware>(hardware: &mut H, copies: &mut Copies) {
    if core::mem::take(&mut copies.purges) {
        hardware.purge_tlb();
    }
}

/// Whether a page is mapped.
pub(crate) fn is_mapped<H: Hardware>(hardware: &H, copies: &Copies, of: u64, at: Virtual) -> bool {
    let own = copies.spaces.iter().find(|space| space.of == of);
    own.is_some_and(|space| entry(hardware, space.own, at).is_some())
}

/// Forgets all tables.
fn forget(copies: &mut Copies) {
    copies.change();
    copies.edits.clear();
    if copies.tables_used != 0 {
        copies.spaces.clear();
        copies.pages = [None; PAGES];
        copies.uncopied.clear();
        copies.tables_used = 0;
        copies.purges = true;
    }
}

/// The address-space-control element for the instructions of a space that the hardware would translate by `of` otherwise.
pub(crate) fn space<H: Hardware>(hardware: &mut H, copies: &mut Copies, of: u64) -> u64 {
    if let Some(space) = copies.spaces.iter().find(|space| space.of == of) {
        return space.own;
    }
    if copies.spaces.is_full() {
        forget(copies);
    }
    let level = (of & asce::DESIGNATION_TYPE) >> 2;
    let table = loop {
        match take(hardware, copies, TABLE, upper(level)) {
            Some(table) => break table,
            None => forget(copies),
        }
    };
    let kept = of & (asce::DESIGNATION_TYPE | asce::PRIVATE_SPACE);
    let own = table.0 | kept | asce::TABLE_LENGTH;
    // There is room.
    let _ = copies.spaces.push(CopiedSpace { of, own });
    own
}

/// The invalid entry of a region or segment table of this level.
const fn upper(level: u64) -> u64 {
    if level == 0 {
        STE_INVALID
    } else {
        RTE_INVALID | level << 2
    }
}

/// Takes a table that is filled with this entry.
fn take<H: Hardware>(
    hardware: &mut H,
    copies: &mut Copies,
    length: u64,
    entry: u64,
) -> Option<Real> {
    let at = copies.tables_used.next_multiple_of(length.min(PAGE));
    if at + length > TABLES {
        return None;
    }
    copies.tables_used = at + length;
    let table = copies.area.tables(at);
    hardware.hsa_fill(table, length, entry);
    Some(table)
}

/// The page of instructions at an address of the space that the hardware would translate by `of` otherwise; `None` if the
/// shadow does not have it. It is mapped from now on.
pub(crate) fn page<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    of: u64,
    at: Virtual,
) -> Option<CopiedPage> {
    let at = at.page();
    let place = place(of, at);
    if let Some(page) = copies.pages[place]
        && page.at == at.0
        && page.space == of
    {
        if hardware.hsa_load(page.place) == page.entry {
            return Some(page);
        }
        // The shadow may drop an entry because of its neighbour.
        forget(copies);
    }
    let (found, entry) = entry(hardware, of, at)?;
    if entry & PTE_EXECUTION_PROTECTION != 0 {
        // The hardware meets the same protection.
        enter(hardware, copies, of, at, entry);
        return None;
    }
    let source = source(configuration, hardware, entry);
    let copy = copy(configuration, hardware, copies, source);
    enter(hardware, copies, of, at, copy.0 | PTE_PROTECTION);
    let page = CopiedPage {
        space: of,
        at: at.0,
        place: found,
        entry,
        source,
        copy,
    };
    copies.pages[place] = Some(page);
    Some(page)
}

/// Maps the page of instructions at an address as it is, in the space of its own that a space has for such pages; `None` if the
/// shadow does not have it.
pub(crate) fn uncopied_page<H: Hardware>(
    hardware: &mut H,
    copies: &mut Copies,
    of: u64,
    at: Virtual,
) -> Option<()> {
    let (place, entry) = entry(hardware, of, at)?;
    if copies.uncopied.is_full() {
        forget(copies);
    }
    enter(hardware, copies, of | UNCOPIED_SPACE, at, entry);
    // There is room.
    let _ = copies.uncopied.push((place, entry));
    Some(())
}

/// The address-space-control element of such a space, whose pages are those that the shadow still has.
pub(crate) fn uncopied_space<H: Hardware>(hardware: &mut H, copies: &mut Copies, of: u64) -> u64 {
    let is_dropped = |&(place, entry): &(Real, u64)| hardware.hsa_load(place) != entry;
    if copies.uncopied.iter().any(is_dropped) {
        forget(copies);
    }
    space(hardware, copies, of | UNCOPIED_SPACE)
}

/// Whether a page is mapped there.
pub(crate) fn is_uncopied<H: Hardware>(
    hardware: &H,
    copies: &Copies,
    of: u64,
    at: Virtual,
) -> bool {
    is_mapped(hardware, copies, of | UNCOPIED_SPACE, at)
}

/// Whether the shadow has the page at an address.
pub(crate) fn is_there<H: Hardware>(hardware: &H, of: u64, at: Virtual) -> bool {
    entry(hardware, of, at).is_some()
}

/// The copy of the page at an address that was last found in a space, if it is still known. Its translation may be gone since.
pub(crate) fn last_found(copies: &Copies, of: u64, at: Virtual) -> Option<Real> {
    let at = at.page();
    let found = copies.pages[place(of, at)]?;
    (found.at == at.0 && found.space == of).then_some(found.copy)
}

/// Where a page of a space is kept when it was found.
const fn place(of: u64, at: Virtual) -> usize {
    ((at.0 ^ of) / PAGE) as usize % PAGES
}

/// The entry of a page in the tables of a space, if it is valid, and where that is.
fn entry<H: Hardware>(hardware: &H, of: u64, at: Virtual) -> Option<(Real, u64)> {
    let table = page_table(hardware, of, at)?;
    let place = table.offset(at.0 / PAGE % 256 * 8);
    let entry = hardware.hsa_load(place);
    (entry & PTE_INVALID == 0).then_some((place, entry))
}

/// The exception that the hardware meets where the shadow has no entry of a page.
pub(crate) fn missing<H: Hardware>(hardware: &H, of: u64, at: Virtual) -> Exception {
    match find_page_table(hardware, of, at) {
        Ok(_) => Exception::PageTranslation,
        Err(exception) => exception,
    }
}

/// Where an operand of the guest is, if the shadow has its page.
pub(crate) fn operand<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    of: u64,
    at: Virtual,
) -> Option<Source> {
    let (_, entry) = entry(hardware, of, at)?;
    Some(source(configuration, hardware, entry))
}

/// Where a page is, by an entry of the shadow.
fn source<H: Hardware>(configuration: &Configuration, hardware: &H, entry: u64) -> Source {
    let real = Real(entry & PTE_FRAME);
    let absolute = hardware.absolute_of(real);
    match checked_absolute(configuration, absolute, PAGE) {
        Ok(page) => Source::Frame(storage::placed(hardware, page.frame())),
        Err(_) => Source::Copy(real),
    }
}

/// Maps a page by an entry.
fn enter<H: Hardware>(hardware: &mut H, copies: &mut Copies, of: u64, at: Virtual, value: u64) {
    loop {
        let own = space(hardware, copies, of);
        if let Some(table) = walk(hardware, copies, own, at) {
            hardware.hsa_store(table.offset(at.0 / PAGE % 256 * 8), value);
            return;
        }
        forget(copies);
    }
}

/// The page table for an address; `None` if there is no room for it.
fn walk<H: Hardware>(hardware: &mut H, copies: &mut Copies, own: u64, at: Virtual) -> Option<Real> {
    let mut level = (own & asce::DESIGNATION_TYPE) >> 2;
    let mut table = Real(own & asce::ORIGIN);
    loop {
        let place = table.offset((at.0 >> (20 + 11 * level) & 0x7FF) * 8);
        let entry = hardware.hsa_load(place);
        // The invalid bit of a segment-table entry is in the same place.
        let is_there = entry & RTE_INVALID == 0;
        if level == 0 {
            if is_there {
                return Some(Real(entry & !(PAGE_TABLE - 1)));
            }
            let new = take(hardware, copies, PAGE_TABLE, PTE_INVALID)?;
            hardware.hsa_store(place, new.0);
            return Some(new);
        }
        table = if is_there {
            Real(entry & !(PAGE - 1))
        } else {
            let new = take(hardware, copies, TABLE, upper(level - 1))?;
            hardware.hsa_store(place, new.0 | level << 2 | asce::TABLE_LENGTH);
            new
        };
        level -= 1;
    }
}

/// Changes of text so far. No page that is executed changes without one, but for single doublewords that no EXECUTE leads to.
fn changes(configuration: &Configuration) -> u64 {
    let pages = &configuration.page_frames;
    let counts = [&pages.scans, &pages.uncovered].map(|count| count.load(Ordering::Relaxed));
    counts[0].wrapping_add(counts[1])
}

/// The copy of a page, as the page is now but for what is replaced in it.
fn copy<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    source: Source,
) -> Real {
    let now = changes(configuration);
    let key = source.real().0 | 1;
    let sets = COPIES / WAYS;
    let set = (key / PAGE).wrapping_mul(MIX) >> (64 - sets.trailing_zeros());
    let area = copies.area;
    let mut free = None;
    for number in set * WAYS..(set + 1) * WAYS {
        let owner = area.owner(number);
        let found = hardware.hsa_load(owner);
        if found == key {
            let copy = area.copy(number);
            if hardware.hsa_load(owner.offset(8)) != now {
                hardware.hsa_store(owner.offset(8), now);
                renew(hardware, source, copy);
                hardware.hsa_fill(area.halfwords(copy), HALFWORDS, 0);
            }
            return copy;
        }
        if found == 0 {
            free = Some(number);
        }
    }
    let number = free.unwrap_or_else(|| {
        copies.next_way += 1;
        // The tables may map it.
        forget(copies);
        set * WAYS + copies.next_way % WAYS
    });
    let owner = area.owner(number);
    hardware.hsa_store(owner, key);
    hardware.hsa_store(owner.offset(8), now);
    let copy = area.copy(number);
    hardware.hsa_fill(area.halfwords(copy), HALFWORDS, 0);
    for offset in (0..PAGE).step_by(8) {
        let value = load(hardware, source, offset);
        hardware.hsa_store(copy.offset(offset), value);
    }
    copy
}

/// Makes a copy that of its page as it is now. What counting has replaced is replaced again when the guest comes to it.
fn renew<H: Hardware>(hardware: &mut H, source: Source, copy: Real) {
    for offset in (0..PAGE).step_by(8) {
        let (original, place) = (load(hardware, source, offset), copy.offset(offset));
        if original != hardware.hsa_load(place) {
            hardware.hsa_store(place, original);
        }
    }
}

/// The doubleword at an offset of a page as the guest would fetch it.
pub(crate) fn load<H: Hardware>(hardware: &H, source: Source, offset: u64) -> u64 {
    match source {
        Source::Frame(frame) => hardware.load_u64(frame.at(Virtual(offset))),
        Source::Copy(at) => hardware.hsa_load(at.offset(offset)),
    }
}
