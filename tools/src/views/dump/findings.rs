//! What is wrong in a file, as far as it does not keep the dump from going on.

use anyhow::{Result, anyhow};
use record::Malformed;

use crate::formats::wrong;

/// The most findings that an error shows.
const SHOWN: usize = 20;

/// The fields that break a rule.
#[derive(Debug, Default)]
pub struct Findings {
    shown: Vec<String>,
    /// How many there are besides.
    more: u64,
}

impl Findings {
    /// Adds a field of a record that begins at `base`.
    pub fn add(&mut self, base: u64, malformed: Malformed) {
        if self.shown.len() < SHOWN {
            self.shown.push(wrong(base, malformed).to_string());
        } else {
            self.more += 1;
        }
    }

    /// The error that ends the dump: each finding on a line of its own, and `done` if it is one.
    pub fn end(mut self, done: Result<()>) -> Result<()> {
        if self.shown.is_empty() {
            return done;
        }
        if self.more > 0 {
            self.shown.push(format!("and {} more", self.more));
        }
        if let Err(error) = done {
            self.shown.push(format!("{error:#}"));
        }
        Err(anyhow!(self.shown.join("\n")))
    }
}
