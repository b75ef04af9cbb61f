//! Lines of fact, and what the architecture says they must be.

use core::fmt::LowerHex;
use core::sync::atomic::{AtomicU32, Ordering};

static FAILURES: AtomicU32 = AtomicU32::new(0);

/// How many checks have failed.
#[must_use]
pub fn failures() -> u32 {
    FAILURES.load(Ordering::Relaxed)
}

/// Makes the guest fail; who calls it says why.
pub fn fail() {
    FAILURES.fetch_add(1, Ordering::Relaxed);
}

/// Prints a fact that cannot be known beforehand but must be the same on every run of one machine.
pub fn fact(name: &str, got: impl LowerHex) {
    crate::println!("{name} = {got:x}");
}

/// Prints a fact and compares it with what the architecture says; a difference makes the guest fail.
pub fn check<T: LowerHex + PartialEq>(name: &str, got: T, expected: T) {
    if got == expected {
        crate::println!("{name} = {got:x}");
    } else {
        fail();
        crate::println!("FAILED {name}: expected {expected:x}, got {got:x}");
    }
}

/// Checks a statement without printing its numbers: for what differs between machines or runs.
pub fn holds(name: &str, truth: bool) {
    if truth {
        crate::println!("{name}: holds");
    } else {
        fail();
        crate::println!("FAILED {name}: does not hold");
    }
}
