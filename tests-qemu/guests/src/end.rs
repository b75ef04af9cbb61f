//! How a guest ends: a disabled wait, whose address says whether it succeeded.

use core::arch::asm;

use crate::psw::{self, Psw};
use crate::smp;

/// The address of the disabled wait that means success.
pub const SUCCESS: u64 = 0xFFF;

/// Ends the guest with success: every other CPU stopped, then a disabled wait at FFF.
pub fn end_success() -> ! {
    if crate::check::failures() != 0 {
        crate::println!("FAILED checks: {}", crate::check::failures());
        end_failure(1)
    }
    disabled_wait(SUCCESS)
}

/// Ends the guest with a failure that the disabled wait's address names.
pub fn end_failure(code: u32) -> ! {
    disabled_wait(0xBAD_0000 | u64::from(code))
}

/// Stops the other CPUs and loads a disabled-wait PSW of this address.
pub fn disabled_wait(address: u64) -> ! {
    smp::stop_others();
    let wait = Psw::new(psw::WAIT | psw::ADDRESSING_64, address);
    loop {
        // SAFETY: a disabled wait; nothing goes on after it.
        unsafe { asm!("lpswe 0({psw})", psw = in(reg_addr) &raw const wait) }
    }
}
