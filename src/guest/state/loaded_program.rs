//! The program that the guest was loaded with, as the machine keeps it.

use crate::arch::address::{Absolute, Real};
use crate::arch::psw::Psw;
use core::sync::atomic::{AtomicU32, Ordering};

/// The most pieces that a program has.
pub const MOST_SEGMENTS: usize = 64;

/// A piece of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Where it belongs.
    pub destination: Absolute,
    /// Its length there; what is not kept of it is zeros.
    pub length: u64,
    /// Where in the HSA its bytes are kept, on a doubleword boundary.
    pub kept: Real,
    /// How many are.
    pub kept_length: u64,
}

/// A program.
#[derive(Debug, Default)]
pub struct LoadedProgram {
    /// The PSW that it begins with.
    pub psw: Psw,
    pub(in crate::guest) segments: heapless::Vec<Segment, MOST_SEGMENTS>,
    pub(in crate::guest) loads: AtomicU32,
}

impl LoadedProgram {
    /// A program without any pieces.
    #[must_use]
    pub const fn new(psw: Psw) -> Self {
        Self {
            psw,
            segments: heapless::Vec::new(),
            loads: AtomicU32::new(0),
        }
    }

    /// Adds a piece, if there is room for it.
    pub fn add(&mut self, segment: Segment) -> Result<(), Segment> {
        self.segments.push(segment)
    }

    /// Whether there is anything to be loaded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// How often it has been loaded.
    #[must_use]
    pub fn loads(&self) -> u32 {
        self.loads.load(Ordering::Relaxed)
    }
}
