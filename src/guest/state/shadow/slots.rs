//! Where the slot space of a CPU is, and what is in a slot.

use arch::address::{PAGE, Real};
use arch::control::asce;

/// Pages with slots of one instruction; the page before them has those of an EXECUTE with its target.
const PAGES: u64 = 32;

/// Bytes of HSA that the slot space takes: a segment table, a page table and the pages.
pub(crate) const LENGTH: u64 = (2 + 1 + PAGES) * PAGE;

/// Bytes of an instruction, and of the zeros behind it, which are no instruction.
pub(crate) const TEXT: u64 = 8;

/// Bytes of a slot: what it is for, to which control never comes, and the instruction. Or an EXECUTE and its target.
pub(crate) const SLOT: u64 = 2 * TEXT;

/// How many slots there are.
pub(crate) const SLOTS: u64 = PAGES * PAGE / SLOT;

/// How many slots with an EXECUTE there are.
pub(crate) const PAIRS: u64 = PAGE / SLOT;

/// How the instruction with a text is stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The hardware executes it in a slot.
    InSlot,
    /// It is a branch instruction, which millicode performs.
    Branch,
    /// It has a relative operand: millicode performs it.
    Relative,
    /// It is sensitive: millicode performs it.
    Sensitive,
}

/// What one CPU has of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotArea(pub Real);

impl SlotArea {
    /// The segment table, which has one page of entries, the first of them valid.
    pub(crate) const fn segment_table(self) -> Real {
        self.0
    }

    pub(crate) const fn page_table(self) -> Real {
        self.0.offset(PAGE)
    }

    /// The storage of an address in the slot space. All of it is in the first 256 KiB, which every addressing mode
    /// reaches, and an EXECUTE reaches the first page without a register.
    pub(crate) const fn place(self, at: u64) -> Real {
        self.0.offset(2 * PAGE + at)
    }

    /// How many pages have slots.
    pub(crate) const fn pages() -> u64 {
        1 + PAGES
    }

    /// The address-space-control element: a segment table of 512 entries.
    pub(crate) const fn asce(self) -> u64 {
        self.segment_table().0 & asce::ORIGIN
    }
}

/// The slot that a CPU was left with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The address of the instruction in the slot space.
    pub at: u64,
    /// The length of the instruction there.
    pub length: u8,
    /// How the instruction is stepped: if millicode performs it, what is there only traps.
    pub manner: Manner,
}
