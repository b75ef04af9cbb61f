//! Lets the behaviour guests judge mutants: which rows of the conformance table a mutant breaks.

use std::fs;

use anyhow::{Context as _, Result};

use super::{
    mutant::{self, Fate, Mutant},
    run,
};

/// A mutant that the behaviour guests have judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedByGuests {
    /// The mutant.
    pub mutant: Mutant,
    /// Its fate.
    pub fate: Fate,
    /// The statements that are then not shown.
    pub broken: Vec<String>,
}

/// The folder of these runs.
const ROWS: &str = "rows";

/// The longest time for a mutant. Most of it goes into the image.
const LIMIT: &str = "1800";

/// Judges the mutants whose names match one of the expressions.
pub fn judge(expressions: &[String]) -> Result<Vec<JudgedByGuests>> {
    let mut tool = run::tool(ROWS, ROWS)?;
    for package in run::packages() {
        tool.args(["--package", package]);
    }
    for expression in expressions {
        tool.args(["--re", expression]);
    }
    tool.args(["--baseline", "skip", "--timeout", LIMIT]);
    tool.args(["--test-package", "tests-qemu", "--", "--test", "behaviour"]);
    run::finish(tool)?;
    let output = run::output(ROWS, ROWS);
    let mut all = Vec::new();
    for outcome in mutant::read(&output)? {
        let log = output.join("mutants.out").join(&outcome.log);
        let text =
            fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        all.push(JudgedByGuests {
            mutant: outcome.mutant,
            fate: outcome.fate,
            broken: broken(&text),
        });
    }
    Ok(all)
}

/// The line above the statements that the test of all guests misses.
const HEADING: &str = "not shown:";

/// The statements that a test of the behaviour guests says are not shown.
fn broken(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.ends_with(HEADING));
    lines
        .skip(1)
        .map_while(|line| line.split_once(": "))
        .map(|(id, _)| id.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_of_the_guests_names_the_rows_that_a_mutant_breaks() {
        let text = "test b_x ... FAILED\n\n---- every_statement ----\nnot shown:\nLSCTL-1: b_x: it died\n\
                    QSI-2: no assertion names it\n\nfailures:\n    b_x\n";
        assert_eq!(broken(text), ["LSCTL-1", "QSI-2"]);
        assert!(broken("test result: ok").is_empty());
    }
}
