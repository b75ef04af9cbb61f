//! The program-status word, as guests write and read it.

/// DAT mode, bit 5.
pub const DAT: u64 = bit(5);
/// I/O mask, bit 6.
pub const IO: u64 = bit(6);
/// External mask, bit 7.
pub const EXTERNAL: u64 = bit(7);
/// Access key, bits 8-11.
pub const KEY: u64 = 0xF << 52;
/// Machine-check mask, bit 13.
pub const MACHINE_CHECK: u64 = bit(13);
/// Wait state, bit 14.
pub const WAIT: u64 = bit(14);
/// Problem state, bit 15.
pub const PROBLEM: u64 = bit(15);
/// 64-bit addressing mode, bits 31 and 32.
pub const ADDRESSING_64: u64 = bit(31) | bit(32);
/// The start state of a guest: supervisor state, disabled, DAT off, 64-bit addressing mode.
pub const INITIAL: u64 = ADDRESSING_64;

/// Bit `n` of a doubleword, numbered from the left as the manuals do: bit 0 is the sign bit.
#[must_use]
pub const fn bit(n: u32) -> u64 {
    1 << (63 - n)
}

/// A 16-byte program-status word in storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Psw {
    /// Bits 0-63: mask, key, state, condition code and addressing mode.
    pub mask: u64,
    /// Bits 64-127: instruction address.
    pub address: u64,
}

impl Psw {
    /// A PSW of a mask and an instruction address.
    #[must_use]
    pub const fn new(mask: u64, address: u64) -> Self {
        Self { mask, address }
    }

    /// The condition code, bits 18 and 19.
    #[must_use]
    pub const fn condition_code(self) -> u8 {
        (self.mask >> 44 & 3) as u8
    }
}

/// Loads a PSW with this left half (LOAD PSW EXTENDED), and goes on behind it.
pub fn load_psw(mask: u64) {
    let mut psw = Psw::new(mask, 0);
    // SAFETY: control goes on with the next instruction, by real address.
    unsafe {
        core::arch::asm!(
            "larl {t}, 34f",
            "stg {t}, 8({p})",
            "lpswe 0({p})",
            "34:",
            t = out(reg) _,
            p = in(reg_addr) &raw mut psw,
        );
    }
}
