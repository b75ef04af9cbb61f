//! The watchdog of the machine below.

use crate::machine::hardware::guarded::guarded;

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
    // SAFETY: no operand is in storage.
    let ended = unsafe {
        guarded!(
            ".insn rs,0x83000000,%r2,%r4,{watchdog}(%r0)",
            in("r2") function,
            in("r3") seconds,
            in("r4") 0_u64,
            watchdog = const WATCHDOG,
        )
    };
    ended.is_ok()
}
