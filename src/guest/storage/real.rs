//! The page frame that STORE USING REAL ADDRESS stores into: kept, because a control program that changes its own text stores
//! into each page many times.

use super::{checked_absolute, placed};
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::kept::KeptStore;
use crate::state::page_frames::{DATA, TEXT};
use crate::state::vcpu::Vcpu;
use arch::address::{PAGE, PREFIX_AREA, Real, Virtual};
use insn::sensitive;

/// Stores a doubleword at a real address on its boundary, with access key zero, if its page frame is kept. Returns false, and
/// has stored nothing, in any other case.
///
/// The scanner need not be told: a page that is data stays data, and one that is executed in place stays so if no sensitive
/// instruction is stored.
#[inline(always)]
pub fn store_kept<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Real,
    value: u64,
) -> bool {
    let kept = &cpu.kept.store;
    if kept.under != [at.page().0, configuration.shadow.posted()]
        || kept.is_text && sensitive::may_be_sensitive(value, configuration.assist.caught())
    {
        return false;
    }
    hardware.store_u64(kept.frame.at(Virtual(at.0)), value);
    true
}

/// Keeps the page frame of a real address, which was just stored into by the general rules.
#[inline(never)]
pub fn keep_store<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Real,
) {
    let page = at.page();
    // Whoever changes the state of the page afterwards posts a request.
    let under = [page.0, configuration.shadow.posted()];
    let absolute = cpu.absolute(page);
    let is_text = match configuration.page_frames.raw(absolute) {
        DATA => false,
        // On a strict machine it matters, too, where in a page a value is stored.
        TEXT if !configuration.strict => true,
        _ => return,
    };
    // Parts of the first two pages may be protected.
    if page.0 < PREFIX_AREA {
        return;
    }
    if let Ok(checked) = checked_absolute(configuration, absolute, PAGE) {
        let frame = placed(hardware, checked.frame());
        cpu.kept.store = KeptStore {
            under,
            is_text,
            frame,
        };
    }
}
