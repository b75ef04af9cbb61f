//! The clock behind a wait, the same in every run.
//!
//! When all CPUs wait, QEMU's main thread sets the virtual clock (`-icount sleep=off`) forward to the timer
//! that goes off first. It looks whether they wait before the CPU's own thread has accounted for the last
//! instructions, if the host schedules the two so: then the clock is that far beyond the timer behind the
//! wait, by one instruction where a clock was stored right before the PSW was loaded. So the same run would
//! differ, rarely, by a nanosecond, and soon in everything. Behind a wait that the clock comparator ended
//! the firmware goes on at a time that it can tell beforehand.

use crate::arch::tod::clock_nanoseconds;
use crate::machine::hardware::instruction;
use core::arch::{asm, global_asm};

/// Nanoseconds behind the timer, or the beginning of a wait that it did not outlast, at which the firmware
/// goes on.
const BEHIND: u64 = 24;

/// Instructions of the sled, besides the way back.
const SLED: u64 = 31;

global_asm!(
    ".globl firmware_sled",
    "firmware_sled:",
    ".rept 31",
    "nopr %r0",
    ".endr",
    "br %r14",
);

/// Goes on at a time that depends only on the clock comparator and on when the wait began; gives the
/// clock then. `to` is the clock as the wait had ended.
pub fn settle(from: u64, to: u64) -> u64 {
    // The clock at which QEMU's virtual clock is zero is a multiple of 512.
    let due = clock_nanoseconds(instruction::stckc()).max(clock_nanoseconds(from));
    let rest = (due + BEHIND)
        .saturating_sub(clock_nanoseconds(to))
        .min(SLED);
    // SAFETY: the sled's instructions do nothing, each is two bytes, and there are as many as `rest` at most.
    unsafe {
        asm!(
            "larl %r1,firmware_sled+62",
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
