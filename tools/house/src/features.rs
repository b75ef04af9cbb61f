//! The features of the libraries below the host command.
//!
//! Cargo gives a library the features that the packages of one build ask for together. If the build of the host command
//! alone gives it others than that of the whole workspace with its tests, both build it, and everything above it. The same
//! is true of what is built before the host command.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeSet, env, path::Path, process::Command};

/// The packages that are built alone, each before the next, and last the whole workspace with its tests.
const BUILDS: [&[&str]; 3] = [
    &["--package", "start", "--edges", "normal,build"],
    &["--package", "measure", "--edges", "normal,build"],
    &["--edges", "normal,build,dev"],
];

/// The libraries, as `name version features`, that a build has otherwise than the next one.
pub fn differing(root: &Path) -> Result<Vec<String>> {
    let builds: Result<Vec<_>> = BUILDS
        .iter()
        .map(|arguments| libraries(root, arguments))
        .collect();
    let differing = builds?
        .windows(2)
        .flat_map(|pair| pair[0].difference(&pair[1]).cloned().collect::<Vec<_>>())
        .collect();
    Ok(differing)
}

fn libraries(root: &Path, arguments: &[&str]) -> Result<BTreeSet<String>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--prefix", "none", "--format", "{p} {f}"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cannot start cargo tree")?;
    ensure!(
        output.status.success(),
        "cargo tree failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    let lines: BTreeSet<String> = lines.map(str::to_owned).collect();
    ensure!(lines.len() > 1, "cargo tree lists no libraries");
    Ok(lines)
}
