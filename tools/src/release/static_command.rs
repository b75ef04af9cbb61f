//! Builds the command of a release: one file that needs no library of the system.
//!
//! musl is made for that. Its target is not installed everywhere, and the part of the command that is written in C needs
//! musl's compiler, too. Without them the GNU C library is linked statically; the command calls nothing in it that would
//! need its files at run time, like the look-up of names of hosts.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    building::{
        install,
        repository::{self, root},
    },
    computer::progress::Progress,
};

/// The profile in `Cargo.toml`.
const PROFILE: &str = "released";

/// The compiler for C with musl, from Debian's `musl-tools`.
const MUSL_COMPILER: &str = "musl-gcc";

/// The C library of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// musl.
    Musl,
    /// The GNU C library.
    Gnu,
}

impl Library {
    /// The best one that this computer has, with what a compiler of this sysroot has.
    fn of(sysroot: &Path, has_compiler: bool) -> Self {
        let target = sysroot.join("lib/rustlib").join(Self::Musl.target());
        match has_compiler && target.join("lib").is_dir() {
            true => Self::Musl,
            false => Self::Gnu,
        }
    }

    /// The best one here.
    fn of_this_computer() -> Result<Self> {
        let has_compiler = install::in_path(MUSL_COMPILER).is_some();
        Ok(Self::of(&sysroot()?, has_compiler))
    }

    fn target(self) -> String {
        let library = match self {
            Self::Musl => "musl",
            Self::Gnu => "gnu",
        };
        format!("{}-unknown-linux-{library}", env::consts::ARCH)
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Musl => "musl",
            Self::Gnu => "the GNU C library",
        })
    }
}

/// The target for which it is built.
pub fn target() -> Result<String> {
    Ok(Library::of_this_computer()?.target())
}

/// Builds it with the active toolchain and returns its file.
pub fn build(progress: &Progress) -> Result<PathBuf> {
    let library = Library::of_this_computer()?;
    let target = library.target();
    // The target `s390x` of the image has its own directory and lock, and Cargo has a lock for this one.
    let directory = root().join("target");
    let step = progress.step(&format!("building the command with {library}"));
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--locked",
            "--package",
            "measure",
            "--bin",
            "measure",
        ])
        .args(["--profile", PROFILE, "--target", &target, "--target-dir"])
        .arg(&directory)
        // It may name the repository of another place.
        .env_remove(repository::VARIABLE)
        .current_dir(root())
        .stdin(Stdio::null());
    if library == Library::Gnu {
        cargo.env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
    }
    let output = cargo
        .output()
        .context("cannot start cargo; install Rust with rustup")?;
    if !output.status.success() {
        bail!(
            "building the command with {library} failed ({})\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    step.done(&format!("built the command with {library}"));
    Ok(directory.join(target).join(PROFILE).join("measure"))
}

/// The directory of the active toolchain.
fn sysroot() -> Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(root())
        .output()
        .context("cannot start rustc; install Rust with rustup")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn musl_is_used_only_with_its_target_and_its_compiler() {
        let sysroot = tempfile::tempdir().unwrap();
        let target = format!("{}-unknown-linux-musl", env::consts::ARCH);
        assert_eq!(Library::of(sysroot.path(), true), Library::Gnu);
        let place = sysroot.path().join("lib/rustlib").join(target).join("lib");
        std::fs::create_dir_all(place).unwrap();
        assert_eq!(Library::of(sysroot.path(), true), Library::Musl);
        assert_eq!(Library::of(sysroot.path(), false), Library::Gnu);
    }
}
