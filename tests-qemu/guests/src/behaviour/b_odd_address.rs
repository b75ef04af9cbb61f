//! A PSW with an odd instruction address is loaded. The instruction fetch then meets a specification exception, and
//! its old PSW holds the odd address. (QEMU performs the instruction there, hence not native.)

use core::arch::asm;

use guests::check::check;
use guests::interruption::{Class, old_psw};
use guests::lowcore;
use guests::psw::{INITIAL, Psw};

guests::clause!(
    "Principles of Operation, Specification Exception (odd instruction address)",
    native = false
);
guests::case!(run);

fn run() {
    let psw = Psw::new(INITIAL, 0x2001);
    // SAFETY: the fetch interrupts and resumes behind the instruction.
    unsafe {
        asm!(
            "larl %r1, 33f",
            "stg %r1, 0x700(%r0)",
            "lpswe 0({p})",
            "33:",
            p = in(reg_addr) &raw const psw,
            out("r1") _,
        );
    }
    lowcore::write(lowcore::RESUME, 0_u64);
    check("code", lowcore::read::<u16>(lowcore::PROGRAM_CODE), 6);
    check(
        "old PSW address is odd",
        old_psw(Class::Program).address & 1,
        1,
    );
}
