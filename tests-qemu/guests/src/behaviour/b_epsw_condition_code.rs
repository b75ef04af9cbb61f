//! EXTRACT PSW shows the condition code that the instruction before it set, and leaves bits 0-31 of its
//! operands alone. (QEMU 7.2 shows a stale condition code natively, hence not native.)

use core::arch::asm;

use guests::shows;

guests::clause!("SA22-7832, EXTRACT PSW", native = false);
guests::case!(run);

fn run() {
    let (high, low): (u64, u64);
    // SAFETY: sets the condition code and reads the PSW.
    unsafe {
        asm!(
            "lghi {h},1",
            "ltgr {h},{h}",
            "epsw {h},{l}",
            h = out(reg) high,
            l = inout(reg_addr) 0x1234_5678_0000_0000_u64 => low,
        );
    }
    shows!("EPSW-4", high, 0x0000_2001);
    shows!("EPSW-2", low, 0x1234_5678_8000_0000);
    for (value, expected) in [(0_i64, 0_u64), (-1, 0x1000), (1, 0x2000)] {
        let (high, zero, code): (u64, u64, u64);
        // SAFETY: as above; an R2 field of zero leaves register 0 alone.
        unsafe {
            asm!(
                "ltgr {v},{v}",
                "epsw {h},%r0",
                "ipm {c}",
                v = in(reg) value,
                h = inout(reg) 0xAAAA_BBBB_0000_0000_u64 => high,
                c = inout(reg) 0_u64 => code,
                inout("r0") 0x5A5A_u64 => zero,
            );
        }
        shows!(["EPSW-1", "EPSW-4"], high, 0xAAAA_BBBB_0000_0001 | expected);
        shows!("EPSW-3", zero, 0x5A5A);
        shows!("EPSW-4", code >> 16 & 0x3000, expected);
    }
}
