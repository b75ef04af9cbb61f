//! Temporary directories, which do not outlive a command that is killed.
//!
//! A directory is locked as long as its command lives: the kernel ends the lock with the process, however that ends, and no
//! number that is given again can pretend that it lives. Every command removes what others have left when it starts, and
//! so does whoever makes a directory.
//!
//! The place is shared with other users. Only what is a directory, not a link to one, and belongs to this user is locked and
//! removed, and removing follows no links.

use std::{
    env,
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::{
    fs::{Mode, OFlags},
    process::geteuid,
};
use tempfile::{Builder, TempDir};

/// How the names of the directories begin.
const NAME: &str = "millimeter-work-";

/// The directory in it that its user gets. A run locks its own one, which must be another.
const INNER: &str = "in";

/// How often one is made anew, because another command took it for a left one before it was locked.
const TRIES: usize = 100;

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub struct Temporary {
    directory: TempDir,
    // Behind the directory, so that it is locked until it is gone.
    lock: File,
    inner: PathBuf,
}

impl Temporary {
    /// Makes a directory.
    pub fn new() -> Result<Self> {
        Self::new_in(&env::temp_dir()).context(
            "cannot create a temporary directory; make room there, or set TMPDIR to one with free space",
        )
    }

    fn new_in(all: &Path) -> io::Result<Self> {
        remove_left_in(all);
        for _ in 0..TRIES {
            let directory = Builder::new()
                .prefix(NAME)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(all)?;
            let lock = match open(directory.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // On a file system without locks nobody can take it for a left one.
            let _ = lock.lock();
            let inner = directory.path().join(INNER);
            let made = Self {
                directory,
                lock,
                inner,
            };
            if made.is_there() {
                fs::create_dir(&made.inner)?;
                return Ok(made);
            }
        }
        Err(io::Error::other("other commands remove it at once"))
    }

    /// Whether the directory with this name is still the one that is locked.
    fn is_there(&self) -> bool {
        let named = fs::symlink_metadata(self.directory.path());
        let identity = |of: io::Result<fs::Metadata>| of.map(|of| (of.dev(), of.ino())).ok();
        let locked = identity(self.lock.metadata());
        locked.is_some() && identity(named) == locked
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.inner
    }
}

/// Removes the directories of commands that were killed.
pub fn remove_left() {
    remove_left_in(&env::temp_dir());
}

fn remove_left_in(all: &Path) {
    let Ok(entries) = fs::read_dir(all) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(NAME.as_bytes()) {
            continue;
        }
        let Ok(directory) = open(&entry.path()) else {
            continue;
        };
        let owner = directory.metadata().map(|data| data.uid());
        let is_ours = owner.is_ok_and(|owner| owner == geteuid().as_raw());
        if is_ours && directory.try_lock().is_ok() {
            // What cannot be removed now is left for the next command.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Opens a directory; a link to one is an error.
fn open(directory: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::{chown, symlink},
        thread,
    };

    use super::*;

    /// A directory as a command leaves it that is killed.
    fn left(all: &Path) -> PathBuf {
        let Temporary { directory, .. } = Temporary::new_in(all).unwrap();
        let path = directory.keep();
        fs::write(path.join("staged"), "bytes").unwrap();
        path
    }

    #[test]
    fn the_next_command_removes_what_a_killed_one_has_left_and_nothing_of_one_that_lives() {
        let all = tempfile::tempdir().unwrap();
        let alive = Temporary::new_in(all.path()).unwrap();
        let left = left(all.path());
        assert!(left.exists());
        let next = Temporary::new_in(all.path()).unwrap();
        assert!(!left.exists());
        assert!(alive.is_there() && next.is_there());
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists());
    }

    #[test]
    fn a_run_can_lock_the_directory() {
        let all = tempfile::tempdir().unwrap();
        let directory = Temporary::new_in(all.path()).unwrap();
        let run = File::open(directory.path()).unwrap();
        assert!(run.try_lock().is_ok());
    }

    #[test]
    fn links_files_and_directories_of_others_stay() {
        let all = tempfile::tempdir().unwrap();
        let path = |name: &str| all.path().join(name);
        fs::create_dir(path("target")).unwrap();
        fs::write(path("target/kept"), "").unwrap();
        symlink("target", path("millimeter-work-link")).unwrap();
        fs::write(path("millimeter-work-file"), "").unwrap();
        fs::create_dir(path("millimeter-stage")).unwrap();
        fs::create_dir(path("millimeter-work-others")).unwrap();
        // Only root can give a directory away.
        let is_others = chown(path("millimeter-work-others"), Some(1), None).is_ok();
        remove_left_in(all.path());
        for name in [
            "target/kept",
            "millimeter-work-link",
            "millimeter-work-file",
            "millimeter-stage",
        ] {
            assert!(path(name).exists(), "{name}");
        }
        assert_eq!(path("millimeter-work-others").exists(), is_others);
    }

    #[test]
    fn a_link_in_a_left_directory_is_not_followed() {
        let all = tempfile::tempdir().unwrap();
        let kept = all.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        let left = left(all.path());
        symlink(&kept, left.join("link")).unwrap();
        remove_left_in(all.path());
        assert!(!left.exists());
        assert!(kept.join("file").exists());
    }

    #[test]
    fn commands_that_start_together_do_not_remove_each_others_directories() {
        let all = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let made = Temporary::new_in(all.path()).unwrap();
                        fs::write(made.path().join("file"), "").unwrap();
                        assert!(made.is_there());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(all.path()).unwrap().count(), 0);
    }
}
