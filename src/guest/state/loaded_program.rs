//! The program that the guest was loaded with, kept so that it can be loaded again.

use arch::address::{Absolute, PAGE, Real};
use arch::psw::Psw;
use core::sync::atomic::{AtomicU32, Ordering};

/// The most segments of a program.
pub const MOST_SEGMENTS: usize = 64;

/// A segment of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Where it is loaded.
    pub destination: Absolute,
    /// Its length there. The bytes beyond [`Self::kept_length`] are zeros.
    pub length: u64,
    /// Where the HSA keeps its bytes, on a doubleword boundary.
    pub kept: Real,
    /// How many bytes are kept.
    pub kept_length: u64,
}

/// The program that the guest was loaded with.
#[derive(Debug, Default)]
pub struct LoadedProgram {
    /// Its initial PSW.
    pub psw: Psw,
    /// Where instructions were executed before the program is first loaded, from the one address up to the other, if no
    /// other place is possible.
    pub executed: Option<(Absolute, Absolute)>,
    pub(crate) segments: heapless::Vec<Segment, MOST_SEGMENTS>,
    pub(crate) loads: AtomicU32,
}

impl LoadedProgram {
    /// A program without segments.
    #[must_use]
    pub const fn new(psw: Psw) -> Self {
        Self {
            psw,
            executed: None,
            segments: heapless::Vec::new(),
            loads: AtomicU32::new(0),
        }
    }

    /// Adds a segment, if there is room.
    pub fn add(&mut self, segment: Segment) -> Result<(), Segment> {
        self.segments.push(segment)
    }

    /// Whether there is nothing to load.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether the machine below may have executed instructions in the page at this address, which a load now replaces.
    #[must_use]
    pub fn may_replace_text(&self, page: Absolute) -> bool {
        let is_apart =
            |(from, to): (Absolute, Absolute)| page.0 >= to.0 || page.offset(PAGE).0 <= from.0;
        self.loads() != 0 || !self.executed.is_some_and(is_apart)
    }

    /// How often it has been loaded.
    #[must_use]
    pub fn loads(&self) -> u32 {
        self.loads.load(Ordering::Relaxed)
    }
}
