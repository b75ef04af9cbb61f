//! A model of first-level caches: the lines that a CPU would bring in, and their cost.
//!
//! The machine below has no caches that a program can observe, so this is only a model. Each CPU has an
//! instruction cache and a data cache, and every access uses one of them:
//!
//! - A cache is set-associative. It finds a line by its absolute address: the rightmost bits of the line's
//!   number select the set, and the directory holds the whole number. So two virtual addresses of one absolute
//!   address share a line, and purging translations has no effect.
//! - An access refers to each line that contains one of its bytes, in ascending order.
//! - A line that is not present is brought in and replaces the least recently used one of its set (true LRU).
//!   That is one **directory write**, and it costs a fixed number of **penalty cycles**.
//! - Stores are like fetches: a store brings its line in (store allocation), and the stored bytes go to storage
//!   at once (store through), so a line is either present or not and has no other state. An access to a line
//!   that is present writes no directory.
//! - Nothing else brings a line in, and only replacement and [`Caches::purge`] remove one: there are no prefetch,
//!   no speculation and no further levels, and stores by other CPUs or the channel subsystem remove no lines.
//!
//! The same accesses therefore give the same directory writes, whatever else happens in the machine.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod geometry;
#[cfg(test)]
mod model;

pub use geometry::{Geometry, GeometryError, Shape, ShapeError, Which};

use arch::address::Absolute;

/// An empty directory entry. No line has this number, as a line has at least 16 bytes.
const EMPTY: u64 = u64::MAX;

/// The effects of accesses on a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The number of lines that were brought in.
    pub directory_writes: u64,
    /// Cycles that this cost.
    pub penalty_cycles: u64,
}

impl core::ops::AddAssign for Written {
    fn add_assign(&mut self, other: Self) {
        self.directory_writes += other.directory_writes;
        self.penalty_cycles += other.penalty_cycles;
    }
}

/// One cache.
#[derive(Debug)]
pub struct Cache<'d> {
    shape: Shape,
    /// The bits of a line number that select the set.
    selector: u64,
    /// The line numbers, set after set, the most recently used one of each set first.
    directory: &'d mut [u64],
}

impl<'d> Cache<'d> {
    /// An empty cache with this directory, which must have as many entries as the cache has lines.
    #[must_use]
    pub fn new(shape: Shape, directory: &'d mut [u64]) -> Option<Self> {
        if directory.len() != shape.lines() {
            return None;
        }
        directory.fill(EMPTY);
        Some(Self {
            shape,
            selector: shape.sets() - 1,
            directory,
        })
    }

    /// Its size, ways and line, and the cost of a directory write.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Takes all lines away.
    pub fn purge(&mut self) {
        self.directory.fill(EMPTY);
    }

    /// An access to `length` bytes at an absolute address; one of no bytes does nothing.
    #[inline]
    pub fn access(&mut self, at: Absolute, length: u64) -> Written {
        let Some(beyond) = length.checked_sub(1) else {
            return Written::default();
        };
        let shift = self.shape.line_shift();
        let (first, last) = (at.0 >> shift, at.0.saturating_add(beyond) >> shift);
        let mut directory_writes = 0;
        for line in first..=last {
            directory_writes += u64::from(self.refer(line));
        }
        Written {
            directory_writes,
            penalty_cycles: directory_writes * self.shape.penalty(),
        }
    }

    /// Makes a line the most recently used one of its set. Returns whether it had to be brought in.
    #[inline]
    fn refer(&mut self, line: u64) -> bool {
        let ways = self.shape.ways();
        let begin = (line & self.selector) as usize * ways;
        // The set is within the directory, which has an entry for each line of the shape.
        let Some(set) = self.directory.get_mut(begin..begin + ways) else {
            return false;
        };
        let mut moved = line;
        for place in set {
            moved = core::mem::replace(place, moved);
            if moved == line {
                return false;
            }
        }
        true
    }
}

/// The caches of a CPU.
#[derive(Debug)]
pub struct Caches<'d> {
    /// The cache for instruction fetches, including targets of EXECUTE.
    pub instruction: Cache<'d>,
    /// The cache for fetches and stores of storage operands.
    pub data: Cache<'d>,
}

impl<'d> Caches<'d> {
    /// Empty caches with their directories in `storage`; `None` unless it has [`Geometry::doublewords`]
    /// doublewords.
    #[must_use]
    pub fn new(geometry: Geometry, storage: &'d mut [u64]) -> Option<Self> {
        let (instruction, data) = storage.split_at_mut_checked(geometry.instruction.lines())?;
        Some(Self {
            instruction: Cache::new(geometry.instruction, instruction)?,
            data: Cache::new(geometry.data, data)?,
        })
    }

    /// Removes all lines, as a reset does.
    pub fn purge(&mut self) {
        self.instruction.purge();
        self.data.purge();
    }
}

#[cfg(test)]
mod tests;
