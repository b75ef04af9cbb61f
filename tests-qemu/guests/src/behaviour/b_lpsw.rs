//! LOAD PSW takes an eight-byte PSW: bit 12 must be one and becomes zero, bit 32 is the addressing mode.
//! (QEMU 7.2 keeps bit 12 and loses the mode, hence not native.)

use core::arch::asm;

use guests::attempt::{Outcome, suppressed};
use guests::psw::{EXTERNAL, bit};
use guests::{attempt, shows};

guests::clause!("SA22-7832, LOAD PSW", native = false);
guests::case!(run);

/// What a PSW of eight bytes leads to: the left half of the PSW, and the condition code by INSERT PROGRAM MASK.
///
/// The 31-bit addressing mode and the address are added. The image lies below 2 GiB.
fn load(left: u64) -> (u64, u8) {
    let mut short = 0_u64;
    let (high, low, code): (u64, u64, u64);
    // SAFETY: goes to the 31-bit mode and back.
    unsafe {
        asm!(
            "larl {t}, 31f",
            "oilh {t}, 0x8000",
            "ogr {t}, {l}",
            "stg {t}, 0({p})",
            "lpsw 0({p})",
            "31: ipm {t}",
            "epsw {h}, {l}",
            "sam64",
            "spka 0",
            "stnsm 0({p}), 0",
            p = in(reg_addr) &raw mut short,
            t = out(reg) code,
            h = inout(reg_addr) 0_u64 => high,
            l = inout(reg_addr) left => low,
        );
    }
    (high << 32 | low & 0xFFFF_FFFF, (code >> 28) as u8 & 3)
}

/// Bit 12 of the PSW in this format.
const SHORT: u64 = bit(12);

fn run() {
    let (psw, code) = load(SHORT | EXTERNAL | 5 << 52 | 2 << 44);
    shows!(
        ["LPSW-1", "LPSW-3"],
        psw,
        EXTERNAL | 5 << 52 | 2 << 44 | bit(32)
    );
    shows!("LPSW-4", code, 2);
    for expected in 0..4_u8 {
        let (_, code) = load(SHORT | u64::from(expected) << 44);
        shows!("LPSW-4", code, expected);
    }
    // A PSW without bit 12, and one with a bit that must be zero.
    let refused = EXTERNAL | bit(32) | 0x1000;
    let outcome = attempt!("lpsw 0({p})", p = in(reg_addr) &raw const refused);
    shows!("LPSW-5", outcome.number(), suppressed(6, 4));
    let invalid = SHORT | bit(2) | bit(32) | 0x1000;
    if let Outcome::Program(program) = attempt!("lpsw 0({p})", p = in(reg_addr) &raw const invalid)
    {
        shows!("LPSW-6", (program.code, program.length), (6, 0));
        shows!("LPSW-6", program.old.mask, bit(2) | bit(32));
        shows!("LPSW-2", program.old.address, 0x1000);
    }
}
