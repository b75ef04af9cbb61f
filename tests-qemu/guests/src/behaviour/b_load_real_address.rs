//! LOAD REAL ADDRESS tells which table entry ended the translation: condition code 1 and the address of the
//! segment-table entry, 2 and the address of the page-table entry, or 3 and an exception code. (QEMU always gives 3,
//! hence not native.)

use guests::attempt::{Outcome, suppressed};
use guests::check::{check, holds};
use guests::dat::{self, INVALID, PROTECTED, WINDOW};
use guests::insn::cpu::Page;
use guests::insn::storage::lrag;
use guests::{attempt, attempt_in_problem_state};

guests::clause!("Principles of Operation, LOAD REAL ADDRESS", native = false);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

fn translate(address: u64) -> (u8, u64) {
    let before = 0x1234_5678_0000_0000_u64;
    let after: u64;
    let cc: u64;
    // SAFETY: reads tables only.
    unsafe {
        core::arch::asm!("lrag {r},0({a})", "ipm {c}", a = in(reg_addr) address, r = inout(reg) before => after, c = out(reg) cc);
    }
    ((cc >> 28) as u8 & 3, after)
}

fn run() {
    let real = &raw mut PAGE as u64;
    dat::prepare();
    dat::set_window(2, real | PROTECTED);
    dat::set_window(3, real | INVALID);
    for on in [false, true] {
        if on {
            dat::on();
        }
        let (cc, got) = lrag(WINDOW + 0x2ABC);
        check("a protected page", cc, 0);
        holds("  its real address", got == real + 0xABC);
        let (cc, got) = translate(WINDOW + 0x3ABC);
        check("an invalid page", cc, 2);
        holds(
            "  the address of its page-table entry",
            got == dat::window_origin() + 3 * 8,
        );
        let (cc, got) = translate(WINDOW + (1 << 20));
        check("an invalid segment", cc, 1);
        holds(
            "  the address of its segment-table entry",
            got == dat::segment_entry(dat::WINDOW_SEGMENT + 1),
        );
        let (cc, got) = translate(1 << 33);
        check("beyond the table", cc, 3);
        check(
            "  bit 32 and the exception code, bits 0-31 unchanged",
            got,
            0x1234_5678_8000_0038,
        );
    }
    dat::off();
    let refused = attempt_in_problem_state!("lrag %r1, 0x900(%r0)");
    check("in problem state", refused.number(), suppressed(2, 6));
    holds(
        "in supervisor state it completes",
        matches!(attempt!("lrag %r1, 0x900(%r0)"), Outcome::Completed(_)),
    );
}
