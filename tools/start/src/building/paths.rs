//! The paths of this computer, which are not part of the image.
//!
//! The compiler writes where it found a source into the debug information. In the image these places have names that are
//! the same everywhere, so two builds of the same sources have the same bytes, whatever the directories.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{repository::root, toolchain::Toolchain};

/// What the repository is called in the image.
const REPOSITORY: &str = "/millimeter";
/// What Cargo's own directory is called, which has the sources of dependencies.
const DEPENDENCIES: &str = "/cargo";
/// What the sources of `core` are called: as in a `core` that is not built here.
const CORE: &str = "/rust";

/// Flags for the compiler that replace these paths. Of two that fit the compiler takes the later one: Cargo's directory can
/// be in the repository.
pub fn replacements(toolchain: &Toolchain) -> Result<Vec<String>> {
    let core = toolchain.sysroot.path.join("lib/rustlib/src/rust");
    let mut places = vec![(root().to_owned(), REPOSITORY)];
    places.extend(cargo_home().map(|home| (home, DEPENDENCIES)));
    places.push((core, CORE));
    let mut flags = Vec::new();
    for (place, name) in places {
        // Cargo gives the compiler some paths as they are written, and some without symbolic links.
        flags.push(flag(&place, name)?);
        flags.push(flag(&real(&place), name)?);
    }
    flags.dedup();
    Ok(flags)
}

/// Where Cargo keeps the sources of dependencies.
fn cargo_home() -> Option<PathBuf> {
    let chosen = env::var_os("CARGO_HOME").map(PathBuf::from);
    chosen.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))
}

/// The path without symbolic links.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn flag(place: &Path, name: &str) -> Result<String> {
    let place = place.to_str().with_context(|| {
        format!(
            "the path {} is not UTF-8; move what is there to one that is",
            place.display()
        )
    })?;
    Ok(format!("--remap-path-prefix={place}={name}"))
}
