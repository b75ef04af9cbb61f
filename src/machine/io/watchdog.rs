//! The watchdog of the machine below.

use crate::machine::hardware::lowcore::Lowcore;
use core::arch::asm;
use core::mem::offset_of;

/// More seconds than pass before it is cancelled again.
const LONG: u64 = 3600;

/// Whether the machine below has one: DIAGNOSE 288 enables it and cancels it again.
pub fn is_present() -> bool {
    const INITIALIZE: u64 = 0;
    const CANCEL: u64 = 2;
    diagnose(INITIALIZE, LONG) && diagnose(CANCEL, 0)
}

/// DIAGNOSE 288 with the action reset. Returns whether there was no program interruption.
fn diagnose(function: u64, seconds: u64) -> bool {
    /// The function code of DIAGNOSE.
    const WATCHDOG: u64 = 0x288;
    let refused: u64;
    // SAFETY: no operand is in storage. A program interruption continues at label 8.
    unsafe {
        asm!(
            "larl {refused},8f",
            "stg {refused},{continue_at}(%r0)",
            ".insn rs,0x83000000,%r2,%r4,{watchdog}(%r0)",
            "lghi {refused},0",
            "j 9f",
            "8: lghi {refused},1",
            "9: stg {zero},{continue_at}(%r0)",
            refused = out(reg) refused, zero = in(reg) 0_u64,
            in("r2") function, in("r3") seconds, in("r4") 0_u64, watchdog = const WATCHDOG,
            continue_at = const offset_of!(Lowcore, continue_at), options(nostack)
        );
    }
    refused == 0
}
