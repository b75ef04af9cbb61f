//! A command that was installed works from any directory, and without its sources.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use measure::{
    building::{build, repository},
    computer::progress::Progress,
};
use tempfile::TempDir;
use tests_qemu::command::{self, Finished};
use tests_qemu::suite::test;

/// Installs the command below this directory, from what the tests have built of it.
fn install(root: &Path) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["install", "--quiet", "--debug", "--locked", "--offline"])
        .args(["--path", "tools", "--root"])
        .arg(root)
        .arg("--target-dir")
        .arg(repository::root().join("target"))
        .current_dir(repository::root())
        .stdin(Stdio::null());
    let finished = command::finish(command).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

/// A computer on which the command is installed: its root, its user's cache, and a directory to work in.
struct Computer {
    root: TempDir,
    cache: TempDir,
    directory: TempDir,
}

impl Computer {
    /// Performs the command; `sources` are where it looks for them.
    fn measure(&self, sources: &Path, line: &[&str]) -> Finished {
        let mut command = Command::new(self.root.path().join("bin/measure"));
        command
            .args(line)
            .env("XDG_CACHE_HOME", self.cache.path())
            .env(repository::VARIABLE, sources)
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        command::finish(command).unwrap()
    }
}

#[test]
fn an_installed_command_builds_once_and_then_works_without_its_sources() {
    let new = || TempDir::new().unwrap();
    let computer = Computer {
        root: new(),
        cache: new(),
        directory: new(),
    };
    install(computer.root.path());
    build::build_guest("b_stfl", &Progress::Plain).unwrap();
    let (here, gone) = (repository::root(), computer.root.path().join("gone"));
    // Without sources from the beginning it says what it needs.
    let finished = computer.measure(&gone, &["run", "b_stfl", "--out", "run"]);
    finished.assert_fails(2, &["the guest b_stfl is not built yet"]);
    let first = computer.measure(here, &["run", "b_stfl", "--out", "run"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let console = || fs::read_to_string(computer.directory.path().join("run/console.txt"));
    let written = console().unwrap();
    for guest in ["b_stfl", "b_svc"] {
        let finished = computer.measure(&gone, &["run", guest, "--out", "run"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    let again = computer.measure(&gone, &["run", "b_stfl", "--out", "run"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(console().unwrap(), written);
    // A guest that it has never built, and a name that no guest has.
    let words = ["not built yet", "no longer in", repository::VARIABLE];
    let finished = computer.measure(&gone, &["run", "spin", "--out", "run"]);
    finished.assert_fails(2, &words);
    let finished = computer.measure(&gone, &["run", "b_scv", "--out", "run"]);
    finished.assert_fails(2, &["no guest b_scv", "b_svc"]);
    let finished = computer.measure(&gone, &["image", "--form", "ins", "--out", "image"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let help = computer.measure(&gone, &["--help"]);
    assert!(help.output.contains("Usage: measure ["), "{help:?}");
}
