//! One wrapper per instruction, named after it.
//!
//! The wrappers are for instructions that must complete. Where a guest expects an exception, it writes the
//! instruction inside [`crate::attempt!`].

use core::arch::asm;

pub mod assist;
pub mod clock;
pub mod control;
pub mod cpu;
pub mod measurement;
pub mod registers;
pub mod service;
pub mod storage;

/// DIAGNOSE 44: the program waits for another CPU and gives its turn away. Privileged.
pub fn yield_cpu() {
    // SAFETY: changes nothing that the program sees.
    unsafe { asm!(".insn rs,0x83000000,%r0,%r0,0x44(%r0)") }
}
