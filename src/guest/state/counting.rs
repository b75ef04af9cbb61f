//! What a CPU needs to count every execution of every instruction. What is done with it is in
//! [`recording::counts`](crate::recording::counts).

use crate::state::copies::{Copies, STACKS};
use arch::address::{PAGE, Real, Virtual};
use arch::psw::{PROBLEM, Psw};
use per::Range;

/// The most blocks that the guest executes one behind the other without a branch.
pub(crate) const LONGEST_CHAIN: usize = 512;

/// To how many ranges counts can be limited.
pub const MOST_RANGES: usize = 8;

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

/// The limits of a count.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The states.
    pub states: States,
    /// Instructions in the pages of these addresses only, unless there are none.
    pub ranges: heapless::Vec<Range, MOST_RANGES>,
}

impl Limits {
    /// Whether instructions in the page of an address are counted.
    pub(crate) fn have(&self, at: Virtual) -> bool {
        let meets = |range: &Range| range.meets(at.page().0, PAGE);
        self.ranges.is_empty() || self.ranges.iter().any(meets)
    }

    /// Whether calls are followed: only where no instruction is left out between a call and its return.
    pub(crate) fn have_calls(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// How the guest is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its instructions are counted.
    Counts,
    /// Nothing is counted until it comes to a page that is.
    Waits,
    /// Nothing is counted until the next trap.
    Rests,
}

/// For which program instructions are executed, and in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    /// The program parameter.
    pub(crate) parameter: u64,
    /// The address-space number and the bits of [`CountEntry::state`](link::counts::CountEntry::state), in the left half.
    pub(crate) state: u64,
}

impl Context {
    /// Of an address-space number and such bits.
    pub(crate) const fn new(parameter: u64, asn: u16, state: u16) -> Self {
        Self {
            parameter,
            state: (asn as u64) << 48 | (state as u64) << 32,
        }
    }

    /// The address-space number.
    pub(crate) const fn asn(self) -> u16 {
        (self.state >> 48) as u16
    }

    /// The bits.
    pub(crate) const fn bits(self) -> u16 {
        (self.state >> 32) as u16
    }
}

/// Whose calls have not ended: of a program parameter, and in problem state of a space.
pub(crate) type Owner = [u64; 2];

/// The calls of a program that have not ended. The calls are in storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    /// Which one it is.
    pub(crate) number: usize,
    /// The program.
    pub(crate) owner: Owner,
    /// How many calls it has.
    pub(crate) depth: u64,
    /// How many further ones there was no room for.
    pub(crate) deeper: u64,
    /// The instructions of the program that were executed.
    pub(crate) clock: u64,
    /// When the program last went on: the number of changes of programs before.
    pub(crate) turn: u64,
}

/// What could not be matched of calls and returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnmatchedCalls {
    /// Branches on general register 14 to an address to which no call returns.
    pub(crate) returns: u64,
    /// Calls that ended because one before them did.
    pub(crate) abandoned: u64,
    /// Calls whose instructions are not known, because there was no room for them.
    pub(crate) not_followed: u64,
}

/// Calls that are followed.
#[derive(Debug, Default)]
pub(crate) struct Following {
    /// Those of the program that the CPU executes, if it has some.
    pub(crate) now: Option<Stack>,
    /// Those of all programs, but for what changes with each call.
    pub(crate) all: heapless::Vec<Stack, STACKS>,
    /// How often another program went on.
    pub(crate) turns: u64,
    /// What could not be matched.
    pub(crate) unmatched: UnmatchedCalls,
}

impl Following {
    /// The program has executed so many instructions.
    pub(crate) fn pass(&mut self, done: u64) {
        if let Some(now) = &mut self.now {
            now.clock = now.clock.wrapping_add(done);
        }
    }
}

/// The counting of one CPU.
#[derive(Debug)]
pub struct Counting {
    /// From where the CPU fetches its instructions.
    pub copies: Copies,
    pub(crate) limits: Limits,
    /// The blocks, by their numbers, that the guest executes one behind the other.
    pub(crate) chain: heapless::Vec<u16, LONGEST_CHAIN>,
    /// Where the guest went on with it.
    pub(crate) from: u64,
    /// The region in which the guest is instead.
    pub(crate) region: Option<u16>,
    /// The addressing mode for which the regions of the epoch are.
    pub(crate) addressing: u64,
    /// The program that the guest executes.
    pub(crate) context: Context,
    /// The address-space-control element by which its instructions would be fetched without copies.
    pub(crate) space: u64,
    /// Its calls.
    pub(crate) following: Following,
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
    /// How the guest was left.
    pub(crate) phase: Phase,
}

impl Counting {
    /// Nothing has been counted yet. Nothing else uses the area at `at`.
    #[must_use]
    pub fn new(at: Real, limits: Limits) -> Self {
        Self {
            copies: Copies::new(at),
            limits,
            chain: heapless::Vec::new(),
            from: 0,
            region: None,
            addressing: 0,
            context: Context::new(0, 0, 0),
            space: 0,
            following: Following::default(),
            next_region: 0,
            total: 0,
            done: 0,
            reads_clock: false,
            behind_branch: false,
            counted: 0,
            unmatched: 0,
            skipped: 0,
            phase: Phase::Counts,
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
