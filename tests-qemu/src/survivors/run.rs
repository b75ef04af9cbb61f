//! Runs `cargo-mutants`, which makes the mutants, and builds and tests each in a copy of the repository.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use measure::building::repository::root;

use super::mutant::{self, Fate, Judged};

/// The mutants of one crate, which its own unit tests judge.
struct Part {
    package: &'static str,
    /// Which of its tests to begin with: all, or those whose names have this.
    tests: &'static [&'static str],
}

/// What is mutated in each is the choice of `.cargo/mutants.toml`.
const PARTS: [Part; 2] = [
    Part {
        package: "millimeter-cpumf",
        tests: &[],
    },
    Part {
        package: "millimeter-guest",
        tests: &["measurement"],
    },
];

/// Random cases of each test to begin with. They kill nearly everything in a second; the survivors meet all cases.
const FEW_CASES: &str = "300";

/// Nothing else of a crate needs to be built.
const UNIT_TESTS: &str = "--cargo-arg=--lib";

/// The tool.
const TOOL: &str = "cargo-mutants";

/// Tries every mutant.
pub fn all() -> Result<()> {
    for part in &PARTS {
        let mut few = tool(part.package, FIRST)?;
        few.args(["--package", part.package, UNIT_TESTS]);
        few.args(["--", "--"]).args(part.tests);
        few.env("PROPTEST_CASES", FEW_CASES);
        finish(few)?;
        let found = mutant::read(&output(part.package, FIRST))?;
        let second = output(part.package, SECOND);
        if second.exists() {
            fs::remove_dir_all(&second)
                .with_context(|| format!("cannot remove {}", second.display()))?;
        }
        // A busy host can make a test late that comes to an end.
        let left = found
            .iter()
            .filter(|judged| matches!(judged.fate, Fate::Survived | Fate::TimedOut));
        let names: Vec<String> = left.map(|judged| exactly(&judged.mutant.name)).collect();
        if names.is_empty() {
            continue;
        }
        let mut every = tool(part.package, SECOND)?;
        every.args(["--package", part.package, UNIT_TESTS]);
        every.args(names.iter().flat_map(|name| ["--re", name]));
        finish(every)?;
    }
    Ok(())
}

/// The mutants of the last run of all, each with its fate.
pub fn outcomes() -> Result<Vec<Judged>> {
    let mut all = Vec::new();
    for part in &PARTS {
        let first = mutant::read(&output(part.package, FIRST))?;
        let second = output(part.package, SECOND);
        let second = if second.exists() {
            mutant::read(&second)?
        } else {
            Vec::new()
        };
        all.extend(first.into_iter().map(|judged| {
            let again = second.iter().find(|again| again.mutant == judged.mutant);
            again.cloned().unwrap_or(judged)
        }));
    }
    Ok(all)
}

/// The crates that have mutants.
pub(super) fn packages() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.package)
}

/// The folders of the two passes: with few cases, and what that left over with all.
const FIRST: &str = "few-cases";
const SECOND: &str = "all-cases";

/// Where a run writes.
pub(super) fn output(what: &str, pass: &str) -> PathBuf {
    root().join("target/survivors").join(what).join(pass)
}

/// The tool, with what every run has.
pub(super) fn tool(what: &str, pass: &str) -> Result<Command> {
    let output = output(what, pass);
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    let mut command = Command::new("cargo");
    command.args(["mutants", "--no-shuffle", "--cap-lints", "true", "--output"]);
    command.arg(output).current_dir(root()).stdin(Stdio::null());
    Ok(command)
}

/// The regular expression of this text.
pub fn exactly(text: &str) -> String {
    let mut expression = "^".to_owned();
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            expression.push('\\');
        }
        expression.push(letter);
    }
    expression + "$"
}

/// Survivors and tests without an end are outcomes, and not failures of the tool.
const DONE: [i32; 3] = [0, 2, 3];

/// Runs the tool to its end.
pub(super) fn finish(mut command: Command) -> Result<()> {
    let status = command.status().context("cannot start cargo")?;
    if status.code() == Some(101) {
        bail!("cargo has no command `mutants`: `cargo install --locked {TOOL}` gives it one");
    }
    if !status.code().is_some_and(|code| DONE.contains(&code)) {
        bail!("{TOOL} ended with {status}; what it says above tells why");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_matches_the_name_of_one_mutant() {
        let name = "a/b.rs:1:2: replace f -> (bool, [u8; 2]) with (true, [0; 2])";
        let expression =
            r"^a/b\.rs:1:2: replace f \-> \(bool, \[u8; 2\]\) with \(true, \[0; 2\]\)$";
        assert_eq!(exactly(name), expression);
    }
}
