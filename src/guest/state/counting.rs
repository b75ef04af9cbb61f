//! What a CPU needs to count every execution of every instruction. What is done with it is in
//! [`recording::counts`](crate::recording::counts).

use crate::state::copies::Copies;
use arch::address::Real;
use arch::psw::{PROBLEM, Psw};

/// The most blocks that the guest executes one behind the other without a branch.
pub(crate) const LONGEST_CHAIN: usize = 512;

/// In which states of the guest instructions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum States {
    /// In both.
    #[default]
    Both,
    /// In problem state.
    Problem,
    /// In supervisor state.
    Supervisor,
}

impl States {
    /// Whether the guest is counted that goes on at this PSW.
    pub(crate) const fn have(self, psw: Psw) -> bool {
        match self {
            Self::Both => true,
            Self::Problem => psw.mask & PROBLEM != 0,
            Self::Supervisor => psw.mask & PROBLEM == 0,
        }
    }
}

/// The counting of one CPU.
#[derive(Debug)]
pub struct Counting {
    /// From where the CPU fetches its instructions.
    pub copies: Copies,
    pub(crate) states: States,
    /// The blocks, by their numbers, that the guest executes one behind the other.
    pub(crate) chain: heapless::Vec<u16, LONGEST_CHAIN>,
    /// The region in which the guest is instead.
    pub(crate) region: Option<u16>,
    /// The addressing mode for which the regions of the epoch are.
    pub(crate) addressing: u64,
    /// What makes the regions of different programs have different places.
    pub(crate) salt: u64,
    /// Which place of a region is given up next.
    pub(crate) next_region: u64,
    /// The cycles in the account when the machine last left to the guest.
    pub(crate) total: u64,
    /// How many of the instructions since then have been counted.
    pub(crate) done: u64,
    /// Whether an instruction of the chain may look at a clock.
    pub(crate) reads_clock: bool,
    /// Whether the guest goes on behind a branch that the machine has performed.
    pub(crate) behind_branch: bool,
    /// How many instructions were counted.
    pub counted: u64,
    /// How many were executed, and not counted, because it is not known where.
    pub unmatched: u64,
    /// How many were executed where nothing was to be counted.
    pub skipped: u64,
    /// Whether the guest was left to execute such.
    pub(crate) skips: bool,
}

impl Counting {
    /// Nothing has been counted yet. Nothing else uses the area at `at`.
    #[must_use]
    pub fn new(at: Real, states: States) -> Self {
        Self {
            copies: Copies::new(at),
            states,
            chain: heapless::Vec::new(),
            region: None,
            addressing: 0,
            salt: 0,
            next_region: 0,
            total: 0,
            done: 0,
            reads_clock: false,
            behind_branch: false,
            counted: 0,
            unmatched: 0,
            skipped: 0,
            skips: false,
        }
    }

    /// Whether the guest was left with what stops it for the counts.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.copies.is_on
    }

    /// Whether the guest may look at a clock before it stops again.
    #[must_use]
    pub const fn reads_clock(&self) -> bool {
        self.reads_clock || self.copies.looks.is_some()
    }
}

impl AsMut<Copies> for Counting {
    fn as_mut(&mut self) -> &mut Copies {
        &mut self.copies
    }
}
