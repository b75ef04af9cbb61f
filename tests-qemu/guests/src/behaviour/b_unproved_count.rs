//! Code whose sensitive instructions cannot be known beforehand, with data of the same bits between its parts, counts
//! as many instructions as it performs. The machine's own work to find them is not counted.
//!
//! Sixteen blocks in a page: each calls a piece by an address in a register, and the piece holds an EXTRACT PSW. The
//! sixteenth block starts the next round.

use core::arch::asm;

use guests::check::check;
use guests::end;
use guests::insn::cpu::{Page, facility};
use guests::insn::measurement::{controls, lcctl, set};

guests::clause!(
    "SA23-2260, Instruction Count (basic counter set, counter 1); Principles of Operation, EXTRACT PSW",
    native = false
);
guests::case!(run);

static mut CODE: Page = Page([0; 4096]);

fn put(offset: usize, halfwords: &[u16]) {
    // SAFETY: the page is this program's own, and nothing refers to it.
    unsafe { Page::put(&raw mut CODE, offset, halfwords) }
}

/// One block, of 7 instructions with its piece:
///   LA 1,piece(13); BASR 14,1                                 2
///   IPM 5; EPSW 2,3; CR 0,0; BER 14                           4
///   J next, or BRCTG 4,first                                  1
fn block(number: usize) {
    let at = number * 0x100;
    put(at, &[0x4110, 0xD000 | (at as u16 + 0x40), 0x0DE1]);
    if number < 15 {
        put(at + 6, &[0xA7F4, (0x100 - 6) / 2]);
    } else {
        // BRCTG, and BR 8 behind it.
        put(at + 6, &[0xA747, (-(0xF06_i16) / 2) as u16, 0x07F8]);
    }
    put(
        at + 0x40,
        &[0xB222, 0x0050, 0xB98D, 0x0023, 0x1900, 0x078E, 0],
    );
    put(at + 0x80, &[0, 0xB98D, 0, 0xB2B0, 0, 0xE501, 0, 0xB928, 0]);
}

fn rounds(count: u64) -> u64 {
    let (first, last): (u64, u64);
    // SAFETY: the page uses only these registers and returns by register 8.
    unsafe {
        asm!(
            ".insn rre,0xb2e40000,{f},{n}",
            "basr %r8, %r13",
            ".insn rre,0xb2e40000,{l},{n}",
            n = in(reg) 1_u64,
            f = out(reg) first,
            l = out(reg) last,
            in("r13") &raw const CODE as u64,
            inout("r4") count => _,
            out("r1") _, out("r2") _, out("r3") _, out("r5") _, out("r8") _, out("r14") _,
        );
    }
    last.wrapping_sub(first)
}

fn run() {
    if !facility(67) || lcctl(controls(set::BASIC, set::BASIC)) != 0 {
        end::end_failure(0x10);
    }
    for (_, count) in (0..3).zip([1_u64, 10, 1000]) {
        for number in 0..16 {
            block(number);
        }
        // BASR, 16 blocks of 7 a round, BR 8, the second ECCTR.
        let expected = 1 + 112 * count + 1 + 1;
        check("page new: instructions", rounds(count), expected);
        check("page known: instructions", rounds(count), expected);
    }
}
