//! Sets the clock, the CPU timer and the clock comparator at an exact instruction.
//!
//! The virtual clock follows the instructions, so a clock that is set back hides what was done meanwhile, to the
//! instruction. How far, and when, is in the [`WindowArea`]. The exits of the traps of a run with a window use it, and the end
//! of a hold.

use crate::machine::hardware::lowcore::{self, Lowcore, WindowArea};
use core::arch::global_asm;
use core::mem::offset_of;

/// More than the instructions from the last look at the clock before the routine to the one in it.
pub const SPARE: u64 = 300;

/// Instructions around those that are counted by the clock, where the exit of a trap sets the clock back: in the routine behind
/// SET CLOCK, and in the exit.
pub const AROUND_EXIT: u64 = 5;

/// More instructions than any pad has: [`SPARE_OF_PAD`], and twice what rounds to steps.
const PADS: u64 = 512;

/// As [`SPARE`] for a pad.
pub const SPARE_OF_PAD: u64 = 150;

/// Instructions around those that are counted by the clock, where a pad ends at the next stamp, or in the guest.
pub const AROUND_STAMP: u64 = 16;
pub const AROUND_GUEST: u64 = 16;

global_asm!(
    // Uses %r1 and %r2. Returns by %r14.
    ".globl firmware_set_back",
    "firmware_set_back:",
    ".insn s,0xb27c0000,{now}(%r0)",
    "lg %r1,{target}(%r0)",
    "slg %r1,{now}(%r0)",
    "msgfi %r1,125",
    "alg %r1,{rounding}(%r0)",
    "lg %r2,{shift}(%r0)",
    "srlg %r1,%r1,0(%r2)",
    // The instructions from the stamp to SET CLOCK, without the loop.
    "aghi %r1,-9",
    "0: brctg %r1,0b",
    ".insn s,0xb2080000,{new_timer}(%r0)",
    ".insn s,0xb2040000,{clock}(%r0)",
    ".insn s,0xb2060000,{comparator}(%r0)",
    "lg %r1,{after}(%r0)",
    "1: brctg %r1,1b",
    "br %r14",
    // Lets time pass until the target, and then some more instructions, without loops: at most PADS in all. Uses %r1 and %r2.
    ".globl firmware_pad",
    "firmware_pad:",
    ".insn s,0xb27c0000,{now}(%r0)",
    "lg %r1,{target}(%r0)",
    "slg %r1,{now}(%r0)",
    "msgfi %r1,125",
    "alg %r1,{rounding}(%r0)",
    "lg %r2,{shift}(%r0)",
    "srlg %r1,%r1,0(%r2)",
    "alg %r1,{after}(%r0)",
    "larl %r2,2f",
    "sgr %r2,%r1",
    "sgr %r2,%r1",
    "br %r2",
    ".rept {pads}",
    "lr %r1,%r1",
    ".endr",
    "2: br %r14",
    pads = const PADS,
    now = const offset_of!(Lowcore, window) + offset_of!(WindowArea, now),
    target = const offset_of!(Lowcore, window) + offset_of!(WindowArea, target),
    rounding = const offset_of!(Lowcore, window) + offset_of!(WindowArea, rounding),
    shift = const offset_of!(Lowcore, window) + offset_of!(WindowArea, shift),
    new_timer = const offset_of!(Lowcore, window) + offset_of!(WindowArea, new_timer),
    clock = const offset_of!(Lowcore, window) + offset_of!(WindowArea, clock),
    comparator = const offset_of!(Lowcore, window) + offset_of!(WindowArea, comparator),
    after = const offset_of!(Lowcore, window) + offset_of!(WindowArea, after),
);

unsafe extern "C" {
    fn firmware_set_back();
}

/// Does it now, as the area says, of which the assembly fills in some itself.
pub fn perform(area: WindowArea) {
    lowcore::set_window(area);
    // SAFETY: changes the clock and the timers only, and two registers that a routine may change.
    unsafe { firmware_set_back() };
}
