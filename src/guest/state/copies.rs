//! The copies from which a CPU fetches its instructions while the machine stops it at some of them. What is done with them is in
//! [`recording::copies`](crate::recording::copies) and [`storage::shadow::copied`](crate::storage::shadow::copied).

use crate::storage::checked::PlacedFrame;
use arch::address::{PAGE, Real};

/// How many pages the CPU can have as it executes them.
pub(crate) const COPIES: u64 = 2048;

/// How many of them a page can have.
pub(crate) const WAYS: u64 = 4;

/// Bytes of the tables of the spaces from which the CPU fetches instructions.
pub(crate) const TABLES: u64 = 3 << 20;

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 64;

/// How many blocks there are.
pub(crate) const BLOCKS: u64 = 16384;

/// Bytes of a region.
pub(crate) const REGION: u64 = 1024;

/// How many regions there are.
pub(crate) const REGIONS: u64 = 8192;

/// Bytes of what is known of the calls of a routine from one place.
pub(crate) const CALLS: u64 = 64;

/// From how many places routines can be called.
pub(crate) const SITES: u64 = 16384;

/// Bytes of a call that has not ended.
pub(crate) const ACTIVE: u64 = 32;

/// How many of them are followed in a program.
pub(crate) const DEEPEST: u64 = 4096;

/// Bytes of what is known of the halfwords of a copy: of each whether an instruction begins there, and then of each whether it is
/// within one.
pub(crate) const HALFWORDS: u64 = 2 * PAGE / 16;

/// How many programs have calls that have not ended.
pub(crate) const STACKS: usize = 64;

/// How many doublewords of copies can be put back.
pub(crate) const EDITS: usize = 16;

/// How many spaces there are at a time.
pub(crate) const SPACES: usize = 8;

/// How many pages are found at once.
pub(crate) const PAGES: usize = 64;

/// How many pages are mapped at once without a copy.
pub(crate) const UNCOPIED: usize = 512;

/// Where in storage they are, and what is counted by them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiesArea(Real);

impl CopiesArea {
    /// Bytes that it takes.
    pub(crate) const LENGTH: u64 = COPIES * PAGE
        + TABLES
        + BLOCKS * BLOCK
        + COPIES * 16
        + REGIONS * REGION
        + SITES * CALLS
        + STACKS as u64 * DEEPEST * ACTIVE
        + COPIES * HALFWORDS;

    /// What must be zeros at first, the blocks, the owners, the regions and the calls: where it begins, and its bytes.
    pub(crate) const fn zeros(self) -> (Real, u64) {
        (
            self.block(0),
            BLOCKS * BLOCK + COPIES * 16 + REGIONS * REGION + SITES * CALLS,
        )
    }

    /// A page as it is executed.
    pub(crate) const fn copy(self, number: u64) -> Real {
        self.0.offset(number * PAGE)
    }

    /// The tables, from this byte on.
    pub(crate) const fn tables(self, at: u64) -> Real {
        self.0.offset(COPIES * PAGE + at)
    }

    /// A block.
    pub(crate) const fn block(self, number: u64) -> Real {
        self.tables(TABLES).offset(number * BLOCK)
    }

    /// The doubleword that says of which page a copy is: its real address and one, or zero. The next one says since when.
    pub(crate) const fn owner(self, number: u64) -> Real {
        self.block(BLOCKS).offset(number * 16)
    }

    /// A region.
    pub(crate) const fn region(self, number: u64) -> Real {
        self.owner(COPIES).offset(number * REGION)
    }

    /// What is known of the calls of a routine from one place.
    pub(crate) const fn calls(self, number: u64) -> Real {
        self.region(REGIONS).offset(number * CALLS)
    }

    /// What is known of the halfwords of a copy.
    pub(crate) const fn halfwords(self, copy: Real) -> Real {
        let number = copy.0.wrapping_sub(self.0.0) / PAGE;
        self.active(STACKS, 0).offset(number * HALFWORDS)
    }

    /// A call of a program that has not ended. The first of them has number zero.
    pub(crate) const fn active(self, stack: usize, number: u64) -> Real {
        self.calls(SITES)
            .offset((stack as u64 * DEEPEST + number) * ACTIVE)
    }
}

/// Where the guest would fetch a page of instructions from otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The page frame itself.
    Frame(PlacedFrame),
    /// A code copy.
    Copy(Real),
}

impl Source {
    /// Where it begins.
    pub(crate) const fn real(self) -> Real {
        match self {
            Self::Frame(frame) => frame.real(),
            Self::Copy(at) => at,
        }
    }
}

/// A page of instructions of a space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiedPage {
    /// The address-space-control element by which the hardware would translate otherwise.
    pub(crate) space: u64,
    /// The address of the page.
    pub(crate) at: u64,
    /// Where the shadow has its entry.
    pub(crate) place: Real,
    /// That entry.
    pub(crate) entry: u64,
    /// Where the guest would fetch it from.
    pub(crate) source: Source,
    /// Where it does fetch it from.
    pub(crate) copy: Real,
}

/// A space from which the CPU fetches instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiedSpace {
    /// The address-space-control element by which the hardware would translate otherwise, and [`UNCOPIED_SPACE`] if its pages are no
    /// copies.
    pub(crate) of: u64,
    /// The one by which it does.
    pub(crate) own: u64,
}

/// A bit that no address-space-control element has.
pub(crate) const UNCOPIED_SPACE: u64 = 1 << 4;

/// What changes when a translation of the CPU, or the text that is executed, may have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Then {
    /// Changes of text that is executed.
    pub(crate) changes: u64,
    /// Requests that were carried out.
    pub(crate) seen: u64,
    /// Spaces that were dropped.
    pub(crate) drops: u64,
}

/// The copies of one CPU.
#[derive(Debug)]
pub struct Copies {
    pub(crate) area: CopiesArea,
    pub(crate) spaces: heapless::Vec<CopiedSpace, SPACES>,
    pub(crate) pages: [Option<CopiedPage>; PAGES],
    /// The pages that are mapped as the shadow has them: where it has the entry of each, and that entry.
    pub(crate) uncopied: heapless::Vec<(Real, u64), UNCOPIED>,
    /// Bytes of the tables that are in use.
    pub(crate) tables_used: u64,
    /// What the tables are true for.
    pub(crate) then: Then,
    /// Whether the TLB has what the tables no longer say.
    pub(crate) purges: bool,
    /// Which copy of a page is given up next.
    pub(crate) next_way: u64,
    /// Real control registers 1 to 7 as the first run has them.
    pub(crate) first_run: [u64; 7],
    /// What real control registers 1 and 7 hold.
    pub(crate) loaded: [u64; 2],
    /// Whether the guest was left with these.
    pub(crate) is_on: bool,
    /// Changes when the guest has trapped, or with `text`.
    pub(crate) epoch: u64,
    /// Changes when text, tables or copies may have changed, but for the translation of single pages and for text of the frames
    /// in `altered`.
    pub(crate) text: u64,
    /// Where the page frame is into whose text a value was last stored that leaves it text, and its code copy, if it has one.
    pub(crate) altered: [Real; 2],
    /// How often that was another one than the time before.
    pub(crate) alterations: u64,
    /// What is to be put back in copies: where, and what was there.
    pub(crate) edits: heapless::Vec<(Real, u64), EDITS>,
    /// The interruptions for which the guest is open, while the hardware only tries to fetch.
    pub(crate) looks: Option<u64>,
}

impl Copies {
    /// There are none yet. Nothing else uses the area at `at`.
    #[must_use]
    pub const fn new(at: Real) -> Self {
        Self {
            area: CopiesArea(at),
            spaces: heapless::Vec::new(),
            pages: [None; PAGES],
            uncopied: heapless::Vec::new(),
            tables_used: 0,
            then: Then {
                changes: 0,
                seen: 0,
                drops: 0,
            },
            purges: false,
            next_way: 0,
            first_run: [0; 7],
            loaded: [0; 2],
            is_on: false,
            epoch: 1,
            text: 1,
            altered: [Real(u64::MAX); 2],
            alterations: 0,
            edits: heapless::Vec::new(),
            looks: None,
        }
    }

    /// Whether the guest was left with them.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Nothing is known to be as it was any more.
    pub(crate) const fn change(&mut self) {
        self.epoch += 1;
        self.text += 1;
    }
}
