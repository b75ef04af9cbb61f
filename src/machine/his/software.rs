//! What HIS counts by software: which monitor classes the operator has chosen, and whether they are counted.

use core::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// The classes, as control register 8 has them: all, until the operator chooses some.
static CLASSES: AtomicU16 = AtomicU16::new(u16::MAX);

/// Whether they are counted.
static COUNTING: AtomicBool = AtomicBool::new(false);

/// The classes that are counted when any are.
pub fn classes() -> u16 {
    CLASSES.load(Ordering::Relaxed)
}

/// Chooses these.
pub fn choose(classes: u16) {
    CLASSES.store(classes, Ordering::Relaxed);
}

/// Whether they are counted.
pub fn is_counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// Counts from now on, or no more; whether they were counted before.
pub fn set_counting(on: bool) -> bool {
    COUNTING.swap(on, Ordering::Relaxed)
}
