//! Loops whose length is known.

use core::arch::asm;

/// Performs this many instructions, all of them BRANCH RELATIVE ON COUNT.
#[inline(always)]
pub fn steps(count: u32) {
    // SAFETY: changes only its own register.
    unsafe {
        asm!(
            "0: brct {count}, 0b",
            count = inout(reg) count => _,
            options(nomem, nostack, preserves_flags),
        );
    }
}
