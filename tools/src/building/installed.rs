//! What a command that was installed with `cargo install` has built.
//!
//! It is built once, where the sources are, and kept in the user's cache. From then on the command needs neither Cargo nor
//! the sources, and image and guests stay as old as the command itself. A command that is installed anew begins anew.
//! One that Cargo runs where it has built it is not installed: there the sources decide.

use std::{
    env, fs,
    io::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{computer::cache_directory, numbers::hexadecimal};

/// What Cargo keeps beside the directory of the commands that it has installed.
const MARK: &str = ".crates.toml";

/// The directory in the user's cache.
const BUILT: &str = "built";

/// The file that names the command whose products are beside it.
const COMMAND: &str = "command";

/// The place of the products of an installed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Products {
    directory: PathBuf,
    command: PathBuf,
}

/// The products of this process's command; `None` if it is not installed.
pub fn products() -> Option<&'static Products> {
    static FOUND: OnceLock<Option<Products>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let command = env::current_exe().ok()?;
            let all = cache_directory::of_user().ok()?.join(BUILT);
            Products::of(&command, &all)
        })
        .as_ref()
}

impl Products {
    /// The products of this command among all that are kept here.
    fn of(command: &Path, all: &Path) -> Option<Self> {
        let command = command.canonicalize().ok()?;
        let root = command.parent()?.parent()?;
        if !root.join(MARK).is_file() {
            return None;
        }
        let data = command.metadata().ok()?;
        let state = (data.size(), data.mtime(), data.mtime_nsec());
        let digest = Sha256::digest(format!("{} {state:?}", command.display()));
        Some(Self {
            directory: all.join(hexadecimal(&digest[..16])),
            command,
        })
    }

    /// The directory of the products.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether this one is there.
    pub fn have(&self, name: &str) -> bool {
        self.directory.join(name).is_file()
    }

    /// Keeps a program.
    pub fn add(&self, program: &Path) -> Result<()> {
        let name = program.file_name().unwrap_or_default();
        let read = fs::read(program);
        let bytes = read.with_context(|| format!("cannot read {}", program.display()))?;
        self.put(Path::new(name), &bytes)
    }

    /// The names that were kept under this name.
    pub fn names(&self, of: &str) -> Option<Vec<String>> {
        let text = fs::read_to_string(self.directory.join(list(of))).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }

    /// Keeps names.
    pub fn add_names(&self, of: &str, names: &[String]) -> Result<()> {
        self.put(&list(of), names.join("\n").as_bytes())
    }

    /// Puts a file into the directory, at once and whole.
    fn put(&self, name: &Path, bytes: &[u8]) -> Result<()> {
        let directory = &self.directory;
        if !directory.is_dir() {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
            fs::write(
                directory.join(COMMAND),
                self.command.as_os_str().as_encoded_bytes(),
            )?;
            self.remove_earlier();
        }
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        new.write_all(bytes)?;
        let file = directory.join(name);
        new.persist(&file)
            .with_context(|| format!("cannot create {}", file.display()))?;
        Ok(())
    }

    /// Removes what this command had built before it was installed anew, and what commands had built that are gone.
    fn remove_earlier(&self) {
        use std::os::unix::ffi::OsStringExt;
        let all = self.directory.parent().unwrap_or(&self.directory);
        for entry in fs::read_dir(all).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(command) = fs::read(path.join(COMMAND)) else {
                continue;
            };
            let command = PathBuf::from(std::ffi::OsString::from_vec(command));
            if path != self.directory && (command == self.command || !command.exists()) {
                // Whoever else removes it does no harm.
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

/// The file of a list of names.
fn list(of: &str) -> PathBuf {
    format!("{}.names", of.replace('/', "-")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that was installed in this directory.
    fn install(root: &Path, bytes: &str) -> PathBuf {
        let command = root.join("bin/measure");
        fs::create_dir_all(command.parent().unwrap()).unwrap();
        fs::write(root.join(MARK), "").unwrap();
        fs::write(&command, bytes).unwrap();
        command
    }

    #[test]
    fn only_a_command_that_cargo_has_installed_keeps_what_it_builds() {
        let root = tempfile::tempdir().unwrap();
        let command = install(root.path(), "");
        assert!(Products::of(&command, root.path()).is_some());
        fs::remove_file(root.path().join(MARK)).unwrap();
        assert_eq!(Products::of(&command, root.path()), None);
        assert_eq!(products(), None, "a test is not installed");
    }

    #[test]
    fn a_command_that_is_installed_anew_begins_anew_and_removes_what_it_had() {
        let root = tempfile::tempdir().unwrap();
        let all = root.path().join("built");
        let first = Products::of(&install(root.path(), "first"), &all).unwrap();
        let program = root.path().join("image");
        fs::write(&program, "IPL").unwrap();
        first.add(&program).unwrap();
        first
            .add_names("a/b", &["x".to_owned(), "y".to_owned()])
            .unwrap();
        assert!(first.have("image") && !first.have("guest"));
        let kept = fs::read(first.directory().join("image")).unwrap();
        assert_eq!(kept, b"IPL");
        assert_eq!(first.names("a/b").unwrap(), ["x", "y"]);
        assert_eq!(first.names("a"), None);
        let second = Products::of(&install(root.path(), "the second"), &all).unwrap();
        assert!(!second.have("image") && first.have("image"));
        second.add(&program).unwrap();
        assert!(second.have("image") && !first.directory().exists());
    }
}
