//! Which release and which build this is: what the machine's banner, `measure --version` and `run.json` say.
//!
//! A build is named by its sources, not by its bytes, because the image says the name itself. The name is the beginning of
//! a digest of the contents of the sources, the versions of the dependencies, and the flags.

use std::{ffi::OsStr, fs, path::Path, sync::OnceLock};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{installed, product::IMAGE, repository};
use crate::numbers::hexadecimal;

/// The release: that of the workspace.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Tells the image's build its name.
pub const VARIABLE: &str = "MILLIMETER_BUILD";

/// The name under which an installed command keeps its build.
pub const KEPT: &str = "build";

/// What the image is made of.
const SOURCES: [&str; 5] = ["Cargo.lock", "Cargo.toml", "boot", "linker.ld", "src"];

/// Bytes of the digest in the name.
const LENGTH: usize = 6;

/// The release and the build in words, for a person: `0.1.0 (build 0123456789ab)`.
pub fn words() -> String {
    match build() {
        Some(build) => format!("{RELEASE} (build {build})"),
        None => RELEASE.to_owned(),
    }
}

/// The build of the image that this command uses; `None` for a command that was installed, has not built one, and lacks the
/// sources.
pub fn build() -> Option<String> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND
        .get_or_init(|| match installed::products() {
            Some(kept) => {
                let known = kept.names(KEPT).and_then(|names| names.first().cloned());
                known.or_else(|| of_sources().ok())
            }
            None => of_sources().ok(),
        })
        .clone()
}

/// Keeps the name of the build beside an image that was built for an installed command.
pub fn keep(kept: &installed::Products) -> Result<()> {
    kept.add_names(KEPT, &[of_sources()?])
}

/// The build that the sources give as they are now.
pub fn of_sources() -> Result<String> {
    of(repository::root())
}

fn of(root: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    for flag in [IMAGE.flags, IMAGE.program_flags].concat() {
        add(&mut digest, flag.as_bytes());
    }
    for name in SOURCES {
        add_file(&mut digest, root, Path::new(name))?;
    }
    Ok(hexadecimal(&digest.finalize()[..LENGTH]))
}

/// Adds the names and contents below this place, in the order of the names, without what only tests use.
fn add_file(digest: &mut Sha256, root: &Path, name: &Path) -> Result<()> {
    let path = root.join(name);
    let cannot_read = || format!("cannot read {}", path.display());
    if !path.is_dir() {
        add(digest, name.as_os_str().as_encoded_bytes());
        add(digest, &fs::read(&path).with_context(cannot_read)?);
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&path).with_context(cannot_read)? {
        let entry = entry.with_context(cannot_read)?.file_name();
        if !is_of_an_editor(&entry) {
            names.push(name.join(entry));
        }
    }
    names.sort_unstable();
    names
        .iter()
        .filter(|name| !is_of_tests(name))
        .try_for_each(|name| add_file(digest, root, name))
}

/// Whether this file or directory is compiled for tests only, by its name.
/// What an editor leaves beside a file while somebody writes: a lock, which leads nowhere, or a copy.
fn is_of_an_editor(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") || name.ends_with(b"~")
}

fn is_of_tests(name: &Path) -> bool {
    let stem = name.file_stem().unwrap_or_default();
    stem.as_encoded_bytes().ends_with(b"tests")
}

/// Adds bytes with their length, so that where they end counts, too.
fn add(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with these sources beside the least that there must be.
    fn build_of(sources: &[(&str, &str)]) -> String {
        let root = tempfile::tempdir().unwrap();
        for name in ["boot", "src/arch"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        for name in ["Cargo.lock", "Cargo.toml", "linker.ld"] {
            fs::write(root.path().join(name), name).unwrap();
        }
        for (name, text) in sources {
            fs::write(root.path().join(name), text).unwrap();
        }
        of(root.path()).unwrap()
    }

    #[test]
    fn a_build_is_named_by_contents_and_names_and_not_by_its_directory() {
        let first = build_of(&[("src/lib.rs", "a"), ("src/arch/lib.rs", "b")]);
        assert_eq!(first.len(), 2 * LENGTH);
        assert_eq!(
            first,
            build_of(&[("src/arch/lib.rs", "b"), ("src/lib.rs", "a")])
        );
        for other in [
            [("src/lib.rs", "b"), ("src/arch/lib.rs", "a")],
            [("src/lib.rs", "ab"), ("src/arch/lib.rs", "")],
            [("src/main.rs", "a"), ("src/arch/lib.rs", "b")],
        ] {
            assert_ne!(first, build_of(&other), "{other:?}");
        }
    }

    #[test]
    fn what_only_tests_and_editors_use_does_not_make_another_build() {
        let first = build_of(&[("src/lib.rs", "a")]);
        for tests in [
            "src/tests.rs",
            "src/arch/random_tests.rs",
            "src/.#lib.rs",
            "src/lib.rs~",
        ] {
            assert_eq!(first, build_of(&[("src/lib.rs", "a"), (tests, "x")]));
        }
        assert_ne!(
            first,
            build_of(&[("src/lib.rs", "a"), ("src/contest.rs", "x")])
        );
    }
}
