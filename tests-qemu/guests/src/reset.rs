//! Clear reset of the whole configuration, and how a guest goes on after it.

use core::arch::asm;

use crate::lowcore;
use crate::smp::cpu_start;

const STACK: usize = 65536;
/// The save area of a caller, although there is none.
const SAVE_AREA: usize = 160;

#[repr(C, align(16))]
struct Stack([u8; STACK]);

static mut STACK_AFTER_RESET: Stack = Stack([0; STACK]);

/// Resets all CPUs by DIAGNOSE 308, subcode 0, which leaves storage alone. Goes on in `after` on this CPU, on a stack
/// of its own, with DAT off, disabled; the prefix of this CPU is zero before and after.
pub fn clear_reset(after: extern "C" fn() -> !) -> ! {
    let stack = (&raw const STACK_AFTER_RESET) as usize + STACK - SAVE_AREA;
    lowcore::write(lowcore::CPU_STACK, stack);
    lowcore::write(lowcore::CPU_FUNCTION, after as *const () as usize);
    // The short PSW at absolute 0: 64-bit addressing mode.
    lowcore::write(0, 0x0008_0001_8000_0000 | cpu_start as *const () as u64);
    // SAFETY: the PSW leads to its address, and the function has a stack of its own.
    unsafe {
        asm!(
            "diag %r2, %r3, 0x308",
            "j .",
            in("r3") 0_u64,
            options(noreturn)
        )
    }
}
