//! An instruction stores into the page that it stands in, or that its EXECUTE target stands in, by another
//! address; MOVE PAGE with the condition-code option tells of invalid pages alone; MOVE WITH OPTIONAL
//! SPECIFICATIONS stores into the home space.
#![no_std]
#![no_main]

use core::arch::asm;

use guests::attempt::{Outcome, outcome};
use guests::check::check;
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::cpu::Page;

guests::clause!(
    "Principles of Operation, Conceptual Sequence; EXECUTE; MOVE PAGE; MOVE WITH OPTIONAL SPECIFICATIONS",
    native = true
);
guests::guest!(run);

/// The condition-code option of MOVE PAGE.
const OPTION: u64 = 0x100;

static mut TEXT: Page = Page([0; 4096]);
static mut OTHER: Page = Page([0; 4096]);

/// Attempts an instruction with operands at the addresses in registers 2 and 3, with controls in register
/// 0 and a length in register 5.
macro_rules! attempt_move {
    ($text:literal, $controls:expr, $to:expr, $from:expr) => {{
        let ipm: u64;
        // SAFETY: the pages are the guest's; the stub resumes behind the instruction however it ends.
        unsafe {
            asm!(
                "larl %r1, 32f",
                "stg %r1, 0x720(%r0)",
                "mvghi 0x708(%r0), 0",
                "larl %r1, 33f",
                "stg %r1, 0x700(%r0)",
                "32:",
                $text,
                "33: ipm %r1",
                inout("r0") $controls => _,
                in("r2") $to,
                in("r3") $from,
                in("r5") 8_u64,
                out("r1") ipm,
            );
        }
        outcome(ipm)
    }};
}

/// MOVE PAGE with these controls: the program-interruption code, or the condition code.
fn mvpg(controls: u64, to: u64, from: u64) -> u64 {
    match attempt_move!(".insn rre,0xb2540000,%r2,%r3", controls, to, from) {
        Outcome::Completed(code) => code.into(),
        other => other.code().into(),
    }
}

fn run() {
    dat::prepare();
    let text = &raw mut TEXT as u64;
    for (page, frame) in [(0, text), (3, text), (5, &raw mut OTHER as u64)] {
        dat::set_window(page, frame);
    }
    dat::set_window(7, text | INVALID);
    // SAFETY: a page of the guest's. AGSI of the doubleword at 0x200(2), BR 14; the AGSI alone, for EXECUTE.
    unsafe {
        Page::put(&raw mut TEXT, 0, &[0xEB01, 0x2200, 0x007A, 0x07FE]);
        Page::put(&raw mut TEXT, 0x100, &[0xEB01, 0x2200, 0x007A]);
    }
    dat::on();
    for n in 1..4_u64 {
        // SAFETY: the text above comes back.
        unsafe {
            asm!("basr %r14, {c}", c = in(reg_addr) WINDOW, in("r2") WINDOW + 0x3000, out("r14") _);
            asm!("ex 0, 0({c})", c = in(reg_addr) WINDOW + 0x100, in("r2") WINDOW + 0x3000);
        }
        // SAFETY: a word of the page.
        let word = unsafe { ((WINDOW + 0x3200) as *const u64).read_volatile() };
        check("stored by another address", word, 2 * n);
    }
    // The first touch of a page is not an invalid page.
    let (text, other, invalid) = (WINDOW + 0x3000, WINDOW + 0x5000, WINDOW + 0x7000);
    check("MVPG of valid pages", mvpg(OPTION, other, text), 0);
    check("MVPG to an invalid page", mvpg(OPTION, invalid, text), 1);
    check("MVPG from an invalid page", mvpg(OPTION, other, invalid), 2);
    check("MVPG without the option", mvpg(0, other, invalid), 0x11);
    let moved = attempt_move!(
        ".insn ssf,0xc80000000000,0x800(%r2),0x200(%r3),%r5",
        0x00C1_0000_u64,
        other,
        text
    );
    check("MVCOS into the home space", moved.number(), 0);
    // SAFETY: a doubleword of the page.
    let moved = unsafe { ((WINDOW + 0x5800) as *const u64).read_volatile() };
    check("  what it moved", moved, 6);
    dat::off();
}
