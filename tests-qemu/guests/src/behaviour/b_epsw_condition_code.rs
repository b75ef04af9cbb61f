//! EXTRACT PSW shows the condition code that the instruction before it set, and leaves bits 0-31 of its
//! operands alone. (QEMU 7.2 shows a stale condition code natively, hence not native.)

use core::arch::asm;

use guests::check::check;

guests::clause!("Principles of Operation, EXTRACT PSW", native = false);
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
    check(
        "LTGR of 1: condition code 2 in bits 18-19",
        high,
        0x0000_2001,
    );
    check("second operand", low, 0x1234_5678_8000_0000);
    for (value, expected) in [(0_i64, 0_u64), (-1, 0x1000), (1, 0x2000)] {
        let high: u64;
        // SAFETY: as above; R2 zero stores the first word only.
        unsafe {
            asm!(
                "lgr {k},%r0",
                "ltgr {v},{v}",
                "epsw {h},%r0",
                "lgr %r0,{k}",
                v = in(reg) value,
                h = inout(reg) 0xAAAA_BBBB_0000_0000_u64 => high,
                k = out(reg) _,
            );
        }
        check(
            "condition code, one operand",
            high,
            0xAAAA_BBBB_0000_0001 | expected,
        );
    }
}
