//! The exit code that a program ends its guest with.

use core::sync::atomic::{AtomicU32, Ordering};

/// A bit beside the CPU and the code: there is one.
const NAMED: u32 = 1 << 31;

/// The exit code, once a CPU has named one. The first one counts.
#[derive(Debug, Default)]
pub struct ExitCode(AtomicU32);

impl ExitCode {
    /// CPU `number` ends the guest with this code.
    pub fn name(&self, number: u16, code: u8) {
        let named = NAMED | u32::from(number) << 8 | u32::from(code);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        // The guest ends with the code that another CPU named before.
        let _ = self.0.compare_exchange(0, named, success, failure);
    }

    /// The number of the CPU that named a code, and the code.
    #[must_use]
    pub fn get(&self) -> Option<(u16, u8)> {
        let named = self.0.load(Ordering::Acquire);
        (named & NAMED != 0).then_some(((named >> 8) as u16 & 0xFF, named as u8))
    }
}
