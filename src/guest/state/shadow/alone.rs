//! The instruction that a CPU executes alone, and where the tables for it are.

use super::{PAGE_TABLE, TABLE};
use arch::address::{PAGE, Real, Virtual};

/// The text pages that an instruction and its target can be in.
pub(crate) const PAGES: usize = 4;

/// Bytes of HSA that the tables and the pages take: a table of each level, a page table and the pages.
pub(crate) const LENGTH: u64 = LEVELS * TABLE + PAGE + PAGES as u64 * PAGE;

/// Levels of region and segment tables.
pub(crate) const LEVELS: u64 = 4;

const _: () = assert!(PAGE_TABLE <= PAGE);

/// What one CPU has of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area(pub Real);

impl Area {
    /// The region or segment table of a level (3 region first ... 0 segment).
    pub(crate) const fn table(self, level: u64) -> Real {
        self.0.offset((LEVELS - 1 - level) * TABLE)
    }

    pub(crate) const fn page_table(self) -> Real {
        self.0.offset(LEVELS * TABLE)
    }

    pub(crate) const fn page(self, number: u64) -> Real {
        self.0.offset(LEVELS * TABLE + PAGE + number * PAGE)
    }
}

/// An instruction that is executed alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone {
    /// Where it is.
    pub at: Virtual,
    /// Its text.
    pub text: [u8; 6],
    /// If it is an EXECUTE, where its target is, and the text of that as it is in storage.
    pub target: Option<(Virtual, [u8; 6])>,
    /// Whether the guest was left with nothing else to execute. The next trap ends this.
    pub entered: bool,
}

/// What is in the pages of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placed {
    /// The entries of the page table that are valid, for as many of the pages.
    pub pages: [Option<u8>; PAGES],
    /// The doublewords that are not zeros.
    pub doublewords: [Option<Real>; PAGES],
}
