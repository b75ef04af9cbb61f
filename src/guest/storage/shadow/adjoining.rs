//! Pages that are executed one behind the other.
//!
//! An instruction can extend from one page into the next one of its space. If the next one is executed from a copy that
//! begins with a replacement, the hardware would find that in the instruction, which would be another one, or have another
//! operand. So while both are mapped in a space, what extends from the first one is replaced, too. The firmware reads the
//! original, and has it executed alone.
//!
//! An instruction of [`insn::split`] whose parts are on two pages is not to be executed at all on a hardware that performs it
//! wrongly, by a program with a single table either. So while both are mapped, what extends from the first one is replaced, too.
//!
//! Only a fill maps a page whose copy begins so, or one in front of it. A space that is complete from the beginning never maps
//! such a page: the CPU's real storage becomes a space like others ([`own_real`](super::own_real)).

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::shadow::{SEGMENT, Side};
use crate::state::vcpu::Vcpu;
use crate::storage::scanner;
use crate::storage::shadow::crossing;
use crate::storage::shadow::protection::page_table;
use crate::storage::shadow::spaces::find;
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::table::{PTE_FRAME, PTE_INVALID};

/// Tests whether the frame at `frame` can be executed at `at`, before and behind the pages that are mapped there; `table` is the
/// page table for it on a side that is executed. If not, a frame has become data, and the fill is to be tried again.
#[cold]
pub(super) fn can_enter<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    at: Virtual,
    frame: Absolute,
    (side, table): (Side, Real),
) -> bool {
    let mapped = |hardware: &H, to: Virtual| {
        let table = if to.0 / SEGMENT == at.0 / SEGMENT {
            table
        } else {
            page_table(hardware, find(cpu, guest, side)?, to)?
        };
        let entry = table.offset((to.0 >> 12 & 0xFF) * 8);
        frame_of(configuration, hardware, hardware.hsa_load(entry))
    };
    let pages = &configuration.page_frames;
    let next = mapped(hardware, Virtual(at.0.wrapping_add(PAGE)));
    let before = mapped(hardware, Virtual(at.0.wrapping_sub(PAGE)));
    let pairs = [next.map(|next| (frame, next)), before.map(|at| (at, frame))];
    let mut can = true;
    for (first, second) in pairs.into_iter().flatten() {
        let finds_replaced = side == Side::Instructions
            && pages.begins(second)
            && !pages.ends(first)
            && scanner::extends(configuration, hardware, first);
        let crosses =
            pages.has_edge(frame) && crossing::crosses(configuration, hardware, first, second);
        if finds_replaced || crosses {
            scanner::replace_ends(configuration, hardware, first);
            can = false;
        }
    }
    can
}

/// The guest's frame that an entry of a table for instructions maps, itself or its copy.
fn frame_of<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    entry: u64,
) -> Option<Absolute> {
    if entry & PTE_INVALID != 0 {
        return None;
    }
    let at = Real(entry & PTE_FRAME);
    let owner = configuration.page_frames.owner_of_copy(at);
    Some(owner.unwrap_or_else(|| hardware.absolute_of(at)))
}

/// Whether the entry at `place`, the last one of its table excepted, is in front of one whose copy begins with a replacement.
#[cold]
pub(super) fn is_before_beginning<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    place: Real,
) -> bool {
    const LAST: u64 = 0xFF * 8;
    if place.0 & LAST == LAST {
        // The next entry is in another table.
        return true;
    }
    let next = hardware.hsa_load(place.offset(8));
    frame_of(configuration, hardware, next)
        .is_some_and(|next| configuration.page_frames.begins(next))
}

#[cfg(test)]
mod tests;
