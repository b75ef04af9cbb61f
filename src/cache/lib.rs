//! A model of first-level caches: which lines a CPU would bring in, and what that would cost it.
//!
//! No machine below has caches that could be asked, so this is a model and nothing else. Each CPU has an
//! instruction cache and a data cache, and every access goes through one of them:
//!
//! - A cache is set-associative. A line is found by its absolute address: the rightmost bits of its number
//!   select the set, and the directory holds the whole number. So two virtual addresses of one absolute
//!   address share a line, and no purge of translations changes anything.
//! - An access refers to each line that one of its bytes lies in, in ascending order.
//! - A line that is not there is brought in and takes the place of the least recently used one of its set
//!   (true LRU). That is one **directory write**, and it costs a fixed number of **penalty cycles**.
//! - Stores are like fetches: a line that is stored into is brought in (store allocation), and what is stored goes
//!   on at once (store through), so that a line has no state but that it is there. No directory is written
//!   for a line that is there.
//! - Nothing else brings a line in, and nothing takes one away but replacement and [`Caches::purge`]: there are no
//!   prefetch, no speculation and no levels beyond, and neither another CPU nor the channel subsystem takes
//!   lines away by what they store.
//!
//! The same accesses therefore give the same directory writes, whatever else happens in the machine.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod geometry;
#[cfg(test)]
mod model;

pub use geometry::{Geometry, GeometryError, Shape, ShapeError, Which};

use arch::address::Absolute;

/// An entry of a directory that has no line: the number of no line, as a line has 16 bytes at least.
const EMPTY: u64 = u64::MAX;

/// What accesses have done to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Lines that were brought in.
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
    /// The line numbers in each set, the most recently used one first; set after set.
    directory: &'d mut [u64],
}

impl<'d> Cache<'d> {
    /// An empty cache with this directory, unless that has another number of entries than the cache has lines.
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

    /// Its size, ways and line, and what a directory write costs.
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

    /// Makes a line the most recently used one of its set; whether it had to be brought in.
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
    /// What instructions are fetched through, targets of EXECUTE included.
    pub instruction: Cache<'d>,
    /// What storage operands are fetched and stored through.
    pub data: Cache<'d>,
}

impl<'d> Caches<'d> {
    /// Empty caches, whose directories are in `storage`: so many doublewords as [`Geometry::doublewords`]
    /// says, or there are none.
    #[must_use]
    pub fn new(geometry: Geometry, storage: &'d mut [u64]) -> Option<Self> {
        let (instruction, data) = storage.split_at_mut_checked(geometry.instruction.lines())?;
        Some(Self {
            instruction: Cache::new(geometry.instruction, instruction)?,
            data: Cache::new(geometry.data, data)?,
        })
    }

    /// Takes all lines away, as a reset does.
    pub fn purge(&mut self) {
        self.instruction.purge();
        self.data.purge();
    }
}

#[cfg(test)]
mod tests;
