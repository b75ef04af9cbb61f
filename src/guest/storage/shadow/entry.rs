//! The entry by which a CPU maps a page frame.

use crate::state::configuration::Configuration;
use crate::state::page_frames::PageState;
use crate::state::shadow::Side;
use arch::address::{Absolute, PAGE, PREFIX_AREA};
use arch::table::{PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION};

/// The entry by which CPU `cpu` maps the absolute page `at` on a side, without the protection by the
/// guest's tables.
pub(super) fn entry(configuration: &Configuration, cpu: usize, side: Side, at: Absolute) -> u64 {
    if !configuration.holds(at, PAGE) {
        return PTE_INVALID;
    }
    let frame = if at.0 < PREFIX_AREA {
        at.0 + configuration.shadow.machine_prefix(cpu)
    } else {
        at.0
    };
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
