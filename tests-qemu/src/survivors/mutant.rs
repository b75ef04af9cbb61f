//! A mutant and its fate, as `cargo-mutants` writes them down.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context as _, Result, bail};
use measure::building::repository::root;
use serde::Deserialize;

/// A change of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The whole name, with line and column.
    pub name: String,
    /// The source file below the repository.
    pub file: String,
    /// The name without file, line and column: `replace & with | in TableEntry::table_origin`.
    pub change: String,
    /// The source from the change on, to the end of the line.
    pub at: String,
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A test failed.
    Killed,
    /// Every test passed.
    Survived,
    /// The tests did not come to an end.
    TimedOut,
    /// It does not compile.
    Unviable,
}

/// A mutant with its fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The mutant.
    pub mutant: Mutant,
    /// Its fate.
    pub fate: Fate,
    /// What its tests said: a file of the folder `mutants.out`.
    pub log: String,
}

#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: String,
    log_path: String,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Change),
}

#[derive(Deserialize)]
struct Change {
    name: String,
    file: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
}

#[derive(Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

/// The mutants of a run whose output is in this directory.
pub fn read(output: &Path) -> Result<Vec<Judged>> {
    let file = output.join("mutants.out/outcomes.json");
    let text = fs::read_to_string(&file).with_context(|| {
        format!(
            "cannot read {}; begin with `cargo survivors`",
            file.display()
        )
    })?;
    let sources = |file: &str| Ok(fs::read_to_string(root().join(file))?);
    parse(&text, sources).with_context(|| format!("in {}", file.display()))
}

fn parse(text: &str, source: impl Fn(&str) -> Result<String>) -> Result<Vec<Judged>> {
    let outcomes: Outcomes = serde_json::from_str(text)?;
    let mut sources: HashMap<String, String> = HashMap::new();
    let mut all = Vec::new();
    for outcome in outcomes.outcomes {
        let Scenario::Mutant(Change { name, file, span }) = outcome.scenario else {
            continue;
        };
        let fate = match &outcome.summary[..] {
            "CaughtMutant" => Fate::Killed,
            "MissedMutant" => Fate::Survived,
            "Timeout" => Fate::TimedOut,
            "Unviable" => Fate::Unviable,
            other => bail!("{name}: the outcome {other} is unknown"),
        };
        let Place { line, column } = span.start;
        let change = name
            .strip_prefix(&format!("{file}:{line}:{column}: "))
            .with_context(|| format!("{name} does not begin with its place"))?
            .to_owned();
        if !sources.contains_key(&file) {
            sources.insert(file.clone(), source(&file)?);
        }
        let at = sources[&file].lines().nth(line - 1);
        let at = at
            .with_context(|| format!("{name}: there is no such line; run `cargo survivors` again"))?
            .chars()
            .skip(column - 1)
            .collect();
        let mutant = Mutant {
            name,
            file,
            change,
            at,
        };
        let log = outcome.log_path;
        all.push(Judged { mutant, fate, log });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"outcomes": [
        {"scenario": "Baseline", "summary": "Success", "log_path": "log/baseline.log"},
        {"scenario": {"Mutant": {"name": "a.rs:2:7: replace + with - in sum", "file": "a.rs",
          "span": {"start": {"line": 2, "column": 7}, "end": {"line": 2, "column": 8}}}},
         "summary": "MissedMutant", "log_path": "log/a.log"}]}"#;

    #[test]
    fn a_mutant_has_the_source_that_it_changes() {
        let judged = parse(TEXT, |_| Ok("fn sum() {\n    a + b\n}\n".to_owned())).unwrap();
        let mutant = Mutant {
            name: "a.rs:2:7: replace + with - in sum".to_owned(),
            file: "a.rs".to_owned(),
            change: "replace + with - in sum".to_owned(),
            at: "+ b".to_owned(),
        };
        let (fate, log) = (Fate::Survived, "log/a.log".to_owned());
        assert_eq!(judged, [Judged { mutant, fate, log }]);
    }

    #[test]
    fn a_source_that_has_changed_since_the_run_is_refused() {
        let error = parse(TEXT, |_| Ok("fn sum() {}\n".to_owned())).unwrap_err();
        assert!(error.to_string().contains("no such line"), "{error}");
    }
}
