//! The entry by which a CPU maps a page frame.

use crate::state::configuration::Configuration;
use crate::state::page_frames::{DATA, PageState, TEXT, TRUSTED};
use crate::state::shadow::Side;
use arch::address::{Absolute, PREFIX_AREA};
use arch::table::{PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION};

/// The entry by which CPU `cpu` maps the absolute page `at` on a side, without the protection by the
/// guest's tables.
#[inline]
pub(super) fn entry(configuration: &Configuration, cpu: usize, side: Side, at: Absolute) -> u64 {
    if !configuration.storage.holds_byte(at) {
        return PTE_INVALID;
    }
    let frame = if at.0 < PREFIX_AREA {
        at.0 + configuration.shadow.machine_prefix(cpu)
    } else {
        at.0
    };
    match configuration.page_frames.raw(at) {
        DATA if matches!(side, Side::Instructions) => PTE_INVALID,
        DATA => frame | of_data(side),
        TEXT | TRUSTED => frame | PTE_PROTECTION,
        _ => of_unusual(configuration, side, at, frame),
    }
}

/// What the entry of a page of data has beside its frame on a side.
#[inline]
pub(super) const fn of_data(side: Side) -> u64 {
    match side {
        Side::Instructions => PTE_INVALID,
        Side::Operands => 0,
        Side::Single => PTE_EXECUTION_PROTECTION,
    }
}

/// The entry of the page `at`, which is in storage, if it has a copy or is about to be scanned.
#[inline(never)]
pub(super) fn of_unusual(
    configuration: &Configuration,
    side: Side,
    at: Absolute,
    frame: u64,
) -> u64 {
    match (side, configuration.page_frames.state(at)) {
        (Side::Instructions, PageState::Data | PageState::Still) => PTE_INVALID,
        (Side::Instructions, PageState::Copied(copy)) => copy.0 | PTE_PROTECTION,
        (Side::Single, PageState::Copied(_)) if configuration.page_frames.is_of_executes(at) => {
            frame | PTE_PROTECTION
        }
        (Side::Single, PageState::Copied(_) | PageState::Still) => {
            frame | PTE_PROTECTION | PTE_EXECUTION_PROTECTION
        }
        (Side::Single, PageState::Data) => frame | PTE_EXECUTION_PROTECTION,
        (_, PageState::Text | PageState::Copied(_) | PageState::Still) => frame | PTE_PROTECTION,
        (_, PageState::Data) => frame,
    }
}
