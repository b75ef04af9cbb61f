//! LOAD PSW takes an eight-byte PSW: bit 12 must be one and becomes zero, bit 32 is the addressing mode.
//! (QEMU 7.2 keeps bit 12 and loses the mode, hence not native.)

use core::arch::asm;

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;

guests::clause!("Principles of Operation, LOAD PSW", native = false);
guests::case!(run);

fn run() {
    let mut short = 0_u64;
    let (high, low): (u64, u64);
    // SAFETY: goes to 31-bit mode and back; the image lies below 2 GiB.
    unsafe {
        asm!(
            "larl {t}, 31f",
            "oilh {t}, 0x8000",
            "llilh {l}, 0x0008",
            "sllg {l}, {l}, 32",
            "ogr {l}, {t}",
            "stg {l}, 0({p})",
            "lpsw 0({p})",
            "31: epsw {h}, {l}",
            "sam64",
            p = in(reg_addr) &raw mut short,
            t = out(reg_addr) _,
            h = inout(reg_addr) 0_u64 => high,
            l = inout(reg_addr) 0_u64 => low,
        );
    }
    check("bits 0-31 without the condition code", high & !0x3000, 0);
    check("bits 32-63: 31-bit mode", low & 0xFFFF_FFFF, 0x8000_0000);
    let misaligned = &raw const short as u64 + 4;
    let outcome = attempt!("lpsw 0({a})", a = in(reg_addr) misaligned);
    check(
        "LPSW on a word boundary",
        outcome.number(),
        suppressed(6, 4),
    );
}
