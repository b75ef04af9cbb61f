//! The pages that are protected because something in them may be a PER event.
//!
//! The hardware does not record a store that it has executed. So while only stores into a range are recorded, the
//! shadow's entries for the pages of that range forbid stores, whatever the guest's own tables say, and the guest runs
//! freely. An instruction that stores into such a page meets a protection exception. If the guest's tables permit the
//! store, the instruction is executed on its own with the page open, and the page is protected again before the guest
//! runs freely.
//!
//! The hardware can record instruction fetches, but then it compares each instruction of the guest with the range. So
//! the entries for the pages of a range of instructions forbid execution, and outside these pages nothing is recorded.
//! A program that enters such a page meets a protection exception. With the page open, it runs until an instruction in
//! the range, or until it leaves the page. After many such visits without an instruction in the range, protection costs
//! more than it saves. Then the pages stay open, and the hardware compares every instruction with the range until it
//! finds one in it. Where they are open, it must also stop at each EXECUTE ([`executes`](super::executes)).
//!
//! A clock that charges what was translated together spoils the account of a free run that an event ends
//! ([`Step::Overcharged`](crate::state::recording::Step)). There the hardware never looks for an instruction: each one in
//! these pages is executed on its own.
//!
//! A shadow fill does not test for any of this: it enters what the guest's tables say. What was entered since is
//! protected before the guest continues. Addresses are those of the program, so another page with the same storage is
//! not protected; nor are the stores of channel programs and of other CPUs, which are not events.
//!
//! With DAT off, and in a real space, the guest's storage is accessed by tables that the CPUs share. A CPU with
//! protected pages uses tables of its own instead.
//!
//! Ranges of more than [`MOST_PAGES`] pages are not protected, because scanning all of these whenever a program with
//! such events is resumed would cost too much. For stores, each instruction is then executed on its own; for
//! instructions, the hardware looks for them.

use crate::hardware::Hardware;
use crate::recording::per::{executes, places, stores};
use crate::state::access::Access;
use crate::state::configuration::Configuration;
use crate::state::protected::{InspectedPages, ProtectedPages};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow;
use arch::address::{PAGE, Virtual};
use arch::interruption::ProgramInterruption;
use arch::table::{TEID_ADDRESS, TEID_STORE};
use per::Range;

/// The most pages that are protected: as many as a page table has.
const MOST_PAGES: u64 = 256;

/// How often the pages of a range are entered without an instruction in the range before they stay open.
const MOST_VISITS: u8 = 56;

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

/// Whether protecting pages is enough to find the requested stores.
pub(super) fn suffices(cpu: &Vcpu) -> bool {
    suits(stores(cpu))
}

/// Whether protecting pages is enough to find the requested instructions.
pub(super) fn finds(cpu: &Vcpu) -> bool {
    suits(places(cpu))
}

/// Whether any pages are protected.
pub(super) fn has_any(cpu: &Vcpu) -> bool {
    let recording = &cpu.per;
    let stores = || stores(cpu).next().is_some();
    let places =
        || (recording.by_pages || executes::are_wanted(cpu)) && places(cpu).next().is_some();
    !recording.everything && (stores() || places())
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
    executes::note(cpu, Virtual(page.start));
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
        let visits = &mut cpu.per.protected.visits;
        *visits = visits.saturating_add(1);
        // The target of an EXECUTE, or the rest of an instruction that begins on the preceding page.
        if !page.contains(here) {
            cpu.per.protected.alone = Some(here);
        }
    }
}

/// The pages with an address that meet a range of instructions.
pub(super) fn inside(cpu: &Vcpu, at: u64) -> Option<Range> {
    let contains = |pages: &Range| pages.contains(at);
    if !cpu.per.below {
        let fetches = cpu.per.controls.fetches();
        return fetches.map(whole_pages).filter(contains);
    }
    places(cpu).map(whole_pages).find(contains)
}

/// Whether the pages of the ranges of instructions are protected while the guest runs freely outside of them.
fn are_closed(cpu: &Vcpu) -> bool {
    cpu.per.by_pages && (!cpu.per.looks || cpu.per.protected.visits < MOST_VISITS)
}

/// Whether the guest can come to an EXECUTE at `at` whose target shows in no other way.
pub(super) fn executes<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) -> bool {
    executes::are_wanted(cpu)
        && !executes::are_beside(cpu, at)
        && (!are_closed(cpu) || inside(cpu, at).is_some())
        && executes::begins(cpu, configuration, hardware, at)
}

/// Prepares the shadow for a guest that is about to run freely. Returns true if the way out has to begin again.
pub(super) fn open<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    if are_closed(cpu) || !executes::are_wanted(cpu) {
        if cpu.per.protected.inspected.space.is_some() {
            cpu.per.protected.inspected = InspectedPages::NONE;
        }
        return false;
    }
    // They are protected again when they are next closed.
    cpu.per.protected.places = ProtectedPages::NONE;
    executes::open(cpu, configuration, hardware)
}

/// The guest is about to run freely from `at` on: protects the pages that may be open, and returns the range in which
/// the hardware has to look for instructions besides.
pub(super) fn free<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: u64,
) -> Option<Range> {
    cpu.per.protected.alone = None;
    let space_of_stores = shadow::asce(cpu, Access::Store);
    if let Some(open) = cpu.per.protected.stores.close(space_of_stores) {
        let ranges = stores(cpu);
        protect(cpu, configuration, hardware, Access::Store, ranges, open);
    }
    let mut beyond = None;
    let mut has_execute = executes::are_wanted(cpu);
    if are_closed(cpu) {
        let Some(inside) = inside(cpu, at) else {
            let space_of_places = shadow::asce(cpu, Access::Execute);
            if let Some(open) = cpu.per.protected.places.close(space_of_places) {
                let ranges = places(cpu);
                protect(cpu, configuration, hardware, Access::Execute, ranges, open);
            }
            return None;
        };
        beyond = Some(inside.others());
    } else if has_execute {
        has_execute = executes::inspect(cpu, configuration, hardware, at);
    }
    let executes = has_execute.then(|| executes::gap(cpu, configuration, hardware, at).others());
    // Everything but the gap in which there is nothing to find.
    Range::around(at, places(cpu).chain(beyond).chain(executes))
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
