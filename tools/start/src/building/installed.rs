//! What a command that was installed with `cargo install` has built, or one of a release carries.
//!
//! It is built once, where the sources are, and kept in the user's cache. From then on the command needs neither Cargo nor
//! the sources, and image and guests stay as old as the command itself. A command that is installed anew begins anew.
//! One that Cargo runs where it has built it is not installed: there the sources decide.
//!
//! A command of a release has everything inside ([`bundle`](super::bundle)). It is unpacked to the same place when something
//! of it is needed for the first time.

use std::{
    env,
    fs::{self, File},
    io::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{
    bundle::{Bundle, Carried},
    repository,
};
use crate::{
    computer::{cache_directory, progress::Progress},
    numbers::hexadecimal,
};

/// What Cargo keeps beside the directory of the commands that it has installed.
const MARK: &str = ".crates.toml";

/// The directory in the user's cache.
const BUILT: &str = "built";

/// The file that names the command whose products are beside it.
const COMMAND: &str = "command";

/// The file that whoever writes has locked.
const LOCK: &str = "lock";

/// How names begin of what is not complete yet.
const INCOMPLETE: &str = ".tmp";

/// The place of the products of an installed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Products {
    directory: PathBuf,
    command: PathBuf,
    /// What the command carries, if it is one of a release.
    carried: Option<Bundle>,
}

/// The products of this process's command; `None` if it is not installed.
pub fn products() -> Option<&'static Products> {
    static FOUND: OnceLock<Option<Products>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let command = env::current_exe().ok()?;
            let all = match cache_directory::of_user() {
                Ok(cache) => cache.join(BUILT),
                // A command of a release says so when something is to be unpacked.
                Err(_) => PathBuf::new(),
            };
            Products::of(&command, &all)
        })
        .as_ref()
}

impl Products {
    /// The products of this command among all that are kept here.
    fn of(command: &Path, all: &Path) -> Option<Self> {
        let command = command.canonicalize().ok()?;
        if let Some(bundle) = Bundle::of(&command) {
            return Some(Self {
                directory: match all.is_absolute() {
                    true => all.join(bundle.name()),
                    false => PathBuf::new(),
                },
                command,
                carried: Some(bundle),
            });
        }
        let root = command.parent()?.parent()?;
        if !all.is_absolute() || !root.join(MARK).is_file() {
            return None;
        }
        let data = command.metadata().ok()?;
        let state = (data.size(), data.mtime(), data.mtime_nsec());
        let digest = Sha256::digest(format!("{} {state:?}", command.display()));
        Some(Self {
            directory: all.join(hexadecimal(&digest[..16])),
            command,
            carried: None,
        })
    }

    /// Unpacks what the command carries, unless it is there already.
    pub fn ready(&self) -> Result<()> {
        let directory = &self.directory;
        let Some(bundle) = &self.carried else {
            return Ok(());
        };
        let Some(all) = directory.parent() else {
            // Its error says what to set.
            return cache_directory::of_user().map(drop);
        };
        if directory.join(COMMAND).is_file() {
            return Ok(());
        }
        let cannot = || format!("cannot unpack image and guests below {}", all.display());
        let _alone = alone(all).with_context(cannot)?;
        // While this process waited, another may have done the work.
        if directory.join(COMMAND).is_file() {
            return Ok(());
        }
        let new = tempfile::Builder::new()
            .prefix(INCOMPLETE)
            .tempdir_in(all)
            .with_context(cannot)?;
        bundle.unpack(new.path()).with_context(cannot)?;
        fs::write(
            new.path().join(COMMAND),
            self.command.as_os_str().as_encoded_bytes(),
        )
        .with_context(cannot)?;
        fs::rename(new.path(), directory).with_context(cannot)?;
        self.remove_earlier();
        Ok(())
    }

    /// Whether the command carries them, so that nothing is ever built.
    pub fn are_carried(&self) -> bool {
        self.carried.is_some()
    }

    /// The directory of the products.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether this one is there.
    pub fn have(&self, name: &str) -> bool {
        self.ready().is_ok() && self.directory.join(name).is_file()
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
        let text = match &self.carried {
            Some(bundle) => String::from_utf8(bundle.read(&list_name(of)).ok()??).ok()?,
            None => fs::read_to_string(self.directory.join(list_name(of))).ok()?,
        };
        Some(text.lines().map(str::to_owned).collect())
    }

    /// Keeps names.
    pub fn add_names(&self, of: &str, names: &[String]) -> Result<()> {
        self.put(Path::new(&list_name(of)), names.join("\n").as_bytes())
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
        let _alone = alone(directory)?;
        let mut new = tempfile::Builder::new()
            .prefix(INCOMPLETE)
            .tempfile_in(directory)?;
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

/// Nobody else writes into this directory until the result is dropped. So what is incomplete there was left by processes that
/// were killed, and is removed.
fn alone(directory: &Path) -> Result<File> {
    let lock = repository::lock_in(
        directory,
        LOCK,
        "another command that writes image and guests",
        &Progress::Plain,
    )?;
    for entry in fs::read_dir(directory)?.flatten() {
        if !entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(INCOMPLETE.as_bytes())
        {
            continue;
        }
        // What cannot be removed takes room, and does no other harm.
        let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
    }
    Ok(lock)
}

/// The file of a list of names.
fn list_name(of: &str) -> String {
    format!("{}.names", of.replace('/', "-"))
}

/// A list of names as a command of a release carries it.
pub fn carried_list(of: &str, names: &[String]) -> Carried {
    Carried {
        name: list_name(of),
        bytes: names.join("\n").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

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
    fn a_command_of_a_release_unpacks_what_it_carries_once_and_needs_no_mark_of_cargo() {
        let root = tempfile::tempdir().unwrap();
        let all = root.path().join("built");
        let (plain, full) = (root.path().join("plain"), root.path().join("full"));
        fs::write(&plain, "program").unwrap();
        let image = Carried {
            name: "image".to_owned(),
            bytes: b"IPL".to_vec(),
        };
        let names = carried_list("a/b", &["x".to_owned(), "y".to_owned()]);
        super::super::bundle::append(&plain, &[names, image], &full).unwrap();
        assert_eq!(Products::of(&plain, &all), None);
        let products = Products::of(&full, &all).unwrap();
        assert!(products.are_carried());
        assert_eq!(products.names("a/b").unwrap(), ["x", "y"]);
        assert!(!all.exists(), "names need no room in the cache");
        assert!(products.have("image") && !products.have("guest"));
        let image = products.directory().join("image");
        let date = || image.metadata().unwrap().modified().unwrap();
        let first = date();
        products.ready().unwrap();
        assert_eq!(date(), first);
        // A second command in the same place removes what the first had.
        let other = carried_list("a/b", &["z".to_owned()]);
        super::super::bundle::append(&plain, &[other], &full).unwrap();
        let second = Products::of(&full, &all).unwrap();
        second.ready().unwrap();
        assert!(!products.directory().exists() && second.directory().exists());
    }

    #[test]
    fn what_a_command_left_that_was_killed_while_it_unpacked_is_removed_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        let all = root.path().join("built");
        let left = all.join(".tmpkilled");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("image"), "half").unwrap();
        let (plain, full) = (root.path().join("plain"), root.path().join("full"));
        fs::write(&plain, "program").unwrap();
        super::super::bundle::append(&plain, &[], &full).unwrap();
        let products = Products::of(&full, &all).unwrap();
        // While another unpacks, what it writes is not touched, and what it has unpacked is not unpacked again.
        let working = repository::lock_in(&all, LOCK, "", &Progress::Silent).unwrap();
        thread::scope(|scope| {
            let ready = scope.spawn(|| products.ready());
            fs::write(left.join(COMMAND), "of the other").unwrap();
            fs::rename(&left, products.directory()).unwrap();
            drop(working);
            ready.join().unwrap().unwrap();
        });
        let kept = fs::read(products.directory().join(COMMAND)).unwrap();
        assert_eq!(kept, b"of the other");
        // As it is when a command is killed: the name of the command comes last.
        fs::rename(products.directory(), &left).unwrap();
        fs::remove_file(left.join(COMMAND)).unwrap();
        products.ready().unwrap();
        let kept = fs::read(products.directory().join(COMMAND)).unwrap();
        assert_eq!(
            kept,
            full.canonicalize().unwrap().as_os_str().as_encoded_bytes()
        );
        assert!(!left.exists());
    }

    #[test]
    fn a_program_that_a_killed_command_had_begun_to_keep_is_removed_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        let command = install(root.path(), "first");
        let products = Products::of(&command, &root.path().join("built")).unwrap();
        products.add_names("a", &[]).unwrap();
        let left = products.directory().join(".tmpkilled");
        fs::write(&left, "half").unwrap();
        products.add_names("b", &[]).unwrap();
        assert!(!left.exists());
        assert_eq!(products.names("a").unwrap(), [""; 0]);
    }

    #[test]
    fn a_command_of_a_release_says_where_it_cannot_unpack() {
        let root = tempfile::tempdir().unwrap();
        let (plain, full) = (root.path().join("plain"), root.path().join("full"));
        fs::write(&plain, "program").unwrap();
        super::super::bundle::append(&plain, &[], &full).unwrap();
        assert_eq!(
            Products::of(&full, Path::new("")).unwrap().directory(),
            Path::new(""),
            "nothing is ever unpacked into the current directory"
        );
        // A file is in the way.
        let products = Products::of(&full, &plain.join("built")).unwrap();
        let error = products.ready().unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("cannot unpack image and guests below"),
            "{text}"
        );
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
