//! The host command, started as a person starts it.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use measure::{building::repository, computer};

/// Names the command's program, once a suite has built it.
pub(crate) const BUILT: &str = "MILLIMETER_TEST_COMMAND";

/// The command's program, built where this test was built.
pub fn program() -> Result<PathBuf> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if let Some(built) = env::var_os(BUILT) {
        return Ok(built.into());
    }
    FOUND
        .get_or_init(|| build_program().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(anyhow::Error::msg)
}

fn build_program() -> Result<PathBuf> {
    // <target>/debug/deps/<test>: the command is <target>/debug/measure.
    let me = env::current_exe().context("this test does not know where it is")?;
    let profile = me
        .ancestors()
        .nth(2)
        .context("this test lies in no target directory")?;
    let target = profile
        .parent()
        .context("this test lies in no target directory")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--quiet",
            "--package",
            "measure",
            "--bin",
            "measure",
            "--target-dir",
        ])
        .arg(target)
        .current_dir(repository::root())
        .stdin(Stdio::null());
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let output = command.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "building the command failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(profile.join("measure"))
}

/// How the command ended and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub error: String,
}

impl Finished {
    /// Ends the test unless the command ended with this exit code and its errors contain all of these words.
    #[track_caller]
    pub fn assert_fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(
                self.error.contains(word),
                "it does not say {word}:\n{}",
                self.error
            );
        }
    }
}

/// The command with these arguments, not yet started.
pub fn measure(arguments: &[&str]) -> Result<Command> {
    let mut command = computer::program::that_ends_with_this(&program()?);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Runs the command to its end.
pub fn finish(mut command: Command) -> Result<Finished> {
    let output = command.output().context("cannot start the command")?;
    Ok(Finished {
        code: output.status.code(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        error: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
