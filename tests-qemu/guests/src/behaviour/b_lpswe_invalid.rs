//! LOAD PSW EXTENDED loads a PSW with invalid bits and only then meets the specification exception: the
//! old PSW is the loaded one and the instruction-length code is 0 (early exception).

use core::arch::asm;

use guests::check::check;
use guests::interruption::{Class, old_psw};
use guests::lowcore;
use guests::psw::{ADDRESSING_64, EXTERNAL, Psw, bit};

guests::clause!(
    "Principles of Operation, Early Exception Recognition; LOAD PSW EXTENDED",
    native = false
);
guests::case!(run);

fn load(name: &str, mask: u64, address: u64) {
    let psw = Psw::new(mask, address);
    lowcore::write(lowcore::PROGRAM_CODE, 0_u16);
    // SAFETY: the PSW is invalid, so the program interruption resumes behind the instruction.
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
    check(name, lowcore::read::<u16>(lowcore::PROGRAM_CODE), 6);
    check(
        "  length code",
        lowcore::read::<u16>(lowcore::PROGRAM_LENGTH),
        0,
    );
    let old = old_psw(Class::Program);
    check("  old PSW mask is the loaded one", old.mask, mask);
    check("  old PSW address is the loaded one", old.address, address);
}

fn run() {
    load("bit 0", ADDRESSING_64 | bit(0), 0x1000);
    load("bit 2", ADDRESSING_64 | bit(2), 0x1000);
    load("bit 4", ADDRESSING_64 | bit(4), 0x1000);
    load("bit 12", ADDRESSING_64 | bit(12), 0x1000);
    load("bit 25", ADDRESSING_64 | bit(25), 0x1000);
    load("bit 33", ADDRESSING_64 | bit(33), 0x1000);
    load("bit 63", ADDRESSING_64 | bit(63), 0x1000);
    load("bit 31 one and bit 32 zero", bit(31), 0x1000);
    load("24-bit mode, address bit 39 one", 0, 0x0100_0000);
    load("31-bit mode, address bit 32 one", bit(32), 0x8000_0000);
    load(
        "31-bit mode, address bit 0 one",
        bit(32),
        0x8000_0000_0000_0000,
    );
    load(
        "external mask on does not help",
        ADDRESSING_64 | EXTERNAL | bit(0),
        0x1000,
    );
}
