//! EXECUTEs beside a range of instructions.
//!
//! The target of an EXECUTE is fetched, too. So an EXECUTE outside of the range has an event if its target is in it, but
//! the hardware that looks for instructions in a range does not look at targets. Where the pages of the range are
//! protected, the fetch of the target meets a protection exception. Where a page of the range is open, the CPU stops at
//! each EXECUTE, and executes it on its own.
//!
//! It does not know where instructions begin. So it takes each halfword for an EXECUTE that could be one: the guest runs
//! freely in the *gap* between two of them, and the hardware stops it before an instruction outside of the gap. In a
//! halfword that is data, or in the middle of an instruction, no instruction begins. The guest is stopped behind it
//! once, and continues in the next gap.
//!
//! As long as the pages of the range are open everywhere, each page is inspected when it is entered into the shadow. The
//! guest runs freely in all pages without such a halfword. Any other page is protected, unless the guest is in it.

use crate::hardware::Hardware;
use crate::state::access::Access;
use crate::state::configuration::Configuration;
use crate::state::protected::Gap;
use crate::state::vcpu::Vcpu;
use crate::storage::{self, Piece, shadow};
use arch::address::{PAGE, Virtual};
use arch::table::TEID_SPACE;
use insn::executed::{executes, is_execute};
use per::Range;

/// Whether the CPU has to find EXECUTEs, as long as a page of the range is open.
pub(super) fn are_wanted(cpu: &Vcpu) -> bool {
    cpu.per.looks && !cpu.per.everything && cpu.per.controls.fetches().is_some()
}

/// The gap in which the guest last ran freely, if it still is one and has this address.
fn last_gap(cpu: &Vcpu, at: u64) -> Option<Range> {
    let gap = &cpu.per.protected.gap;
    if gap.changes != cpu.shadow.seen || !gap.addresses.contains(at) {
        return None;
    }
    // A translation that is kept is valid.
    let page = storage::stepped_text(cpu, Virtual(at).page(), PAGE)?;
    (page.start().absolute() == gap.page).then_some(gap.addresses)
}

/// Whether an address is known to be beside any EXECUTE.
pub(super) fn are_beside(cpu: &Vcpu, at: u64) -> bool {
    last_gap(cpu, at).is_some()
}

/// Whether an EXECUTE begins at an address.
pub(super) fn begins<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) -> bool {
    page(cpu, configuration, hardware, Virtual(at)).is_some_and(|page| {
        let place = page.at(Virtual(at).byte_index() & !1);
        is_execute(hardware.load_u16(place))
    })
}

/// The page of instructions at an address; `None` if the guest's tables refuse it.
fn page<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Option<Piece> {
    let at = at.page();
    if let Some(page) = storage::stepped_text(cpu, at, PAGE) {
        return Some(page);
    }
    let found = storage::resolve(cpu, configuration, hardware, at, PAGE, Access::Execute).ok()?;
    cpu.keep_stepped_text(at, found.first.start());
    Some(found.first)
}

/// The addresses around `at` in its page at which no EXECUTE begins. None begins at `at` itself.
pub(super) fn gap<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) -> Range {
    if let Some(addresses) = last_gap(cpu, at) {
        return addresses;
    }
    let here = Virtual(at);
    let first = here.page().0;
    let mut addresses = Range {
        start: first,
        end: first | (PAGE - 1),
    };
    let Some(page) = page(cpu, configuration, hardware, here) else {
        // Nothing is executed there before the guest's tables change.
        return addresses;
    };
    let found = |offset: u64| executes(hardware.load_u64(page.at(offset)));
    let within = here.byte_index() & !7;
    // The halfwords of the doubleword from the one at `at` on.
    let from = u64::MAX >> (8 * (at & 6));
    let (mut offset, mut above) = (within, found(within) & from);
    while above == 0 && offset + 8 < PAGE {
        offset += 8;
        above = found(offset);
    }
    if above != 0 {
        let next = first + offset + u64::from(above.leading_zeros() / 8);
        addresses.end = next.wrapping_sub(1);
    }
    let (mut offset, mut below) = (within, found(within) & !from);
    while below == 0 && offset != 0 {
        offset -= 8;
        below = found(offset);
    }
    if below != 0 {
        let last = first + offset + u64::from((63 - below.trailing_zeros()) / 8);
        addresses.start = last + 2;
    }
    cpu.per.protected.gap = Gap {
        page: page.start().absolute(),
        changes: cpu.shadow.seen,
        addresses,
    };
    addresses
}

/// Whether a page has no halfword that could be an EXECUTE.
fn is_without<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> bool {
    page(cpu, configuration, hardware, at).is_none_or(|page| {
        (0..PAGE)
            .step_by(8)
            .all(|offset| executes(hardware.load_u64(page.at(offset))) == 0)
    })
}

/// Notes the page of an access exception, which may have been entered into the shadow.
pub(super) fn note(cpu: &mut Vcpu, page: Virtual) {
    // Instructions are fetched from the primary space, or by the same table as operands.
    let is_fetched =
        shadow::has_single_table(cpu) || cpu.interruption.identification & TEID_SPACE == 0;
    if is_fetched {
        cpu.per.protected.inspected.enter(page);
    }
}

/// The pages of the range are open from now on, unless they were: drops what the shadow has of the space, so that each
/// page is inspected. Returns true if the way out has to begin again.
pub(super) fn open<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let space = shadow::asce(cpu, Access::Execute);
    if cpu.per.protected.inspected.space == Some(space) {
        return false;
    }
    cpu.per.protected.inspected.begin(space);
    shadow::forget_space(cpu, configuration, hardware, space);
    true
}

/// Inspects the pages that were entered since, and protects those in which an EXECUTE could be, except the one of `at`.
/// Returns whether that one is one of them.
pub(super) fn inspect<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: u64,
) -> bool {
    let here = Virtual(at).page();
    let space = shadow::asce(cpu, Access::Execute);
    let mut is_here = false;
    for entered in cpu.per.protected.inspected.take() {
        if is_without(cpu, configuration, hardware, entered) {
            continue;
        }
        if entered == here {
            is_here = true;
        } else {
            let page = core::iter::once(entered);
            shadow::protect(cpu, configuration, hardware, space, Access::Execute, page);
        }
    }
    if is_here {
        cpu.per.protected.inspected.enter(here);
    }
    is_here
}
