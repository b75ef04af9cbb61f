//! The pages that are protected because something in them may be a PER event.
//!
//! The hardware does not record a store that it has executed. So while only stores into a range are recorded, the
//! shadow's entries for the pages of that range forbid stores, whatever the guest's own tables say, and the guest runs
//! freely. An instruction that stores into such a page meets a protection exception. If the guest's tables permit the
//! store, the instruction is executed on its own with the page open, and the page is protected again before the guest
//! runs freely.
//!
//! Likewise the entries for the pages of a range of instructions forbid execution. A program that enters such a page meets a
//! protection exception, and each of its instructions is executed on its own until it leaves the page. The target of an
//! EXECUTE is fetched, too: so an EXECUTE elsewhere whose target is in such a page meets the same exception, as does an
//! instruction that begins on the preceding page, and is executed on its own.
//!
//! A shadow fill does not test for any of this: it enters what the guest's tables say. What was entered since is
//! protected before the guest continues. Addresses are those of the program, so another page with the same storage is
//! not protected; nor are the stores of channel programs and of other CPUs, which are not events.
//!
//! With DAT off, and in a real space, the guest's storage is accessed by tables that the CPUs share. A CPU with
//! protected pages uses tables of its own instead.
//!
//! Ranges of more than [`MOST_PAGES`] pages are not protected, because scanning all of these whenever a program with
//! such events is resumed would cost too much. Each instruction is then executed on its own.

use crate::hardware::Hardware;
use crate::recording::per::{places, stores};
use crate::state::access::Access;
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::shadow;
use arch::address::{PAGE, Virtual};
use arch::interruption::ProgramInterruption;
use arch::table::{TEID_ADDRESS, TEID_STORE};
use per::Range;

/// The most pages that are protected: as many as a page table has.
const MOST_PAGES: u64 = 256;

/// How many pages meet a range.
const fn pages(range: Range) -> u64 {
    let length = range.end.wrapping_sub(range.start);
    // Both ends of a range that wraps nearly all the way round may be in one page.
    if length / PAGE >= MOST_PAGES {
        return MOST_PAGES + 1;
    }
    range.end.wrapping_sub(range.start & !(PAGE - 1)) / PAGE + 1
}

/// The whole pages that meet a range of at most [`MOST_PAGES`] pages.
const fn whole_pages(range: Range) -> Range {
    Range {
        start: range.start & !(PAGE - 1),
        end: range.end | (PAGE - 1),
    }
}

/// Whether the pages of some ranges can be protected.
fn suits(ranges: impl Iterator<Item = Range>) -> bool {
    let count = ranges.fold(0, |sum: u64, range| sum.saturating_add(pages(range)));
    count <= MOST_PAGES
}

/// Whether protecting pages is enough to find what is requested.
pub(super) fn suffices(cpu: &Vcpu) -> bool {
    suits(stores(cpu)) && suits(places(cpu))
}

/// Whether any pages are protected.
pub(super) fn has_any(cpu: &Vcpu) -> bool {
    !cpu.per.everything && (stores(cpu).next().is_some() || places(cpu).next().is_some())
}

/// Notes the page of the last trap, if it meets a range.
#[inline]
pub(super) fn note(cpu: &mut Vcpu) {
    if core::mem::take(&mut cpu.per.protected.faulted) {
        note_fault(cpu);
    }
}

#[cold]
#[inline(never)]
fn note_fault(cpu: &mut Vcpu) {
    let identification = cpu.interruption.identification;
    let page = identification & TEID_ADDRESS & cpu.psw.address_mask();
    let meets = |range: Range| range.meets(page, PAGE);
    let [of_stores, of_places] = [stores(cpu).any(meets), places(cpu).any(meets)];
    let page = whole_pages(Range {
        start: page,
        end: page,
    });
    let here = cpu.psw.address & cpu.psw.address_mask();
    if of_stores {
        let stores = identification & TEID_STORE != 0
            || cpu.interruption.code() == ProgramInterruption::Protection.code();
        cpu.per.protected.stores.enter(page);
        if stores && cpu.per.is_watching(here) {
            cpu.per.protected.alone = Some(here);
        }
    }
    if of_places {
        cpu.per.protected.places.enter(page);
        // The target of an EXECUTE, or the rest of an instruction that begins on the preceding page.
        if !page.contains(here) {
            cpu.per.protected.alone = Some(here);
        }
    }
}

/// Whether an address is in one of the pages that meet a range of instructions.
pub(super) fn is_inside(cpu: &Vcpu, at: u64) -> bool {
    let contains = |range: Range| whole_pages(range).contains(at);
    if !cpu.per.below {
        return cpu.per.controls.fetches().is_some_and(contains);
    }
    places(cpu).any(contains)
}

/// The guest is about to run freely: protects the pages that may be open.
pub(super) fn free<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.per.protected.alone = None;
    let space_of_stores = shadow::asce(cpu, Access::Store);
    if let Some(open) = cpu.per.protected.stores.close(space_of_stores) {
        let ranges = stores(cpu);
        protect(cpu, configuration, hardware, Access::Store, ranges, open);
    }
    let space_of_places = shadow::asce(cpu, Access::Execute);
    if let Some(open) = cpu.per.protected.places.close(space_of_places) {
        let ranges = places(cpu);
        protect(cpu, configuration, hardware, Access::Execute, ranges, open);
    }
}

/// Protects those pages of some ranges that may be open for an access.
#[cold]
#[inline(never)]
fn protect<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    access: Access,
    ranges: impl Iterator<Item = Range>,
    open: Range,
) {
    let space = shadow::asce(cpu, access);
    for range in ranges {
        let first = whole_pages(range).start;
        let all = (0..pages(range)).map(|number| Virtual(first.wrapping_add(number * PAGE)));
        let open = all.filter(|at| open.contains(at.0));
        shadow::protect(cpu, configuration, hardware, space, access, open);
    }
}

#[cfg(test)]
mod tests;
