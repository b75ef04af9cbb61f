//! LOAD CONTROL and STORE CONTROL: all sixteen registers, 32 and 64 bits, wrap-around from 15 to 0, and
//! the alignment of the operand.

use core::arch::asm;

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::control::{lctlg_all, stctg_all};

guests::clause!(
    "Principles of Operation, LOAD CONTROL; STORE CONTROL",
    native = true
);
guests::case!(run);

fn run() {
    let saved = stctg_all();
    let mut values = saved;
    for (n, value) in values.iter_mut().enumerate() {
        // Registers without effect while DAT is off and nothing is enabled.
        if [1, 2, 4, 5, 7, 10, 11, 13, 15].contains(&n) {
            *value = 0x0123_4567_89AB_C000 + ((n as u64) << 32);
        }
    }
    lctlg_all(&values);
    let stored = stctg_all();
    for (n, (got, expected)) in stored.iter().zip(values).enumerate() {
        check(
            "LCTLG then STCTG",
            (n as u64) << 56 ^ *got,
            (n as u64) << 56 ^ expected,
        );
    }
    let half: u32 = 0x7654_3000;
    // SAFETY: control register 5 has no effect here.
    unsafe { asm!("lctl 5,5,0({a})", a = in(reg_addr) &raw const half) };
    check(
        "LCTL changes bits 32-63 only",
        stctg_all()[5],
        values[5] & 0xFFFF_FFFF_0000_0000 | u64::from(half),
    );
    let mut words = [0_u32; 3];
    // SAFETY: stores three words into a local.
    unsafe { asm!("stctl 15,1,0({a})", a = in(reg_addr) words.as_mut_ptr()) };
    check("STCTL wraps: 15", words[0], values[15] as u32);
    check("STCTL wraps: 0", words[1], values[0] as u32);
    check("STCTL wraps: 1", words[2], values[1] as u32);
    let mut list = [0_u64; 4];
    let odd = list.as_mut_ptr() as u64 + 4;
    check(
        "STCTG on a word boundary",
        attempt!("stctg 0,0,0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 6),
    );
    check(
        "LCTLG on a word boundary",
        attempt!("lctlg 5,5,0({a})", a = in(reg_addr) odd).number(),
        suppressed(6, 6),
    );
    check(
        "LCTL on a halfword",
        attempt!("lctl 5,5,0({a})", a = in(reg_addr) odd + 2).number(),
        suppressed(6, 4),
    );
    lctlg_all(&saved);
    check("restored", u64::from(stctg_all() == saved), 1);
}
