//! A program changes code that has been executed once, and the changed code is executed the next time: an EXTRACT PSW
//! and a STORE FACILITY LIST EXTENDED that a store creates act like any other.

use core::arch::asm;
use core::ptr::{read_volatile, write_volatile};

use guests::check::{check, holds};
use guests::insn::control::ssm;
use guests::insn::cpu::Page;

guests::clause!(
    "Principles of Operation, Conceptual Sequence (instruction fetching); EXTRACT PSW",
    native = true
);
guests::case!(run);

static mut CODE: Page = Page([0; 4096]);

/// Performs the code page at this offset. Registers 2 and 3 are its results.
fn perform(offset: usize) -> (u64, u64) {
    let (first, second): (u64, u64);
    // SAFETY: the page holds one instruction and BR 14.
    unsafe {
        asm!(
            "basr %r14, {c}",
            c = in(reg_addr) &raw const CODE as u64 + offset as u64,
            inout("r2") 0_u64 => first,
            inout("r3") 0_u64 => second,
            out("r14") _,
        );
    }
    (first, second)
}

fn put(offset: usize, word: u32) {
    // SAFETY: inside the page.
    unsafe { write_volatile((&raw mut CODE as *mut u8).add(offset).cast(), word) };
}

fn get(offset: usize) -> u32 {
    // SAFETY: inside the page.
    unsafe { read_volatile((&raw const CODE as *const u8).add(offset).cast()) }
}

const LGHI_2: u32 = 0xA729_0000;
const EPSW_2_3: u32 = 0xB98D_0023;
/// BR 14 and a no-operation.
const RETURN: u32 = 0x07FE_0700;

fn run() {
    for offset in [0x100, 0x7FC] {
        put(offset, LGHI_2 | 0x123);
        put(offset + 4, RETURN);
        check("LGHI", perform(offset).0, 0x123);
        for round in 0..5_u8 {
            ssm(0x02);
            put(offset, EPSW_2_3);
            let (high, low) = perform(offset);
            check(
                "then EPSW: bits 0-31 without the condition code",
                high & !0x3000,
                0x0200_0001,
            );
            check("then EPSW: bits 32-63", low, 0x8000_0000);
            // An executed page may be fetched from a copy. A store makes it data again.
            put(0x400, round.into());
            check("the program reads what it wrote", get(offset), EPSW_2_3);
            ssm(0);
            put(offset, LGHI_2 | u32::from(round));
            check("then LGHI again", perform(offset).0, round.into());
        }
    }
    let mut count = 0;
    put(0x300, EPSW_2_3);
    put(0x304, RETURN);
    for n in 0..10 {
        put(0x400, n);
        count += u32::from(perform(0x300).0 & !0x3000 == 1) + get(0x400);
    }
    check(
        "data stores into the page between executions",
        count,
        10 + 45,
    );
    put(0x400, 0);
    holds(
        "the page reads as it was written",
        get(0x300) == EPSW_2_3 && get(0x304) == RETURN,
    );
}
