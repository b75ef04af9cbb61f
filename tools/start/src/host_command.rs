//! The host command: whether it is what its sources would give, its build, and how this process becomes it.
//!
//! Cargo could always decide whether it is current, but a second Cargo takes longer than the help of the command. So a
//! stamp lies beside it, as beside the products for the bare machine ([`crate::building::stamp`]).

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

use crate::building::{repository::origin, stamp::Sources};

/// What the host command is made of.
const SOURCES: [&str; 7] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "src",
    "tools/Cargo.toml",
    "tools/src",
    "tools/start",
];

/// Its package and its program.
const NAME: &str = "measure";

/// The host command that Cargo builds beside this program.
#[derive(Debug)]
pub struct HostCommand {
    /// Its program.
    program: PathBuf,
    /// Its sources as they were when this process began.
    sources: Option<Sources>,
}

impl HostCommand {
    /// The one beside this process's program.
    ///
    /// # Errors
    /// The process does not know where its program is.
    pub fn beside_this() -> Result<Self> {
        let this = env::current_exe().context("this program does not know where it is")?;
        Ok(Self::beside(&this, origin()))
    }

    /// The one beside this program, from the sources in `root`. Cargo builds the program anew for another compiler or with
    /// other flags, so it counts as a source.
    fn beside(this: &Path, root: &Path) -> Self {
        let sources = SOURCES.map(|name| root.join(name));
        Self {
            program: this.with_file_name(NAME),
            sources: Sources::now(sources.into_iter().chain([this.to_owned()])),
        }
    }

    /// Whether it is there and its sources would give the same.
    pub fn is_current(&self) -> bool {
        let sources = self.sources.as_ref();
        sources.is_some_and(|sources| sources.gave_by(&self.stamp(), &self.program))
    }

    /// Notes that the build has succeeded.
    pub fn note(&self) {
        if let Some(sources) = &self.sources {
            sources.note_by(&self.stamp(), &self.program);
        }
    }

    fn stamp(&self) -> PathBuf {
        self.program.with_extension("stamp")
    }

    /// Begins the build. Cargo says on standard error how far it has come.
    ///
    /// # Errors
    /// Cargo cannot be started.
    pub fn build(&self) -> Result<Child> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(["build", "--package", NAME, "--bin", NAME])
            .arg("--manifest-path")
            .arg(origin().join("Cargo.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let directory = self.program.parent();
        if let Some(target) = directory
            .and_then(Path::parent)
            .filter(|path| is_target(path))
        {
            command.arg("--target-dir").arg(target);
        }
        if directory.is_some_and(|directory| directory.ends_with("release")) {
            command.arg("--release");
        }
        command.spawn().context("cannot start cargo")
    }

    /// Replaces this process by it. Returns only if that fails.
    pub fn become_it(&self, words: &[OsString]) -> anyhow::Error {
        let error: io::Error = Command::new(&self.program).args(words).exec();
        anyhow::Error::new(error).context(format!("cannot start {}", self.program.display()))
    }
}

/// Whether this is the directory that Cargo builds into, above that of a profile. Below a directory of a target Cargo finds
/// it by the configuration that it had for this program.
fn is_target(directory: &Path) -> bool {
    directory.join("CACHEDIR.TAG").is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A repository, with this program and the host command in its target directory.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        for name in SOURCES {
            let place = root.path().join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            match name.contains("Cargo.") {
                true => fs::write(place, name).unwrap(),
                false => fs::create_dir_all(place).unwrap(),
            }
        }
        let directory = root.path().join("target/debug");
        fs::create_dir_all(&directory).unwrap();
        for name in ["start", NAME] {
            fs::write(directory.join(name), name).unwrap();
        }
        (root, directory.join("start"))
    }

    #[test]
    fn the_command_is_current_until_a_source_changes() {
        let (root, this) = repository();
        let command = || HostCommand::beside(&this, root.path());
        assert!(!command().is_current());
        command().note();
        assert!(command().is_current());
        for source in [
            "tools/src/main.rs",
            "src/lib.rs",
            "Cargo.lock",
            ".cargo/config.toml",
        ] {
            fs::write(root.path().join(source), "changed source").unwrap();
            assert!(!command().is_current(), "{source}");
            command().note();
            assert!(command().is_current(), "{source}");
        }
        fs::write(root.path().join("README.md"), "no source").unwrap();
        assert!(command().is_current());
    }

    #[test]
    fn a_command_or_a_start_that_was_built_by_others_is_not_current() {
        let (root, this) = repository();
        let command = || HostCommand::beside(&this, root.path());
        command().note();
        fs::write(this.with_file_name(NAME), "another one").unwrap();
        assert!(!command().is_current());
        command().note();
        fs::write(&this, "of another compiler").unwrap();
        assert!(!command().is_current());
        command().note();
        fs::remove_file(this.with_file_name(NAME)).unwrap();
        assert!(!command().is_current());
    }

    #[test]
    fn a_source_that_changes_during_the_build_makes_the_command_stale() {
        let (root, this) = repository();
        let built = HostCommand::beside(&this, root.path());
        fs::write(root.path().join("src/lib.rs"), "written meanwhile").unwrap();
        built.note();
        assert!(!HostCommand::beside(&this, root.path()).is_current());
    }

    #[test]
    fn all_sources_of_the_command_are_in_this_repository() {
        for name in SOURCES {
            assert!(origin().join(name).exists(), "{name}");
        }
    }
}
