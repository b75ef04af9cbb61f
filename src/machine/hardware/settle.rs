//! Makes the clock after a wait the same in every run.
//!
//! When all CPUs wait, QEMU's main thread (`-icount sleep=off`) sets the virtual clock forward to the next
//! timer. Depending on how the host schedules the two threads, it may find that they wait before the CPU's
//! own thread has accounted for the last instructions. After the wait the clock is then that far beyond the
//! timer: by one instruction where a clock was stored right before the PSW was loaded. The same run would
//! rarely differ by a nanosecond, and soon afterwards in everything. So, after a wait that the clock
//! comparator ended, the firmware continues at a time that it can compute in advance. A CPU that receives the turn does
//! so, too.

use crate::arch::tod::clock_nanoseconds;
use crate::machine::hardware::instruction;
use core::arch::{asm, global_asm};

/// The firmware continues this many nanoseconds after the timer, or after the beginning of the wait if that
/// is later.
const BEHIND: u64 = 24;

/// Instructions of the sled, without the return.
const SLED: u64 = 255;

global_asm!(
    ".globl firmware_sled",
    "firmware_sled:",
    ".rept 255",
    "nopr %r0",
    ".endr",
    "br %r14",
);

/// Continues at a time that depends only on the clock comparator and on when the wait began; returns the
/// clock then. `to` is the clock when the wait had ended.
pub fn settle(from: u64, to: u64) -> u64 {
    // The clock at which QEMU's virtual clock is zero is a multiple of 512.
    let due = clock_nanoseconds(instruction::stckc()).max(clock_nanoseconds(from));
    continue_at(due + BEHIND, to)
}

/// Executes an instruction for each nanosecond from `now`, which was just stored, to `nanosecond`, and returns the
/// clock then.
pub fn continue_at(nanosecond: u64, now: u64) -> u64 {
    let rest = nanosecond.saturating_sub(clock_nanoseconds(now)).min(SLED);
    // SAFETY: the sled's instructions have no effect, each is two bytes long, and there are at least `rest`
    // of them.
    unsafe {
        asm!(
            "larl %r1,firmware_sled+510",
            "sgr %r1,{skipped}",
            "basr %r14,%r1",
            skipped = in(reg) rest * 2,
            out("r1") _,
            out("r14") _,
            options(nomem, nostack),
        );
    }
    instruction::stckf()
}
