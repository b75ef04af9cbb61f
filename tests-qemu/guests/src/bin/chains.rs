//! Back chains that lead astray, while samples are taken from below.
//!
//! The machine follows the chain at each sample of a run with `--stacks`. Each part puts another address or another chain
//! where a routine has its frame, and executes a loop. The loops say nothing: a run without `--stacks` has the same
//! samples.
#![no_std]
#![no_main]

use core::arch::asm;

use guests::dat::{self, WINDOW};
use guests::insn::cpu::Page;

guests::clause!("measure: back chains that lead astray", native = false);
guests::guest!(run);

/// Turns of each loop.
const TURNS: u64 = 40_000;

/// The invalid bit of a page-table entry.
const INVALID: u64 = 0x400;

/// Doublewords from one frame to the next.
const FRAME: usize = 20;

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

fn run() {
    let frames = (&raw mut FRAMES).cast::<u64>();
    let at = |frame: usize| frames as u64 + (frame * FRAME * 8) as u64;
    let put = |frame: usize, chain: u64| {
        // SAFETY: a doubleword of the two pages, which nothing else uses.
        unsafe { frames.add(frame * FRAME).write_volatile(chain) };
    };
    put(0, at(1));
    // Complete.
    put(1, 0);
    turns_with_frame(at(0));
    // A circle of two, and of one.
    put(1, at(0));
    turns_with_frame(at(0));
    put(1, at(1));
    turns_with_frame(at(0));
    // Off its boundary, at once and later.
    turns_with_frame(at(0) + 2);
    put(1, at(2) + 1);
    turns_with_frame(at(0));
    // The end of storage and the system area behind it, beyond all storage, the highest address.
    for beyond in [0x1FFF_F000, 0x2000_0000, 1 << 40, !0xFF_u64, !7_u64] {
        put(1, beyond);
        turns_with_frame(at(0));
        turns_with_frame(beyond);
    }
    // A page that is not there.
    dat::prepare();
    dat::set_window(0, at(0) & !0xFFF);
    dat::set_window(1, INVALID);
    put(0, WINDOW + 0x1000);
    dat::on();
    turns_with_frame(WINDOW + (at(0) & 0xFFF));
    turns_with_frame(WINDOW + 0x1000);
    // The page that a frame begins in ends before its return address.
    turns_with_frame(WINDOW + 0xFF8);
    dat::off();
}

/// A loop with this frame.
#[inline(never)]
fn turns_with_frame(frame: u64) {
    // SAFETY: nothing in the loop needs the stack, and interruptions have stacks of their own.
    unsafe {
        asm!(
            "lgr {kept}, %r15",
            "lgr %r15, {frame}",
            "40: brctg {turns}, 40b",
            "lgr %r15, {kept}",
            kept = out(reg) _,
            frame = in(reg) frame,
            turns = inout(reg) TURNS => _,
        );
    }
}
