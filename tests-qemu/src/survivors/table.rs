//! The table of survivors: which are equivalent and why, and which die by rows of the conformance table only.

use std::{fmt::Write as _, fs};

use anyhow::{Context as _, Result, bail};
use measure::building::repository::root;
use serde::Deserialize;

use super::mutant::{Fate, Judged, Mutant};

/// The table, in the repository.
pub const TABLE: &str = "tests-qemu/survivors.toml";

/// The table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    #[serde(default)]
    survivors: Vec<Entry>,
}

/// Mutants of one file that survive for one reason.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    file: String,
    /// The changes, without their places.
    changes: Vec<String>,
    /// Only where the source from the change on begins with this.
    #[serde(default)]
    at: String,
    /// Why nobody can tell the mutant from the code.
    pub equivalent: Option<String>,
    /// The statements of the conformance table that the mutant breaks, if the unit tests cannot see it.
    pub rows: Option<Vec<String>>,
}

impl Entry {
    fn has(&self, mutant: &Mutant) -> bool {
        self.changes.iter().any(|change| self.is(change, mutant))
    }

    fn is(&self, change: &str, mutant: &Mutant) -> bool {
        mutant.file == self.file && mutant.change == change && mutant.at.starts_with(&self.at)
    }
}

impl Table {
    /// The table of the repository.
    pub fn read() -> Result<Self> {
        let file = root().join(TABLE);
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("in {TABLE}"))
    }

    fn parse(text: &str) -> Result<Self> {
        let table: Self = toml::from_str(text)?;
        for entry in &table.survivors {
            let is_reason = |text: &String| !text.trim().is_empty();
            let is_right = match (&entry.equivalent, &entry.rows) {
                (Some(reason), None) => is_reason(reason),
                (None, Some(rows)) => !rows.is_empty(),
                _ => false,
            };
            if !is_right {
                bail!(
                    "{}: {:?} need a reason why they are equivalent, or the rows that they break",
                    entry.file,
                    entry.changes
                );
            }
        }
        Ok(table)
    }

    /// The entries that have a mutant. There should be one at most.
    pub fn of(&self, mutant: &Mutant) -> impl Iterator<Item = &Entry> {
        self.survivors.iter().filter(|entry| entry.has(mutant))
    }

    /// What is wrong after a run of all mutants: a survivor that the table does not have or has twice, and an entry of
    /// a mutant that does not survive or is not there. Empty if nothing is.
    pub fn compare(&self, judged: &[Judged]) -> String {
        let mut wrong = String::new();
        for Judged { mutant, fate, .. } in judged {
            let name = &mutant.name;
            // Writing to a string does not fail.
            let _ = match (fate, self.of(mutant).count()) {
                (Fate::Survived, 0) => writeln!(wrong, "survives: {name}\n    {}", mutant.at),
                (Fate::Survived, 1) | (_, 0) => Ok(()),
                (Fate::Survived, _) => writeln!(wrong, "{TABLE} has it more than once: {name}"),
                _ => writeln!(wrong, "{TABLE} has it, but it does not survive: {name}"),
            };
        }
        for entry in &self.survivors {
            for change in &entry.changes {
                if !judged.iter().any(|judged| entry.is(change, &judged.mutant)) {
                    let file = &entry.file;
                    let _ = writeln!(
                        wrong,
                        "{TABLE} has it, but there is no such mutant: {file}: {change}"
                    );
                }
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survivors::Figure;

    fn judged(change: &str, at: &str, fate: Fate) -> Judged {
        let mutant = Mutant {
            name: format!("a.rs:1:1: {change}"),
            file: "a.rs".to_owned(),
            change: change.to_owned(),
            at: at.to_owned(),
        };
        let log = String::new();
        Judged { mutant, fate, log }
    }

    fn table() -> Table {
        Table::parse(
            "[[survivors]]\nfile='a.rs'\nchanges=['replace | with ^']\nat='| LOW'\nequivalent='no bit in common'\n\
             [[survivors]]\nfile='a.rs'\nchanges=['delete !']\nrows=['A-1']\n",
        )
        .unwrap()
    }

    #[test]
    fn every_survivor_needs_an_entry_and_every_entry_a_survivor() {
        let table = table();
        let listed = judged("replace | with ^", "| LOW;", Fate::Survived);
        let by_row = judged("delete !", "!x", Fate::Survived);
        assert_eq!(table.compare(&[listed.clone(), by_row.clone()]), "");
        let elsewhere = judged("replace | with ^", "| b", Fate::Survived);
        let wrong = table.compare(&[listed.clone(), by_row.clone(), elsewhere]);
        assert_eq!(wrong, "survives: a.rs:1:1: replace | with ^\n    | b\n");
        let killed = judged("delete !", "!x", Fate::Killed);
        let wrong = table.compare(&[listed, killed]);
        assert!(
            wrong.contains("does not survive: a.rs:1:1: delete !"),
            "{wrong}"
        );
        let wrong = table.compare(&[by_row]);
        assert!(
            wrong.contains("no such mutant: a.rs: replace | with ^"),
            "{wrong}"
        );
    }

    #[test]
    fn the_figure_counts_each_mutant_once() {
        let all = [
            judged("replace | with ^", "| LOW", Fate::Survived),
            judged("delete !", "!x", Fate::Survived),
            judged("replace + with -", "+", Fate::Survived),
            judged("replace + with *", "+", Fate::Killed),
            judged("replace += with *=", "+=", Fate::TimedOut),
            judged("replace f with ()", "f", Fate::Unviable),
        ];
        let one = Figure {
            killed: 1,
            timed_out: 1,
            unviable: 1,
            by_rows: 1,
            equivalent: 1,
            unlisted: 1,
        };
        assert_eq!(Figure::of(&all, &table()), one);
    }

    #[test]
    fn an_entry_has_either_a_reason_or_rows() {
        for why in [
            "equivalent=' '",
            "rows=[]",
            "",
            "equivalent='x'\nrows=['A-1']",
        ] {
            let text = format!("[[survivors]]\nfile='a.rs'\nchanges=['delete !']\n{why}\n");
            assert!(Table::parse(&text).is_err(), "{why}");
        }
    }
}
