//! The evidence that guests give for statements.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::{
    JudgedStatement, Status,
    statements::{Statements, is_identifier},
};

/// What a guest whose checks have failed says at its end.
const OWN_END: &str = "FAILED checks: ";

/// What a guest says that an interruption or a panic ends.
const LAST_WORDS: [&str; 2] = ["unexpected interruption: ", "panic: "];

/// The evidence for one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Claims {
    /// The runs in which an assertion held.
    shown: Vec<String>,
    /// The runs in which one failed, and how.
    failed: Vec<(String, String)>,
}

/// The evidence of runs, by identifier of the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence(BTreeMap<String, Claims>);

impl Evidence {
    /// Takes the lines `shown ID` and `failed ID: how` from the console of a run.
    pub fn heard(run: &str, console: &str) -> Self {
        let mut all: BTreeMap<String, Claims> = BTreeMap::new();
        for line in console.lines() {
            let Some((word, rest)) = line.split_once(' ') else {
                continue;
            };
            let (id, how) = rest.split_once(": ").unwrap_or((rest, ""));
            if !is_identifier(id) {
                continue;
            }
            let run = run.to_owned();
            match word {
                "shown" => {
                    let claims = all.entry(id.to_owned()).or_default();
                    if claims.shown.last() != Some(&run) {
                        claims.shown.push(run);
                    }
                }
                "failed" => {
                    let claims = all.entry(id.to_owned()).or_default();
                    claims.failed.push((run, how.to_owned()));
                }
                _ => {}
            }
        }
        Self(all)
    }

    /// The same of a run that did not end as its guest declares, but in the way that `how` tells. A guest whose checks
    /// have failed comes to its own end all the same, and says how many. Any other guest has died: what it named
    /// (`statements`) and what it printed is then not shown, because nobody knows what would have followed.
    pub fn ended_badly(run: &str, console: &str, how: &str, statements: &BTreeSet<String>) -> Self {
        let mut evidence = Self::heard(run, console);
        if console.lines().any(|line| line.starts_with(OWN_END)) {
            return evidence;
        }
        let is_last_word = |line: &&str| LAST_WORDS.iter().any(|word| line.starts_with(word));
        let how = match console.lines().find(is_last_word) {
            Some(words) => format!("{how} ({words})"),
            None => how.to_owned(),
        };
        for id in statements {
            evidence.0.entry(id.clone()).or_default();
        }
        for claims in evidence
            .0
            .values_mut()
            .filter(|claims| claims.failed.is_empty())
        {
            claims.failed.push((run.to_owned(), how.clone()));
        }
        evidence
    }

    /// Adds the evidence of another run.
    pub fn extend(&mut self, other: Self) {
        for (id, claims) in other.0 {
            let all = self.0.entry(id).or_default();
            all.shown.extend(claims.shown);
            all.failed.extend(claims.failed);
        }
    }

    /// The status of each statement. Two things are errors, because the table is wrong: an identifier that is not in
    /// it, and a statement that was shown although the table says that it does not apply.
    pub fn judge(mut self, statements: &Statements) -> Result<Vec<JudgedStatement>> {
        for (id, claims) in &self.0 {
            if !statements.contains(id) {
                let run = claims
                    .shown
                    .first()
                    .or(claims.failed.first().map(|(run, _)| run));
                bail!(
                    "{} names {id}, which is not in the conformance table",
                    run.map_or("a guest", |run| run)
                );
            }
        }
        let mut found = Vec::new();
        for statement in statements.iter() {
            let claims = self.0.remove(&statement.id);
            let status = match (claims, &statement.not_applicable) {
                (Some(_), Some(_)) => bail!(
                    "a guest names {}, which the conformance table says does not apply",
                    statement.id
                ),
                (None, Some(reason)) => Status::NotApplicable(reason.clone()),
                (None, None) => Status::NotShown("no assertion names it".to_owned()),
                (Some(claims), None) => match claims.failed.first() {
                    Some((run, how)) => Status::NotShown(format!("{run}: {how}")),
                    None => Status::Shown(claims.shown),
                },
            };
            found.push(JudgedStatement {
                statement: statement.clone(),
                status,
            });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements() -> Statements {
        let mut statements = Statements::default();
        statements
            .add(
                "book='GA1-1'\n[[section]]\nplace='Here'\n[section.statements]\nA-1='a'\nA-2='b'\nA-3='c'\n\
                 A-4='d'\n[section.not_applicable]\nA-4='never'\n",
            )
            .unwrap();
        statements
    }

    fn status(consoles: &[(&str, &str)]) -> Result<Vec<Status>> {
        let mut evidence = Evidence::default();
        for (run, console) in consoles {
            evidence.extend(Evidence::heard(run, console));
        }
        let found = evidence.judge(&statements())?;
        Ok(found.into_iter().map(|found| found.status).collect())
    }

    #[test]
    fn a_statement_is_shown_only_if_a_run_says_so_and_none_says_that_it_failed() {
        let found = status(&[
            (
                "b_x",
                "LSCTL = 0\nshown A-1\nshown A-1\nshown A-2\nwas shown A-3\nshown what is\n",
            ),
            (
                "b_y",
                "shown A-1\nfailed A-2: got 0x1, expected 0x0, at src/b.rs:7\n",
            ),
        ])
        .unwrap();
        assert_eq!(
            found[0],
            Status::Shown(vec!["b_x".to_owned(), "b_y".to_owned()])
        );
        let Status::NotShown(why) = &found[1] else {
            panic!("{:?}", found[1])
        };
        assert_eq!(why, "b_y: got 0x1, expected 0x0, at src/b.rs:7");
        assert!(matches!(&found[2], Status::NotShown(why) if why.contains("no assertion")));
        assert_eq!(found[3], Status::NotApplicable("never".to_owned()));
    }

    #[test]
    fn a_guest_that_dies_shows_nothing_that_it_names_or_has_printed() {
        let how = "the guest failed: disabled wait";
        let names = BTreeSet::from(["A-1".to_owned(), "A-2".to_owned()]);
        let died = "shown A-1\nshown A-3\nunexpected interruption: Program, code 00040006\n  r0\n";
        let mut evidence = Evidence::ended_badly("b_x", died, how, &names);
        evidence.extend(Evidence::heard("b_y", "shown A-1\nshown A-2\nshown A-3\n"));
        let why = "b_x: the guest failed: disabled wait (unexpected interruption: Program, code 00040006)";
        for judged in &evidence.judge(&statements()).unwrap()[..3] {
            assert_eq!(judged.status, Status::NotShown(why.to_owned()));
        }
    }

    #[test]
    fn a_guest_that_comes_to_its_own_end_shows_what_has_not_failed() {
        let names = BTreeSet::from(["A-1".to_owned(), "A-2".to_owned(), "A-3".to_owned()]);
        let console = "shown A-1\nfailed A-2: no\nFAILED checks: 1\n";
        let evidence = Evidence::ended_badly("b_x", console, "the guest failed", &names);
        let found = evidence.judge(&statements()).unwrap();
        assert_eq!(found[0].status, Status::Shown(vec!["b_x".to_owned()]));
        assert_eq!(found[1].status, Status::NotShown("b_x: no".to_owned()));
        assert!(matches!(&found[2].status, Status::NotShown(why) if why.contains("no assertion")));
    }

    #[test]
    fn an_identifier_that_is_not_in_the_table_is_an_error() {
        let error = status(&[("b_x", "shown A-5\n")]).unwrap_err().to_string();
        assert!(error.contains("b_x") && error.contains("A-5"), "{error}");
        let error = status(&[("b_x", "failed A-6: no\n")])
            .unwrap_err()
            .to_string();
        assert!(error.contains("A-6"), "{error}");
    }

    #[test]
    fn a_statement_that_does_not_apply_cannot_be_shown() {
        let error = status(&[("b_x", "shown A-4\n")]).unwrap_err().to_string();
        assert!(error.contains("A-4"), "{error}");
    }
}
