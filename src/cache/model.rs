//! A second cache, directly from the definition of least recently used.
//!
//! It keeps every reference and has no directory. A line is present exactly if, since the last reference to it,
//! fewer other lines of its set were referred to than the set has ways.

use super::{Shape, Written};
use std::collections::{BTreeMap, BTreeSet};

/// A cache that remembers everything.
pub struct Remembered {
    shape: Shape,
    /// The lines that were referred to, by set, the latest last.
    history: BTreeMap<u64, Vec<u64>>,
}

impl Remembered {
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            history: BTreeMap::new(),
        }
    }

    pub fn purge(&mut self) {
        self.history.clear();
    }

    pub fn access(&mut self, at: u64, length: u64) -> Written {
        let line_length = u64::from(self.shape.line());
        let sets = u64::from(self.shape.size()) / line_length / self.shape.ways() as u64;
        let mut lines: Vec<u64> = (0..length).map(|byte| (at + byte) / line_length).collect();
        lines.dedup();
        let mut written = Written::default();
        for line in lines {
            let history = self.history.entry(line % sets).or_default();
            if !is_there(history, line, self.shape.ways()) {
                written.directory_writes += 1;
                written.penalty_cycles += self.shape.penalty();
            }
            history.push(line);
        }
        written
    }
}

fn is_there(history: &[u64], line: u64, ways: usize) -> bool {
    let mut others = BTreeSet::new();
    for &known in history.iter().rev() {
        if known == line {
            return true;
        }
        others.insert(known);
        // Whatever came before, the line is not present.
        if others.len() == ways {
            return false;
        }
    }
    false
}
