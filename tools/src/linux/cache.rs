//! A cache, of downloads or of started systems: below the user's cache directory, never in the repository.
//!
//! An entry is a directory. It is made under another name and gets its own when it is complete, so an entry under its
//! name is always usable. An entry never changes; remove it to get it anew.

use std::{
    fs::{self, File, FileTimes},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};

use crate::{
    building::repository,
    computer::{cache_directory, progress::Progress},
};

/// What the name of an entry begins with that is being made or removed.
const INCOMPLETE: &str = "incomplete-";

/// Nobody takes as long as this to make an entry.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// The directory of all entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
    made: Made,
}

/// How entries are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// By this computer's apt.
    Downloaded,
    /// By starting a system.
    Started,
}

/// The name of the file that whoever makes this entry has locked.
fn lock_of(name: &str) -> String {
    format!("{name}.lock")
}

impl Cache {
    /// The user's cache, by the rules of the XDG base directories.
    pub fn of_user() -> Result<Self> {
        Self::new(Made::Downloaded)
    }

    /// The user's started systems.
    pub fn of_started_systems() -> Result<Self> {
        Self::new(Made::Started)
    }

    fn new(made: Made) -> Result<Self> {
        let name = match made {
            Made::Downloaded => "linux",
            Made::Started => "started",
        };
        Ok(Self {
            directory: cache_directory::of_user()?.join(name),
            made,
        })
    }

    /// The directory of the entries.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes an entry.
    pub fn remove(&self, name: &str) -> Result<()> {
        let entry = self.directory.join(name);
        // It vanishes at once, however long its files take.
        let away = tempfile::Builder::new()
            .prefix(INCOMPLETE)
            .tempdir_in(&self.directory)?;
        fs::rename(&entry, away.path().join("entry"))
            .with_context(|| format!("cannot remove {}", entry.display()))?;
        // Who waits for it has it open.
        let _ = fs::remove_file(self.directory.join(lock_of(name)));
        Ok(())
    }

    /// Removes all entries but the `most` that were last used ([`Self::use_now`]), and what processes left that were ended while
    /// they made one.
    pub fn keep_last(&self, most: usize) -> Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().into_string().unwrap_or_default();
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let date = entry.metadata()?.modified()?;
            if !name.starts_with(INCOMPLETE) {
                entries.push((date, name));
            } else if date.elapsed().is_ok_and(|age| age > ABANDONED) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        entries.sort_unstable();
        let old = entries.len().saturating_sub(most);
        entries[..old]
            .iter()
            .try_for_each(|(_, name)| self.remove(name))
    }

    /// Notes that an entry is used.
    pub fn use_now(&self, name: &str) -> Result<()> {
        let now = FileTimes::new().set_modified(SystemTime::now());
        let entry = File::open(self.directory.join(name))?;
        entry
            .set_times(now)
            .context("cannot note the use of a kept system")
    }

    /// The entry of this name. If there is none, `make` makes it in an empty directory.
    pub fn entry(
        &self,
        name: &str,
        progress: &Progress,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let entry = self.directory.join(name);
        if entry.is_dir() {
            return Ok(entry);
        }
        let _alone = self.lock(name, progress)?;
        // While this process waited, another may have done the work.
        if entry.is_dir() {
            return Ok(entry);
        }
        let new = tempfile::Builder::new()
            .prefix(INCOMPLETE)
            .tempdir_in(&self.directory)
            .with_context(|| {
                format!("cannot create a directory in {}", self.directory.display())
            })?;
        let inside = new.path().join("entry");
        fs::create_dir(&inside).with_context(|| format!("cannot create {}", inside.display()))?;
        make(&inside)?;
        fs::rename(&inside, &entry)
            .with_context(|| format!("cannot create {}", entry.display()))?;
        Ok(entry)
    }

    /// Nobody else makes this entry.
    fn lock(&self, name: &str, progress: &Progress) -> Result<File> {
        let (lock, other) = match self.made {
            // A package manager has one lock for all that it does.
            Made::Downloaded => ("lock".to_owned(), "another download"),
            Made::Started => (lock_of(name), "another start of the same system"),
        };
        repository::lock_in(&self.directory, &lock, other, progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn an_entry_is_made_once_and_one_that_failed_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache {
            directory: directory.path().join("deep/linux"),
            made: Made::Started,
        };
        let failed = cache.entry("a", &Progress::Silent, |new| {
            fs::write(new.join("half"), "")?;
            bail!("no more")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert!(!cache.directory.join("a").exists());
        let entry = cache.entry("a", &Progress::Silent, |new| {
            Ok(fs::write(new.join("file"), "whole")?)
        });
        assert_eq!(fs::read(entry.unwrap().join("file")).unwrap(), b"whole");
        let again = cache.entry("a", &Progress::Silent, |_| bail!("made twice"));
        assert_eq!(again.unwrap(), cache.directory.join("a"));
        assert_eq!(fs::read_dir(&cache.directory).unwrap().count(), 2);
    }

    #[test]
    fn the_entries_that_were_last_used_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache {
            directory: directory.path().to_owned(),
            made: Made::Started,
        };
        for (name, age) in [("a", 3), ("b", 1), ("c", 2)] {
            let entry = cache.entry(name, &Progress::Silent, |_| Ok(())).unwrap();
            let date = SystemTime::now() - std::time::Duration::from_secs(age * 100);
            File::open(entry).unwrap().set_modified(date).unwrap();
        }
        cache.use_now("a").unwrap();
        cache.keep_last(2).unwrap();
        let is_there = |name| directory.path().join(name).exists();
        assert!(is_there("a") && is_there("b") && !is_there("c"));
        assert!(is_there("a.lock") && !is_there("c.lock"));
        // What is being made stays, and what nobody makes any longer goes.
        for (name, age) in [
            ("incomplete-x", 2 * ABANDONED),
            ("incomplete-y", ABANDONED / 2),
        ] {
            fs::create_dir_all(directory.path().join(name).join("entry")).unwrap();
            let made = File::open(directory.path().join(name)).unwrap();
            made.set_modified(SystemTime::now() - age).unwrap();
        }
        cache.keep_last(2).unwrap();
        assert!(!is_there("incomplete-x") && is_there("incomplete-y"));
    }
}
