//! The pages that are protected because a store into them may be an event.
//!
//! A store leaves no trace that the hardware could be asked for. So while a program with DAT on is to be told of
//! stores into a range and of nothing else, the shadow's entries of the pages that meet the range forbid stores,
//! whatever the guest's own tables say, and the guest runs freely. An instruction that stores into such a page meets
//! a protection exception; when the guest's tables permit the store, the instruction is executed on its own
//! with the page open, and the page is protected again before the guest runs freely.
//!
//! Nothing is asked on the way of a shadow fill: it enters what the guest's tables say, and what was entered since is
//! protected before the guest goes on. Addresses are those of the program, so another page that is the same in
//! storage is not protected; nor are stores of channel programs and of other CPUs, which are no events.
//!
//! Where the guest's storage is accessed by tables that the CPUs share, DAT off or in a real space, nothing
//! is protected. Neither is a range of more than [`MOST_PAGES`], all of which would be gone through whenever a program
//! with its events is continued: each instruction is executed on its own there.

use super::stores;
use crate::arch::address::{PAGE, Virtual};
use crate::arch::control::asce;
use crate::arch::interruption::{ProgramInterruption, is_access};
use crate::arch::table::{TEID_ADDRESS, TEID_STORE};
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Space};
use crate::guest::hardware::Hardware;
use crate::guest::shadow;
use crate::guest::vcpu::Vcpu;
use crate::per::Range;

/// The most pages that are protected: as many as a page table has.
const MOST_PAGES: u64 = 256;

/// What is protected in a CPU's shadow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protected {
    /// The address-space-control element of the space whose pages are, those in [`Self::entered`] aside.
    space: Option<u64>,
    /// From the first to the last page that may have been entered into the shadow since.
    entered: Option<Range>,
    /// The last trap was an access exception.
    faulted: bool,
    /// The watched instruction stores into one of the pages.
    stored_into: bool,
}

impl Protected {
    /// Nothing is.
    pub const NOTHING: Self = Self {
        space: None,
        entered: None,
        faulted: false,
        stored_into: false,
    };

    /// What is protected is not known any more.
    pub const fn forget(&mut self) {
        *self = Self::NOTHING;
    }

    /// Another instruction is watched from now on.
    pub const fn begin(&mut self) {
        self.stored_into = false;
    }

    /// Whether the watched instruction stores into one of the pages.
    pub const fn is_stored_into(&self) -> bool {
        self.stored_into
    }

    /// A program interruption other than for recording. What the hardware has stored is not there to look at yet.
    pub fn trapped(&mut self, code: u16) {
        self.faulted = is_access(code);
    }
}

/// How many pages meet a range.
const fn pages(range: Range) -> u64 {
    let length = range.end.wrapping_sub(range.start);
    // Both ends of a range that goes nearly all the way round may be in one page.
    if length / PAGE >= MOST_PAGES {
        return MOST_PAGES + 1;
    }
    range.end.wrapping_sub(range.start & !(PAGE - 1)) / PAGE + 1
}

/// The space that the guest's operands are in.
fn space(cpu: &Vcpu) -> u64 {
    Space::of(cpu, Access::Store).asce(cpu)
}

/// Whether the stores that are asked for can be told by protecting pages.
pub(super) fn suffices(cpu: &Vcpu) -> bool {
    let count = stores(cpu).fold(0, |sum: u64, range| sum.saturating_add(pages(range)));
    let is_own = cpu.psw.dat() && space(cpu) & asce::REAL_SPACE == 0;
    count == 0 || is_own && count <= MOST_PAGES
}

/// Notes the page of the last trap, if a range is met by it.
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
    if !stores(cpu).any(|range| range.meets(page, PAGE)) {
        return;
    }
    let page = Range {
        start: page,
        end: page | (PAGE - 1),
    };
    let stores = identification & TEID_STORE != 0
        || cpu.interruption.code() == ProgramInterruption::Protection.code();
    let is_watching = cpu.per.is_watching(cpu.psw.address);
    let protected = &mut cpu.per.protected;
    let entered = protected.entered.map_or(page, |entered| entered.hull(page));
    protected.entered = Some(entered);
    protected.stored_into |= stores && is_watching;
}

/// Protects what may be open of the pages: the guest is about to run freely.
pub(super) fn protect<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) {
    let space = space(cpu);
    let protected = &mut cpu.per.protected;
    let before = protected.space.replace(space);
    let open = if before == Some(space) {
        protected.entered
    } else {
        Some(Range::ALL)
    };
    if let Some(open) = open {
        protected.entered = None;
        for range in stores(cpu) {
            let first = range.start & !(PAGE - 1);
            let all = (0..pages(range)).map(|number| Virtual(first.wrapping_add(number * PAGE)));
            let open = all.filter(|at| open.contains(at.0));
            shadow::protect(cpu, configuration, hardware, space, open);
        }
    }
}

#[cfg(test)]
mod tests;
