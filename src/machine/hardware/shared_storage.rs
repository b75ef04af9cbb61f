//! Storage that other CPUs and the channel subsystem use at the same time: one instruction for each access.
//!
//! To Rust such storage is not ordinary: the compiler may not read twice, join, or leave out what an instruction reads
//! or changes once. Operands of the guest have any boundary, so they are no atomic types of Rust either. On its natural
//! boundary an operand of 2, 4 or 8 bytes is accessed concurrently, as the architecture has it.
//!
//! An address may be the sum of two registers, as an instruction adds them: the place, and the prefix or zero.

use core::arch::asm;
use core::ptr;

/// Where an operand is.
#[derive(Clone, Copy)]
pub enum Operand {
    /// At an address that needs no prefix.
    At(u64),
    /// At the sum of an address and the prefix or zero.
    Sum(u64, u64),
}

impl Operand {
    /// The operand so many bytes behind it, on the same side of the prefix area's end.
    #[inline(always)]
    pub fn behind(self, bytes: u64) -> Self {
        match self {
            Self::At(at) => Self::At(at + bytes),
            Self::Sum(at, prefix) => Self::Sum(at + bytes, prefix),
        }
    }
}

macro_rules! operand {
    ($type:ty, $load:ident, $load_instruction:literal, $store:ident, $store_instruction:literal) => {
        /// Fetches an operand.
        ///
        /// # Safety
        ///
        /// Nothing that Rust manages lies there.
        #[inline(always)]
        pub unsafe fn $load(operand: Operand) -> $type {
            let value: u64;
            // SAFETY: as the caller says. It has no effect but its result.
            unsafe {
                match operand {
                    Operand::At(at) => asm!(
                        concat!($load_instruction, " {value},0({at})"), value = lateout(reg) value,
                        at = in(reg_addr) at, options(nostack, readonly, preserves_flags)
                    ),
                    Operand::Sum(at, prefix) => asm!(
                        concat!($load_instruction, " {value},0({at},{prefix})"), value = lateout(reg) value,
                        at = in(reg_addr) at, prefix = in(reg_addr) prefix,
                        options(nostack, readonly, preserves_flags)
                    ),
                }
            }
            value as $type
        }

        /// Stores an operand.
        ///
        /// # Safety
        ///
        /// Nothing that Rust manages lies there.
        #[inline(always)]
        pub unsafe fn $store(operand: Operand, value: $type) {
            // SAFETY: as the caller says.
            unsafe {
                match operand {
                    Operand::At(at) => asm!(
                        concat!($store_instruction, " {value},0({at})"), value = in(reg) u64::from(value),
                        at = in(reg_addr) at, options(nostack, preserves_flags)
                    ),
                    Operand::Sum(at, prefix) => asm!(
                        concat!($store_instruction, " {value},0({at},{prefix})"), value = in(reg) u64::from(value),
                        at = in(reg_addr) at, prefix = in(reg_addr) prefix, options(nostack, preserves_flags)
                    ),
                }
            }
        }
    };
}

operand!(u8, load_u8, "llgc", store_u8, "stc");
operand!(u16, load_u16, "llgh", store_u16, "sth");
operand!(u32, load_u32, "llgf", store_u32, "st");
operand!(u64, load_u64, "lg", store_u64, "stg");

/// Fetches bytes. The architecture promises no order among them; what follows uses what was fetched, and the compiler
/// cannot look at the source again.
///
/// # Safety
///
/// As for [`ptr::copy_nonoverlapping`], except that others may store into the source meanwhile.
#[inline(always)]
pub unsafe fn fetch(from: *const u8, into: *mut u8, length: usize) {
    // SAFETY: as the caller says. The second executes nothing, and may have changed all storage as the compiler sees it.
    unsafe {
        ptr::copy_nonoverlapping(from, into, length);
        asm!("", options(nostack, preserves_flags));
    }
}

/// Copies bytes from storage that others use to other such storage.
///
/// # Safety
///
/// As for [`ptr::copy_nonoverlapping`], except that others may store into both meanwhile.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: as the caller says. The second executes nothing, and may have changed all storage as the compiler sees it.
    unsafe {
        ptr::copy_nonoverlapping(from, to, length);
        asm!("", options(nostack, preserves_flags));
    }
}

/// Moves the bytes at an address with a length to another one, and zeros behind them: MOVE LONG EXTENDED, which QEMU
/// performs faster than a MOVE of 256 bytes at a time.
///
/// # Safety
///
/// Nothing that Rust manages lies in either place, and they do not overlap.
pub unsafe fn move_long(from: (u64, u64), to: (u64, u64)) {
    // SAFETY: as the caller says. A CPU may end it before all is moved, with condition code 3.
    unsafe {
        asm!(
            "0:", "mvcle %r2,%r4,0", "jo 0b",
            inout("r2") to.0 => _, inout("r3") to.1 => _, inout("r4") from.0 => _, inout("r5") from.1 => _,
            options(nostack)
        );
    }
}
