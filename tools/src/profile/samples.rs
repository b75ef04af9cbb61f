//! Samples as a stream, each with its CPU and its time.
//!
//! A data entry has no time. Its block has one: when it became full. The samples of a block are assumed to be spread
//! evenly between the time of the block before it and its own. The first block has none before it, so its samples are
//! assumed to be an interval apart, but not before the run. A block that never became full goes on at that pace. If
//! neither clock nor interval is known, samples are a microsecond apart, so that at least their order is right.

use std::{fs::File, slice};

use anyhow::{Context, Result};
use {arch::tod::UNITS_PER_MICROSECOND, cpumf::sampling::block::BasicEntry};

use super::{
    BlockFile, Pace,
    blocks::{BlockCounts, Blocks},
};
use crate::folder;

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// CPU address.
    pub cpu: u16,
    /// Its number on its CPU, counted from 0; samples that are marked invalid count too.
    pub number: u64,
    /// Its approximate time: TOD clock, bits 0-63. It never goes back on one CPU.
    pub tod: u64,
    /// The time between it and the next.
    pub pace: Pace,
    /// The data entry.
    pub entry: BasicEntry,
}

/// An iterator over samples that ends at the first error.
trait Advance {
    /// The next sample, if there is one.
    fn advance(&mut self) -> Result<Option<Sample>>;

    /// Whether something could not be read.
    fn failed(&mut self) -> &mut bool;

    /// The next sample or error; nothing follows an error.
    fn until_failure(&mut self) -> Option<Result<Sample>> {
        if *self.failed() {
            return None;
        }
        let next = self.advance().transpose();
        *self.failed() = matches!(next, Some(Err(_)));
        next
    }
}

/// The samples of some files, one file after the other.
pub struct Samples<'p> {
    files: slice::Iter<'p, BlockFile>,
    open: Option<(&'p BlockFile, Blocks<File>)>,
    /// Entries of the block that have been returned.
    given: usize,
    /// Entries of this CPU that have been returned or skipped.
    numbered: u64,
    /// The time of the block before, and of this one.
    span: (u64, u64),
    /// The last file's CPU.
    cpu: Option<u16>,
    with_invalid: bool,
    found: BlockCounts,
    failed: bool,
}

impl<'p> Samples<'p> {
    /// The samples of these files, which are in ascending order of their CPUs.
    pub(super) fn new(files: &'p [BlockFile]) -> Self {
        Self {
            files: files.iter(),
            open: None,
            given: 0,
            numbered: 0,
            span: (0, 0),
            cpu: None,
            with_invalid: false,
            found: BlockCounts::default(),
            failed: false,
        }
    }

    /// Includes samples that are marked invalid.
    #[must_use]
    pub fn with_invalid(mut self) -> Self {
        self.with_invalid = true;
        self
    }

    /// What was found in the blocks that have been read.
    pub fn found(&self) -> BlockCounts {
        let mut found = self.found;
        if let Some((_, blocks)) = &self.open {
            found.add(&blocks.found);
        }
        found
    }
}

impl Advance for Samples<'_> {
    fn advance(&mut self) -> Result<Option<Sample>> {
        loop {
            if let Some((file, blocks)) = &mut self.open {
                if let Some(entry) = blocks.entries.get(self.given).copied() {
                    self.given += 1;
                    self.numbered += 1;
                    if entry.invalid() && !self.with_invalid {
                        continue;
                    }
                    self.found.samples += u64::from(!entry.invalid());
                    let (before, now) = self.span;
                    let part = u128::from(now.saturating_sub(before)) * self.given as u128
                        / blocks.entries.len() as u128;
                    let sample = Sample {
                        cpu: file.cpu,
                        number: self.numbered - 1,
                        // Not more than the span.
                        tod: before.saturating_add(part as u64),
                        pace: file.pace,
                        entry,
                    };
                    return Ok(Some(sample));
                }
                let is_one = blocks
                    .advance()
                    .with_context(|| format!("cannot read {}", file.path.display()))?;
                self.given = 0;
                if is_one {
                    let (full_at, count) = (blocks.full_at, blocks.entries.len() as u64);
                    self.span = next_span(self.span.1, file.pace, full_at, count);
                    continue;
                }
                let found = blocks.found;
                self.found.add(&found);
                self.open = None;
            }
            let Some(file) = self.files.next() else {
                return Ok(None);
            };
            let opened = folder::open(&file.path)
                .with_context(|| format!("cannot open {}", file.path.display()))?;
            self.open = Some((file, Blocks::new(opened, file.block)));
            if self.cpu != Some(file.cpu) {
                self.numbered = 0;
                self.cpu = Some(file.cpu);
                self.span = (0, 0);
            } else if self.span.1 > 0 {
                // A new pace begins with the next set of files.
                self.span.1 = self.span.1.max(file.pace.start);
            }
            self.given = 0;
        }
    }

    fn failed(&mut self) -> &mut bool {
        &mut self.failed
    }
}

/// The range of times of a block's samples. `full_at` is when the block became full, if it did; `before` is when the
/// block before it ended, or 0 if there is none.
fn next_span(before: u64, pace: Pace, full_at: Option<u64>, count: u64) -> (u64, u64) {
    let a_sample = match pace.units() {
        0 => UNITS_PER_MICROSECOND,
        units => units,
    };
    let all = a_sample.saturating_mul(count);
    match full_at {
        Some(now) if before == 0 => {
            let first = now.saturating_sub(all).max(pace.start.min(now));
            (first, now)
        }
        Some(now) => (before, now.max(before)),
        None => {
            let before = before.max(pace.start);
            (before, before.saturating_add(all))
        }
    }
}

impl Iterator for Samples<'_> {
    type Item = Result<Sample>;

    fn next(&mut self) -> Option<Self::Item> {
        self.until_failure()
    }
}

/// The samples of several CPUs by their time.
pub struct ByTime<'p> {
    cpus: Vec<Samples<'p>>,
    /// The next sample of each.
    next: Vec<Option<Sample>>,
    has_begun: bool,
    failed: bool,
}

impl<'p> ByTime<'p> {
    /// Merges these, each of one CPU.
    pub(super) fn new(cpus: Vec<Samples<'p>>) -> Self {
        Self {
            next: vec![None; cpus.len()],
            cpus,
            has_begun: false,
            failed: false,
        }
    }

    /// What was found in the blocks that have been read.
    pub fn found(&self) -> BlockCounts {
        let mut sum = BlockCounts::default();
        for found in self.cpus.iter().map(Samples::found) {
            sum.add(&found);
        }
        sum
    }
}

impl Advance for ByTime<'_> {
    fn advance(&mut self) -> Result<Option<Sample>> {
        if !self.has_begun {
            self.has_begun = true;
            for (next, samples) in self.next.iter_mut().zip(&mut self.cpus) {
                *next = samples.next().transpose()?;
            }
        }
        let waiting = self.next.iter().enumerate();
        let first = waiting
            .filter_map(|(place, sample)| Some((place, (*sample)?)))
            .min_by_key(|(place, sample)| (sample.tod, *place));
        let Some((place, sample)) = first else {
            return Ok(None);
        };
        self.next[place] = self.cpus[place].next().transpose()?;
        Ok(Some(sample))
    }

    fn failed(&mut self) -> &mut bool {
        &mut self.failed
    }
}

impl Iterator for ByTime<'_> {
    type Item = Result<Sample>;

    fn next(&mut self) -> Option<Self::Item> {
        self.until_failure()
    }
}
