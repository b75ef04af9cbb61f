//! Ten loops of instructions of four bytes, each with one instruction that the machine performs: where samples of them
//! fall.
#![no_std]
#![no_main]

use core::arch::global_asm;

use guests::insn::measurement::{controls, lcctl, set};
use guests::println;

guests::clause!("measure: samples of a trapped instruction", native = false);
guests::guest!(run);

/// How often each loop is performed.
const TURNS: u64 = 50_000;

global_asm!(
    ".section .text.trapped_loops,\"ax\",@progbits",
    ".macro trapped_loop number, before, after, trapped:vararg",
    ".p2align 3",
    ".globl trapped_loop_\\number",
    "trapped_loop_\\number:",
    ".rept \\before",
    "lgr %r5, %r2",
    ".endr",
    "\\trapped",
    ".rept \\after",
    "lgr %r5, %r2",
    ".endr",
    "brct %r2, trapped_loop_\\number",
    "br %r14",
    ".endm",
    // LOAD REAL ADDRESS and STORE USING REAL ADDRESS, which the machine performs together.
    ".macro store_by_real_address",
    "lra %r5, 0x908(%r0)",
    ".insn rre, 0xB9250000, %r2, %r5",
    ".endm",
    "trapped_loop 0, 50, 50, ssm 0x900(%r0)",
    "trapped_loop 1, 0, 100, lctl %c4, %c4, 0x904(%r0)",
    "trapped_loop 2, 99, 0, store_by_real_address",
    "trapped_loop 3, 3, 7, stpx 0x900(%r0)",
    "trapped_loop 4, 20, 21, stnsm 0x900(%r0), 0xFF",
    "trapped_loop 5, 63, 3, stosm 0x900(%r0), 0",
    "trapped_loop 6, 10, 79, .insn rre, 0xB98D0000, %r5, %r0",
    "trapped_loop 7, 40, 12, .insn rre, 0xB2E40000, %r5, %r3",
    "trapped_loop 8, 1, 32, iske %r5, %r3",
    "trapped_loop 9, 90, 30, stpt 0x900(%r0)",
);

/// A loop, how many instructions it has, and which of them traps.
struct Loop(unsafe extern "C" fn(u64, u64), u64, u64);

macro_rules! loops {
    ($($name:ident $before:literal $after:literal),*) => {
        unsafe extern "C" {
            $(fn $name(turns: u64, zero: u64);)*
        }
        const LOOPS: [Loop; 10] = [$(Loop($name, $before + $after + 2, $before)),*];
    };
}

loops!(
    trapped_loop_0 50 50, trapped_loop_1 0 100, trapped_loop_2 99 1, trapped_loop_3 3 7, trapped_loop_4 20 21,
    trapped_loop_5 63 3, trapped_loop_6 10 79, trapped_loop_7 40 12, trapped_loop_8 1 32, trapped_loop_9 90 30
);

fn run() {
    lcctl(controls(set::BASIC, set::BASIC));
    for Loop(routine, length, trapped) in LOOPS {
        let at = routine as *const () as u64;
        println!("loop at {at:x}: {length} instructions, number {trapped} traps");
        // SAFETY: it uses the registers of a call and a byte of the prefix area that nothing else uses.
        unsafe { routine(TURNS, 0) };
    }
}
