//! Instructions whose parts are on two pages and that no hardware may be given.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::page_frames::PageState;
use crate::storage::checked::Checked;
use arch::address::{Absolute, PAGE};
use insn::split;

/// Whether an instruction of [`split`] extends from the page at `first` into the one at `second`, as they are in storage or as
/// they are executed, and is not replaced in the first one.
#[cold]
#[inline(never)]
pub(super) fn crosses<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    first: Absolute,
    second: Absolute,
) -> bool {
    let pages = &configuration.page_frames;
    if pages.ends(first) {
        return false;
    }
    let of = |at: Absolute, offset: u64, executed: bool| match pages.state(at) {
        PageState::Copied(copy) if executed => hardware.hsa_load(copy.offset(offset)),
        _ => Checked::doubleword(at.offset(offset), &configuration.storage)
            .map_or(0, |place| hardware.load_u64(place)),
    };
    [false, true]
        .into_iter()
        .any(|executed| split::crosses(of(first, PAGE - 8, executed), of(second, 0, executed)))
}
