//! What a CPU has to do before it goes back to the guest: nearly always nothing.
//!
//! It is one halfword, so that the way out needs one test. Every cause of work sets its bit where it
//! arises. A CPU that waits or is not operating always has [`PendingWork::ATTENTION`].

use core::ops::{BitOr, BitOrAssign};

/// A set of kinds of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingWork(u16);

impl PendingWork {
    /// Nothing.
    pub const NOTHING: Self = Self(0);
    /// An order or an interruption may be pending and open, or the CPU may no longer run.
    pub const ATTENTION: Self = Self(1);
    /// A control register changed that is mirrored in hardware or selects an address space, or DAT
    /// was turned on or off.
    pub const CONTROLS: Self = Self(2);
    /// The real clock comparator must be set.
    pub const CLOCK: Self = Self(4);
    /// The sampling controls changed: the times of the next samples must be computed, and the clock
    /// comparator set.
    pub const SAMPLING: Self = Self(8);
    /// The PSW or a control register may have opened masks, so an interruption that was held pending may be
    /// delivered now. Nearly always none is.
    pub const OPENED: Self = Self(16);
    /// Program-event recording is on. The bit stays as long as it is on, so that every way out does what it needs.
    pub const PER: Self = Self(32);
    /// CPUs execute at the same time, and this one has carried out requests of the others: it must say so, and may have
    /// to wait until the others have carried out its own.
    pub const PASSED: Self = Self(64);
    /// The operator holds the guest here, for a reason that the CPU keeps.
    pub const HELD: Self = Self(128);
    /// The PSW selects another address space, DAT or the problem state, and nothing else has changed: the hardware
    /// may have the table already.
    pub const SPACE: Self = Self(256);

    /// Whether any of `some` is pending.
    #[must_use]
    #[inline(always)]
    pub const fn any(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }

    /// Whether nothing but `some` is pending.
    #[must_use]
    #[inline(always)]
    pub const fn is_only(self, some: Self) -> bool {
        self.0 & !some.0 == 0
    }

    /// Whether nothing is pending.
    #[must_use]
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Removes `some`.
    #[inline(always)]
    pub const fn clear(&mut self, some: Self) {
        self.0 &= !some.0;
    }

    /// These and `others`.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Adds `some`.
    #[inline(always)]
    pub const fn add(&mut self, some: Self) {
        self.0 |= some.0;
    }
}

impl BitOr for PendingWork {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for PendingWork {
    fn bitor_assign(&mut self, other: Self) {
        self.add(other);
    }
}
