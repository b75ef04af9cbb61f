//! PSW and control registers.

use core::arch::asm;

use crate::psw::{INITIAL, WAIT, load_psw};

/// LOAD CONTROL (64) of one register.
macro_rules! lctlg {
    ($cr:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: a guest owns its control registers.
        unsafe { core::arch::asm!(concat!("lctlg ", $cr, ",", $cr, ",0({a})"), a = in(reg_addr) &raw const value) }
    }};
}

/// STORE CONTROL (64) of one register.
macro_rules! stctg {
    ($cr:literal) => {{
        let mut value: u64 = 0;
        // SAFETY: stores eight bytes into a local.
        unsafe { core::arch::asm!(concat!("stctg ", $cr, ",", $cr, ",0({a})"), a = in(reg_addr) &raw mut value) };
        value
    }};
}

/// LOAD CONTROL: control register 0.
pub fn lctlg_0(value: u64) {
    lctlg!("0", value);
}

/// STORE CONTROL: control register 0.
#[must_use]
pub fn stctg_0() -> u64 {
    stctg!("0")
}

/// LOAD CONTROL: control register 1, the primary address-space-control element.
pub fn lctlg_1(value: u64) {
    lctlg!("1", value);
}

/// LOAD CONTROL: control register 4, whose bits 48-63 are the primary address-space number.
pub fn lctlg_4(value: u64) {
    lctlg!("4", value);
}

/// LOAD CONTROL: control register 8, the monitor masks.
pub fn lctlg_8(value: u64) {
    lctlg!("8", value);
}

/// LOAD CONTROL: all sixteen control registers.
pub fn lctlg_all(values: &[u64; 16]) {
    // SAFETY: a guest owns its control registers.
    unsafe { asm!("lctlg 0,15,0({a})", a = in(reg_addr) values.as_ptr()) }
}

/// STORE CONTROL: all sixteen control registers.
#[must_use]
pub fn stctg_all() -> [u64; 16] {
    let mut values = [0; 16];
    // SAFETY: stores 128 bytes into a local.
    unsafe { asm!("stctg 0,15,0({a})", a = in(reg_addr) values.as_mut_ptr()) };
    values
}

/// EXTRACT PSW: bits 0-31 in the first result, bits 32-63 in the second.
#[must_use]
pub fn epsw() -> (u32, u32) {
    let (high, low): (u64, u64);
    // SAFETY: reads only.
    unsafe { asm!("epsw {h},{l}", h = inout(reg) 0_u64 => high, l = inout(reg_addr) 0_u64 => low) };
    (high as u32, low as u32)
}

/// SET SYSTEM MASK: PSW bits 0-7.
pub fn ssm(mask: u8) {
    // SAFETY: a guest owns its PSW.
    unsafe { asm!("ssm 0({a})", a = in(reg_addr) &raw const mask) }
}

/// STORE THEN AND SYSTEM MASK; the old mask is the result.
pub fn stnsm<const MASK: u8>() -> u8 {
    let mut old = 0_u8;
    // SAFETY: stores a byte into a local.
    unsafe { asm!("stnsm 0({a}),{m}", a = in(reg_addr) &raw mut old, m = const MASK) };
    old
}

/// STORE THEN OR SYSTEM MASK; the old mask is the result.
pub fn stosm<const MASK: u8>() -> u8 {
    let mut old = 0_u8;
    // SAFETY: stores a byte into a local.
    unsafe { asm!("stosm 0({a}),{m}", a = in(reg_addr) &raw mut old, m = const MASK) };
    old
}

/// INSERT PROGRAM MASK: condition code in bits 2-3 and program mask in bits 4-7 of the byte.
#[must_use]
pub fn ipm() -> u8 {
    let value: u64;
    // SAFETY: reads only.
    unsafe { asm!("ipm {v}", v = inout(reg) 0_u64 => value) };
    (value >> 24) as u8
}

/// SET PROGRAM MASK: condition code and program mask from the byte.
pub fn spm(mask: u8) {
    // SAFETY: the program mask only enables exceptions that the guest wants.
    unsafe { asm!("spm {v}", v = in(reg) u64::from(mask) << 24) }
}

/// Waits with these bits of the system mask open until a handler ends the wait. The handler of the interruption must
/// turn off the wait bit in the old PSW ([`crate::interruption::set_old_psw`]).
pub fn wait(mask: u64) {
    load_psw(INITIAL | WAIT | mask);
}
