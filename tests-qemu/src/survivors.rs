//! Mutants that survive: small changes of the source that no test notices.
//!
//! `cargo-mutants` changes one operator, match arm or function of the facilities of SA23-2260 at a time and runs their
//! unit tests ([`run`]). A mutant that no test kills shows that a sentence of the book has no test, or it is
//! equivalent: nobody could tell it from the code. The table `survivors.toml` says which it is ([`table`]), so that a new
//! survivor stands out. The behaviour guests can judge a mutant, too ([`rows`]), which takes minutes instead of seconds.
//! [`Figure`] counts them all.

use std::fmt;

pub mod mutant;
pub mod rows;
pub mod run;
pub mod table;

use mutant::{Fate, Judged};
use table::Table;

/// How many mutants there are, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// The unit tests kill them.
    pub killed: usize,
    /// The unit tests do not come to an end.
    pub timed_out: usize,
    /// They do not compile.
    pub unviable: usize,
    /// Only rows of the conformance table kill them.
    pub by_rows: usize,
    /// They are equivalent.
    pub equivalent: usize,
    /// They survive, and the table does not have them.
    pub unlisted: usize,
}

impl Figure {
    /// Counts the mutants of a run.
    pub fn of(judged: &[Judged], table: &Table) -> Self {
        let mut figure = Self::default();
        for Judged { mutant, fate, .. } in judged {
            let entry = table.of(mutant).next();
            *match (fate, entry) {
                (Fate::Killed, _) => &mut figure.killed,
                (Fate::TimedOut, _) => &mut figure.timed_out,
                (Fate::Unviable, _) => &mut figure.unviable,
                (Fate::Survived, None) => &mut figure.unlisted,
                (Fate::Survived, Some(entry)) if entry.rows.is_some() => &mut figure.by_rows,
                (Fate::Survived, Some(_)) => &mut figure.equivalent,
            } += 1;
        }
        figure
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.killed
            + self.timed_out
            + self.unviable
            + self.by_rows
            + self.equivalent
            + self.unlisted;
        writeln!(f, "{all:>5} mutants")?;
        writeln!(f, "{:>5} killed by the unit tests", self.killed)?;
        writeln!(
            f,
            "{:>5} killed because they do not come to an end",
            self.timed_out
        )?;
        writeln!(
            f,
            "{:>5} killed by rows of the conformance table only",
            self.by_rows
        )?;
        writeln!(f, "{:>5} equivalent", self.equivalent)?;
        writeln!(f, "{:>5} that do not compile", self.unviable)?;
        writeln!(f, "{:>5} survive", self.unlisted)
    }
}
