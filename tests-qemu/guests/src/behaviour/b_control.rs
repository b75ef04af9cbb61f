//! LOAD CONTROL and STORE CONTROL: all sixteen registers, 32 and 64 bits, and wrap-around from 15 to 0.

use core::arch::asm;

use guests::insn::control::{lctlg_all, stctg_all};
use guests::shows;

guests::clause!("SA22-7832, LOAD CONTROL; STORE CONTROL", native = true);
guests::case!(run);

/// What storage holds before and beside an operand.
const BEFORE: u64 = 0x5A5A_5A5A_5A5A_5A5A;

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
    shows!(["LCTL-3", "STCTL-2"], stctg_all(), values);
    let words: [u32; 2] = [0x7654_3000, 0x0765_4000];
    // SAFETY: control registers 4 and 5 have no effect here.
    unsafe { asm!("lctl 4,5,0({a})", a = in(reg_addr) words.as_ptr()) };
    for (n, word) in [(4, words[0]), (5, words[1])] {
        let (left, right) = (values[n] & !0xFFFF_FFFF, u64::from(word));
        values[n] = left | right;
    }
    shows!(["LCTL-1", "LCTL-2"], stctg_all(), values);
    values[5] ^= 0xFF << 40;
    // SAFETY: as above; one register.
    unsafe { asm!("lctlg 5,5,0({a})", a = in(reg_addr) &raw const values[5]) };
    shows!("LCTL-5", stctg_all(), values);
    let mut stored = [BEFORE as u32; 5];
    // SAFETY: stores three words inside the array.
    unsafe { asm!("stctl 15,1,4({a})", a = in(reg_addr) stored.as_mut_ptr()) };
    let [fifteen, zero, one] = [15, 0, 1].map(|n| values[n] as u32);
    shows!(
        ["STCTL-1", "STCTL-3"],
        stored,
        [BEFORE as u32, fifteen, zero, one, BEFORE as u32]
    );
    let mut stored = [BEFORE; 3];
    // SAFETY: stores one doubleword into the middle of the array.
    unsafe { asm!("stctg 5,5,8({a})", a = in(reg_addr) stored.as_mut_ptr()) };
    shows!("STCTL-4", stored, [BEFORE, values[5], BEFORE]);
    let mut wrapped = [values[15] ^ 0xF000, values[0], values[1] ^ 0xF000];
    // SAFETY: control register 0 keeps its contents, and 15 and 1 have no effect here.
    unsafe { asm!("lctlg 15,1,0({a})", a = in(reg_addr) wrapped.as_mut_ptr()) };
    [values[15], values[0], values[1]] = wrapped;
    shows!("LCTL-4", stctg_all(), values);
    lctlg_all(&saved);
    shows!("LCTL-3", stctg_all(), saved);
}
