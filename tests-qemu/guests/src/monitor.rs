//! MONITOR CALL, and the counters of the enhanced-monitor facility.

use crate::lowcore;

/// Enhanced-monitor counter-array origin, a doubleword.
pub const ORIGIN: usize = 0x100;
/// Enhanced-monitor counter-array size, a word.
pub const SIZE: usize = 0x108;
/// Enhanced-monitor exception count, a word.
pub const EXCEPTIONS: usize = 0x10C;

/// Both masks of all classes: every class is enabled, and counts.
pub const ALL_COUNTED: u64 = 0xFFFF_0000_FFFF;

/// The monitor mask of a class in control register 8.
#[must_use]
pub const fn enabled(class: u32) -> u64 {
    1 << (15 - class)
}

/// The monitor mask of a class, and its enhanced-monitor mask.
#[must_use]
pub const fn counted(class: u32) -> u64 {
    enabled(class) << 32 | enabled(class)
}

/// MONITOR CALL of a class with this monitor code.
pub fn mc<const CLASS: u8>(code: u64) {
    // SAFETY: it counts only in the array that the guest has designated.
    unsafe {
        core::arch::asm!("mc 0({a}), {class}", a = in(reg_addr) code, class = const CLASS);
    }
}

/// Designates an array of this many counters, and sets the exception count to zero.
pub fn designate(origin: u64, size: u32) {
    lowcore::write(ORIGIN, origin);
    lowcore::write(SIZE, size);
    lowcore::write(EXCEPTIONS, 0_u32);
}

/// The exception count.
#[must_use]
pub fn exceptions() -> u32 {
    lowcore::read(EXCEPTIONS)
}
