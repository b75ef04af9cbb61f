//! Prints facts, and compares them with the architecture.

use core::fmt::LowerHex;
use core::sync::atomic::{AtomicU32, Ordering};

static FAILURES: AtomicU32 = AtomicU32::new(0);

/// How many checks have failed.
#[must_use]
pub fn failures() -> u32 {
    FAILURES.load(Ordering::Relaxed)
}

/// Makes the guest fail. The caller prints why.
pub fn fail() {
    FAILURES.fetch_add(1, Ordering::Relaxed);
}

/// Prints a fact that is unknown beforehand but the same in every run on one machine.
pub fn fact(name: &str, got: impl LowerHex) {
    crate::println!("{name} = {got:x}");
}

/// Prints a fact and compares it with the value that the architecture requires. If they differ, the guest fails.
pub fn check<T: LowerHex + PartialEq>(name: &str, got: T, expected: T) {
    if got == expected {
        crate::println!("{name} = {got:x}");
    } else {
        fail();
        crate::println!("FAILED {name}: expected {expected:x}, got {got:x}");
    }
}

/// Checks a statement without printing its numbers, because they differ between machines or runs.
pub fn holds(name: &str, truth: bool) {
    if truth {
        crate::println!("{name}: holds");
    } else {
        fail();
        crate::println!("FAILED {name}: does not hold");
    }
}

/// Program-interruption codes as one number to check: two digits each.
#[must_use]
pub fn digits(codes: &[u16]) -> u64 {
    codes
        .iter()
        .fold(0, |all, &code| all << 8 | u64::from(code))
}
