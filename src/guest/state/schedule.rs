//! When the machine wants control of a CPU next.

use crate::arch::address::Absolute;

/// Never.
pub const NEVER: u64 = u64::MAX;

/// A way to the guest and back that is to execute one instruction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The pages that are open for it.
    pub opened: Opened,
    /// Its address.
    pub at: u64,
}

/// The pages that an instruction has its text in and stores into: its own two at most, and two of the
/// target of an EXECUTE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened([Option<Absolute>; 4]);

impl Opened {
    /// Adds a page.
    pub fn add(&mut self, page: Absolute) {
        if let Some(free) = self.0.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(page);
        }
    }

    /// The pages.
    pub fn pages(&self) -> impl Iterator<Item = Absolute> {
        self.0.iter().flatten().copied()
    }
}

/// When the next samples of a CPU are due, in cycles of its account.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The next sample of the guest's own sampling function.
    pub own: u64,
    /// The next sample of the machine's.
    pub machine: u64,
    /// The end of this CPU's turn.
    pub turn: u64,
    /// Clock units that passed, last time, between setting the comparator and leaving.
    pub slack: u64,
    /// When the comparator was set, if it was on this way out.
    pub armed_at: u64,
    /// What the CPU leaves for that ends with its next trap.
    pub step: Option<Step>,
    /// Ticks from the last clock reading to the end of a step's one instruction; found by trying,
    /// from below, so that never more than one instruction is executed.
    pub step_lead: u64,
    /// The clock up to which the wait of a dedicated CPU is sampled, while it has trapped so often.
    pub waited: (u64, u64),
    /// Samples stored at the machine's level.
    pub taken: u64,
    /// Samples that the machine's level could not store.
    pub lost: u64,
    /// A machine-level block became full: it wants to be sent.
    pub block_full: bool,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            own: NEVER,
            machine: NEVER,
            turn: NEVER,
            slack: 0,
            armed_at: 0,
            step: None,
            step_lead: 1,
            waited: (0, 0),
            taken: 0,
            lost: 0,
            block_full: false,
        }
    }
}
