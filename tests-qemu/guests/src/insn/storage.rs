//! Storage keys, protection tests and translation.

use core::arch::asm;

use crate::lowcore;
use crate::psw::{self, Psw};

/// TEST PROTECTION of the byte at `address` with this access key (bits 0-3 of the byte). Condition
/// code 0 fetch and store, 1 fetch only, 2 neither, 3 translation not available.
#[must_use]
pub fn tprot(address: u64, key: u64) -> u8 {
    let cc: u64;
    // SAFETY: reads protection only.
    unsafe {
        asm!("tprot 0({a}),0({k})", "ipm {c}", a = in(reg_addr) address, k = in(reg_addr) key, c = out(reg) cc)
    };
    (cc >> 28) as u8 & 3
}

/// SET STORAGE KEY EXTENDED of a 4 KiB block (M3 zero).
pub fn sske(key: u8, address: u64) {
    // SAFETY: a guest owns its storage keys.
    unsafe {
        asm!(".insn rrf,0xb22b0000,{k},{a},0,0", k = in(reg) u64::from(key), a = in(reg) address)
    }
}

/// INSERT STORAGE KEY EXTENDED.
#[must_use]
pub fn iske(address: u64) -> u8 {
    let key: u64;
    // SAFETY: reads a key.
    unsafe { asm!("iske {k},{a}", k = inout(reg) 0_u64 => key, a = in(reg) address) };
    key as u8
}

/// RESET REFERENCE BIT EXTENDED: the condition code says reference (2) and change (1) as they were.
pub fn rrbe(address: u64) -> u8 {
    let cc: u64;
    // SAFETY: a guest owns its storage keys.
    unsafe { asm!("rrbe %r0,{a}", "ipm {c}", a = in(reg) address, c = out(reg) cc) };
    (cc >> 28) as u8 & 3
}

/// LOAD REAL ADDRESS (64): condition code 0 and the real address, else what the code says.
#[must_use]
pub fn lrag(address: u64) -> (u8, u64) {
    let (cc, real): (u64, u64);
    // SAFETY: reads tables only.
    unsafe {
        asm!("lrag {r},0({a})", "ipm {c}", a = in(reg_addr) address, r = out(reg) real, c = out(reg) cc)
    };
    ((cc >> 28) as u8 & 3, real)
}

/// INVALIDATE PAGE TABLE ENTRY of the page that `address` designates, in the table at `table`.
pub fn ipte(table: u64, address: u64) {
    // SAFETY: the caller gives a page-table origin of its own.
    unsafe { asm!(".insn rrf,0xb2210000,{t},{a},0,0", t = in(reg) table, a = in(reg) address) }
}

/// PURGE TLB.
pub fn ptlb() {
    // SAFETY: forgets translations only.
    unsafe { asm!("ptlb") }
}

/// STORE USING REAL ADDRESS (64).
pub fn sturg(value: u64, real: u64) {
    // SAFETY: the caller owns that storage.
    unsafe { asm!("sturg {v},{a}", v = in(reg) value, a = in(reg) real) }
}

/// LOAD USING REAL ADDRESS (64).
#[must_use]
pub fn lurag(real: u64) -> u64 {
    let value: u64;
    // SAFETY: reads storage of the guest.
    unsafe { asm!("lurag {v},{a}", v = out(reg) value, a = in(reg) real) };
    value
}

/// Runs something with this PSW key (SET PSW KEY FROM ADDRESS), attempts included, and then goes on with key zero.
pub fn with_psw_key<T>(key: u64, run: impl FnOnce() -> T) -> T {
    set_psw_key(key);
    let found = run();
    set_psw_key(0);
    found
}

/// Gives a key to the PSW and to those that an attempt loads.
fn set_psw_key(key: u64) {
    for at in [lowcore::RESUME_PSW, lowcore::PROBLEM_PSW] {
        let mut psw: Psw = lowcore::read(at);
        psw.mask = psw.mask & !psw::KEY | key << psw::KEY.trailing_zeros();
        lowcore::write(at, psw);
    }
    // SAFETY: the supervisor state may use every key.
    unsafe { asm!("spka 0({k})", k = in(reg_addr) key << 4) };
}
