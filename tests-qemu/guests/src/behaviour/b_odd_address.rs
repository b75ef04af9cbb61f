//! A PSW with an odd instruction address is loaded. The instruction fetch then meets a specification exception, and
//! its old PSW holds the odd address. (QEMU performs the instruction there, hence not native.)

use core::arch::asm;

use guests::interruption::{Class, old_psw};
use guests::lowcore;
use guests::psw::{INITIAL, Psw};
use guests::shows;

guests::clause!(
    "SA22-7832, Chapter 6, Late Exception Recognition; Instruction-Length Code",
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
    let code: u16 = lowcore::read(lowcore::PROGRAM_CODE);
    let length: u16 = lowcore::read(lowcore::PROGRAM_LENGTH);
    let address = old_psw(Class::Program).address;
    shows!("LATE-4", (code, address & 1), (6, 1));
    shows!("ILC-10", matches!(length, 2 | 4 | 6));
    shows!("ILC-10", address.wrapping_sub(length.into()), 0x2001);
}
