//! The evidence that guests give for statements.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::{
    JudgedStatement, Status,
    statements::{Statements, is_identifier},
};

/// The evidence for one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Claims {
    /// The runs in which an assertion held.
    shown: Vec<String>,
    /// The runs in which one failed, and how.
    failed: Vec<(String, String)>,
}

/// The evidence of runs, by identifier of the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
