//! A release: one static command that carries image and guests, its licences, manual pages and completions, and a Debian
//! package.
//!
//! All files are laid out in one directory, so that `tools/Cargo.toml` can name them: its section `package.metadata.deb` is
//! read by [`debian`] and, if somebody prefers that, by `cargo deb`.

pub mod debian;
pub mod notices;
pub mod static_command;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap_complete::Shell;

use crate::{
    args::manual,
    building::{bundle, carried, repository},
    computer::{input_file, progress::Progress, whole_file},
};

/// What a release is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The directory of its files; `None` for the one that `tools/Cargo.toml` names.
    pub out: Option<PathBuf>,
    /// The command that is to carry image and guests; `None` for one that is built for it.
    pub command: Option<PathBuf>,
    /// Whether there is to be a Debian package.
    pub debian: bool,
}

/// Where the files are for a Debian package.
pub fn default_directory() -> PathBuf {
    repository::root().join("target/package")
}

/// Makes a release, and returns its files for a person: the command, and the package.
pub fn make(wanted: &Wanted, progress: &Progress) -> Result<Vec<PathBuf>> {
    if let Some(command) = &wanted.command {
        input_file::open(command)
            .with_context(|| format!("cannot read the command {}", command.display()))?;
    }
    let out = wanted.out.clone().unwrap_or_else(default_directory);
    whole_file::check_directory(&out, "--out")?;
    let carried = carried::build(progress)?;
    let built = match &wanted.command {
        Some(command) => command.clone(),
        None => static_command::build(progress)?,
    };
    let notices = notices::text(&static_command::target()?)?;
    lay_out(&out, &notices).with_context(|| not_written(&out))?;
    let step = progress.step("packing image and guests into the command");
    let command = out.join("measure");
    bundle::append(&built, &carried, &command)?;
    step.done("packed image and guests into the command");
    let mut made = vec![command];
    if wanted.debian {
        made.push(debian::make(&out, progress)?);
    }
    Ok(made)
}

/// What to do about a file of a release, or a directory, that cannot be written.
fn not_written(place: &Path) -> String {
    format!(
        "cannot write {}; make room there, or choose another directory with --out",
        place.display()
    )
}

/// Licences, manual pages and completions, with the names under which a system looks for them.
fn lay_out(out: &Path, notices: &str) -> Result<()> {
    manual::write_pages(&out.join("man"))?;
    whole_file::put(&out.join("licences.txt"), notices)?;
    for (shell, name) in [
        (Shell::Bash, "bash/measure"),
        (Shell::Zsh, "zsh/_measure"),
        (Shell::Fish, "fish/measure.fish"),
    ] {
        let file = out.join("completions").join(name);
        fs::create_dir_all(file.parent().unwrap_or(out))?;
        whole_file::put(&file, manual::completions(shell))?;
    }
    Ok(())
}
