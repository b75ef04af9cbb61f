//! SET ADDRESSING MODE: EXTRACT PSW shows the mode, privileged instructions ignore the address bits
//! beyond it, and an interruption's old PSW holds it.

use core::arch::asm;

use guests::attempt::Outcome;
use guests::check::check;
use guests::insn::clock::stckc;
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "Principles of Operation, Address Size and Wraparound; SET ADDRESSING MODE",
    native = true
);
guests::case!(run);

fn run() {
    let (high, low): (u64, u64);
    // SAFETY: goes to 24-bit mode and back; the program's next two instructions lie in what was fetched.
    unsafe {
        asm!("sam24", "epsw {h}, {l}", "sam64", h = inout(reg_addr) 0_u64 => high, l = inout(reg_addr) 0_u64 => low);
    }
    check(
        "SAM24: bits 0-31 without the condition code",
        high & !0x3000,
        0,
    );
    check("SAM24: bits 32-63", low & 0xFFFF_FFFF, 0);
    let value = 0x0123_4567_89AB_CDEF_u64;
    let address = &raw const value as u64 | 0xFFFF_FFFF_8000_0000;
    let outcome = attempt!("sam31\n sckc 0({a})\n sam64", a = in(reg_addr) address);
    check(
        "SCKC in 31-bit mode, address bits 0-32 one",
        outcome.code(),
        0,
    );
    check("  the comparator", stckc(), value);
    for (name, outcome, state) in [
        ("supervisor state", attempt!("sam31\n .short 0"), 0),
        (
            "problem state",
            attempt_in_problem_state!("sam31\n .short 0"),
            1 << 48,
        ),
    ] {
        if let Outcome::Program(program) = outcome {
            check(name, program.code, 1);
            check(
                "  old PSW mask without the condition code",
                program.old.mask & !(3 << 44),
                0x8000_0000 | state,
            );
            check(
                "  old PSW address is behind SAM31 and the instruction",
                program.advanced as u64,
                4,
            );
        } else {
            check(name, 0_u16, 1);
        }
    }
}
