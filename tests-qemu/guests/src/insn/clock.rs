//! TOD clock, clock comparator and CPU timer.

use core::arch::asm;

/// TOD-clock units (bit 63 steps) of one microsecond.
pub const MICROSECOND: u64 = 4096;

/// STORE CLOCK: condition code 0 (set state) is expected.
#[must_use]
pub fn stck() -> u64 {
    let mut value = 0_u64;
    // SAFETY: stores eight bytes into a local.
    unsafe { asm!("stck 0({a})", a = in(reg_addr) &raw mut value) };
    value
}

/// STORE CLOCK FAST.
#[must_use]
pub fn stckf() -> u64 {
    let mut value = 0_u64;
    // SAFETY: stores eight bytes into a local.
    unsafe { asm!("stckf 0({a})", a = in(reg_addr) &raw mut value) };
    value
}

/// STORE CLOCK EXTENDED: sixteen bytes.
#[must_use]
pub fn stcke() -> [u8; 16] {
    let mut value = [0; 16];
    // SAFETY: stores sixteen bytes into a local.
    unsafe { asm!("stcke 0({a})", a = in(reg_addr) value.as_mut_ptr()) };
    value
}

/// SET CLOCK: condition code 0 set, 1 secure, 3 not operational.
pub fn sck(value: u64) -> u8 {
    let cc: u64;
    // SAFETY: a guest owns its clock.
    unsafe { asm!("sck 0({a})", "ipm {c}", a = in(reg_addr) &raw const value, c = out(reg) cc) };
    (cc >> 28) as u8 & 3
}

/// SET CLOCK COMPARATOR.
pub fn sckc(value: u64) {
    // SAFETY: a guest owns its clock comparator.
    unsafe { asm!("sckc 0({a})", a = in(reg_addr) &raw const value) }
}

/// STORE CLOCK COMPARATOR.
#[must_use]
pub fn stckc() -> u64 {
    let mut value = 0_u64;
    // SAFETY: stores eight bytes into a local.
    unsafe { asm!("stckc 0({a})", a = in(reg_addr) &raw mut value) };
    value
}

/// SET CPU TIMER.
pub fn spt(value: i64) {
    // SAFETY: a guest owns its CPU timer.
    unsafe { asm!("spt 0({a})", a = in(reg_addr) &raw const value) }
}

/// STORE CPU TIMER.
#[must_use]
pub fn stpt() -> i64 {
    let mut value = 0_i64;
    // SAFETY: stores eight bytes into a local.
    unsafe { asm!("stpt 0({a})", a = in(reg_addr) &raw mut value) };
    value
}
