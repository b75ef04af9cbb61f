//! Interruptions that a CPU takes one after the other without executing an instruction.
//!
//! On a real CPU such a string may never end, and the CPU executes nothing until a new PSW or a condition changes: by
//! another CPU, a device or the operator. It does the same here. But it gives up its turn from time to time, as if it
//! had executed something, so that it takes nothing from the others; and the machine reports it.
//!
//! If the new PSWs alone make the string, without an instruction that is even tried, the guest counts as failed after
//! [`MOST_EXTERNAL`] interruptions: its external new PSW is enabled for a condition that stays pending.

use arch::interruption::Class;

/// After so many interruptions the CPU gives up its turn. More than can ever be pending at once.
pub const AT_ONCE: u32 = 64;

/// After so many, the machine reports a string without end.
pub const WITHOUT_END: u32 = 20_000;

/// After so many external interruptions, each enabled by the new PSW of the one before, the guest counts as failed.
pub const MOST_EXTERNAL: u32 = 100_000;

/// The interruptions since the last instruction.
#[derive(Clone, Copy, Debug)]
pub struct Looping {
    /// Guest cycles at the last one.
    total: u64,
    /// Guest cycles at the last trap of the machine's own.
    own_trap_at: u64,
    /// How many there were.
    count: u32,
    /// The class of the last one.
    pub class: Class,
    /// Whether the CPU has yet to give up its turn.
    pub(crate) pauses: bool,
    is_reported: bool,
}

impl Default for Looping {
    fn default() -> Self {
        Self {
            total: 0,
            own_trap_at: u64::MAX,
            count: 0,
            class: Class::Program,
            pauses: false,
            is_reported: false,
        }
    }
}

impl Looping {
    /// The CPU has taken `more` interruptions, the last one of this class. It had completed `total` cycles then.
    pub(crate) fn add(&mut self, total: u64, more: u32, class: Class) {
        if self.total != total {
            *self = Self::default();
            self.total = total;
        }
        self.go_on(more, class);
    }

    /// The CPU has taken one interruption of this class, and had completed `total` cycles then. Returns whether it has yet
    /// to give up its turn.
    #[inline]
    pub(crate) fn add_one(&mut self, total: u64, class: Class) -> bool {
        if self.total != total {
            *self = Self {
                total,
                count: 1,
                class,
                ..Self::default()
            };
            return false;
        }
        self.go_on(1, class);
        self.pauses
    }

    /// The CPU has trapped for the machine's own purposes, and had completed `total` cycles then. Returns whether it had
    /// done so before.
    #[inline(always)]
    pub(crate) const fn is_again(&mut self, total: u64) -> bool {
        core::mem::replace(&mut self.own_trap_at, total) == total
    }

    /// The same where the account shows nothing; `goes_on` says whether no instruction came before it.
    pub(crate) fn add_if(&mut self, goes_on: bool, class: Class) {
        if !goes_on {
            *self = Self::default();
        }
        self.go_on(1, class);
    }

    fn go_on(&mut self, more: u32, class: Class) {
        self.class = class;
        let before = self.count / AT_ONCE;
        self.count = self.count.saturating_add(more);
        self.pauses |= self.count / AT_ONCE != before || self.count == u32::MAX;
    }

    /// Whether it is a string of external interruptions by which the guest counts as failed.
    #[must_use]
    pub const fn is_endless(&self) -> bool {
        matches!(self.class, Class::External) && self.count >= MOST_EXTERNAL
    }

    /// Whether the string has become one that is to be reported. Returns true once.
    pub fn is_to_be_reported(&mut self) -> bool {
        self.count >= WITHOUT_END && !core::mem::replace(&mut self.is_reported, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_of_interruptions_pauses_now_and_then_and_is_reported_once() {
        let mut looping = Looping::default();
        let (mut pauses, mut reports) = (0, 0);
        for _ in 0..3 * WITHOUT_END {
            looping.add(77, 1, Class::External);
            pauses += u32::from(core::mem::take(&mut looping.pauses));
            reports += u32::from(looping.is_to_be_reported());
        }
        assert_eq!((pauses, reports), (3 * WITHOUT_END / AT_ONCE, 1));
        // An instruction ends it.
        looping.add(78, 1, Class::External);
        assert!(!looping.is_endless());
        assert!(!looping.pauses && !looping.is_to_be_reported());
        looping.add_if(false, Class::Program);
        assert_eq!(looping.count, 1);
    }
}
