//! STORE USING REAL ADDRESS in the usual case: a control program changes its own text by it, many thousand times while it
//! starts.

use super::placed;
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::page_frames::{DATA, TEXT};
use crate::state::vcpu::Vcpu;
use crate::storage::checked::Checked;
use crate::storage::scanner;
use arch::address::{Absolute, PREFIX_AREA, Real, Virtual};

/// Stores a doubleword at a real address on its boundary, with access key zero, if prefixing and low-address protection do
/// not matter there and the scanner need not be told: the page is data, or it is executed in place and stays so. Returns
/// false, and has stored nothing, in any other case.
#[inline(always)]
pub fn store<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Real,
    value: u64,
) -> bool {
    if at.0 < PREFIX_AREA || at.0.wrapping_sub(cpu.prefix) < PREFIX_AREA {
        return false;
    }
    let Some(checked) = Checked::doubleword(Absolute(at.0), &configuration.storage) else {
        return false;
    };
    match configuration.page_frames.raw(checked.absolute()) {
        DATA => {}
        TEXT if !scanner::changes_end(configuration, checked.absolute())
            && scanner::leaves_text(configuration, value) =>
        {
            configuration.page_frames.alter(checked.absolute());
        }
        _ => return false,
    }
    let frame = placed(hardware, checked.frame());
    hardware.store_u64(frame.at(Virtual(at.0)), value);
    true
}
