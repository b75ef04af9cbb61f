//! Where the repository is, where its artifacts go, and the locks that keep two processes from doing the same work.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result};

use crate::computer::{cache_directory, progress::Progress};

/// Names the repository if it is no longer where it was when this command was built.
pub const VARIABLE: &str = "MILLIMETER_SOURCES";

/// The repository: the directory two above this package, unless [`VARIABLE`] names another one.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        if let Some(moved) = env::var_os(VARIABLE) {
            return moved.into();
        }
        origin().to_owned()
    })
}

/// The repository that this command was built in.
pub fn origin() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// Whether it is there. A command that was installed can outlive it.
pub fn is_there() -> bool {
    root().join("Cargo.toml").is_file()
}

/// The directory in which everything for the bare machine is built.
pub fn target_directory() -> PathBuf {
    root().join("target/s390x")
}

/// Locks a file of the target directory, or without one of the user's cache, until the result is dropped. `other` names the process that may hold it.
pub fn lock(name: &str, other: &str, progress: &Progress) -> Result<File> {
    let directory = match is_there() {
        true => target_directory(),
        false => cache_directory::of_user()?,
    };
    lock_in(&directory, name, other, progress)
}

/// Locks a file of this directory until the result is dropped.
pub fn lock_in(directory: &Path, name: &str, other: &str, progress: &Progress) -> Result<File> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let path = directory.join(name);
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        progress.note(&format!("waiting for {other}"));
        file.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}
