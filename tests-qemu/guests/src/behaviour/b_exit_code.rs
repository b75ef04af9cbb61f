//! DIAGNOSE 701 ends the guest with an exit code, although another CPU would go on.

use core::arch::asm;

use guests::attempt::suppressed;
use guests::check::check;
use guests::{attempt, attempt_in_problem_state, smp};

guests::clause!(
    "Millimeter, DIAGNOSE 701: a guest ends with an exit code",
    native = false,
    cpus = 2,
    end = failure
);
guests::case!(run);

const PRIVILEGED_OPERATION: u16 = 2;
const SPECIFICATION: u16 = 6;

/// The exit code. Bits 0-31 of the register are ignored.
const CODE: u64 = 0xFFFF_FFFF_0000_002A;

/// Never ends by itself.
extern "C" fn go_on() -> ! {
    loop {
        guests::insn::yield_cpu();
    }
}

/// Attempts DIAGNOSE 701 with this code, which is refused.
fn refused(code: u64) -> u64 {
    attempt!(".insn rs,0x83000000,{c},%r0,0x701(%r0)", c = in(reg) code).number()
}

fn run() {
    for code in [0x100, 0x8000_0000, 0xFFFF_FFFF] {
        check(
            "a code above 255",
            refused(code),
            suppressed(SPECIFICATION, 4),
        );
    }
    let outcome =
        attempt_in_problem_state!(".insn rs,0x83000000,{c},%r0,0x701(%r0)", c = in(reg) 0_u64);
    check(
        "in the problem state",
        outcome.number(),
        suppressed(PRIVILEGED_OPERATION, 4),
    );
    smp::start(1, go_on);
    guests::insn::yield_cpu();
    // SAFETY: nothing follows.
    unsafe { asm!(".insn rs,0x83000000,{c},%r0,0x701(%r0)", c = in(reg) CODE) }
    check("an instruction after the end", 1, 0);
}
