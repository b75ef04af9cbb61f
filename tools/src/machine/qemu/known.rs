//! What a QEMU has said of itself before: to start it and ask takes longer than many a guest.
//!
//! It counts as long as the program's file has not changed, on a computer that has not been started again, for processes
//! that may make the same system calls.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::single_instruction::Version;
use crate::computer::cache_directory;

/// The file in the user's cache.
const FILE: &str = "qemu.json";

/// How many programs are remembered.
const MOST: usize = 8;

/// What a program has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Its version.
    pub version: Version,
    /// Whether it can run in its sandbox.
    pub sandbox: bool,
}

/// A program, and where it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    path: PathBuf,
    /// Length, and the dates of the last change of its bytes and of its entry.
    state: (u64, [i64; 2], [i64; 2]),
    /// The start of the computer.
    start: String,
    /// Which system calls a process may make.
    filter: String,
}

impl Asked {
    /// This program, asked here and now; `None` if it cannot be told from another one.
    fn now(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let data = path.metadata().ok()?;
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let is_of_filter =
            |line: &&str| line.starts_with("Seccomp") || line.starts_with("NoNewPrivs");
        let filter: Vec<&str> = status.lines().filter(is_of_filter).collect();
        Some(Self {
            state: (
                data.size(),
                [data.mtime(), data.mtime_nsec()],
                [data.ctime(), data.ctime_nsec()],
            ),
            path,
            start: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?,
            filter: filter.join(" "),
        })
    }
}

/// The programs that were asked last, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Known(Vec<(Asked, Said)>);

impl Known {
    /// Without a file that can be read nothing is known.
    fn read(file: &Path) -> Self {
        let text = fs::read(file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn of(&self, asked: &Asked) -> Option<Said> {
        let mut all = self.0.iter();
        all.find(|(other, _)| other == asked).map(|(_, said)| *said)
    }

    fn add(&mut self, asked: Asked, said: Said) {
        self.0.retain(|(other, _)| other.path != asked.path);
        self.0.insert(0, (asked, said));
        self.0.truncate(MOST);
    }

    /// Other processes find the old file or the new one.
    fn write(&self, file: &Path) -> anyhow::Result<()> {
        let directory = file.parent().unwrap_or(file);
        fs::create_dir_all(directory)?;
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut new, self)?;
        new.persist(file)?;
        Ok(())
    }
}

/// What this program has said, or what it says now.
pub fn said<E>(program: &Path, ask: impl FnOnce() -> Result<Said, E>) -> Result<Said, E> {
    let place = cache_directory::of_user()
        .ok()
        .map(|cache| cache.join(FILE));
    said_in(place.as_deref(), program, ask)
}

fn said_in<E>(
    file: Option<&Path>,
    program: &Path,
    ask: impl FnOnce() -> Result<Said, E>,
) -> Result<Said, E> {
    let (Some(file), Some(asked)) = (file, Asked::now(program)) else {
        return ask();
    };
    let mut known = Known::read(file);
    if let Some(said) = known.of(&asked) {
        return Ok(said);
    }
    let said = ask()?;
    known.add(asked, said);
    // If it cannot be kept, the program is asked the next time, too.
    let _ = known.write(file);
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: Said = Said {
        version: (7, 2, 22),
        sandbox: true,
    };

    #[test]
    fn a_program_is_asked_once_and_again_when_it_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("deep/qemu.json");
        let program = directory.path().join("qemu");
        fs::write(&program, "first").unwrap();
        let mut times = 0;
        let mut said = |said: Said| {
            said_in(Some(&file), &program, || {
                times += 1;
                Ok::<_, ()>(said)
            })
        };
        let other = Said {
            sandbox: false,
            ..SAID
        };
        assert_eq!(said(SAID), Ok(SAID));
        assert_eq!(said(other), Ok(SAID));
        fs::write(&program, "another").unwrap();
        assert_eq!(said(other), Ok(other));
        fs::write(&file, "spoilt").unwrap();
        assert_eq!(said(SAID), Ok(SAID));
        assert_eq!(times, 3);
    }

    #[test]
    fn a_program_that_cannot_be_asked_is_not_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("qemu.json");
        let program = directory.path().join("qemu");
        fs::write(&program, "").unwrap();
        assert_eq!(said_in(Some(&file), &program, || Err("no")), Err("no"));
        assert!(!file.exists());
        let ask = || Ok::<_, ()>(SAID);
        assert_eq!(said_in(None, &program, ask), Ok(SAID));
        let gone = directory.path().join("gone");
        assert_eq!(said_in(Some(&file), &gone, ask), Ok(SAID));
        assert!(!file.exists());
    }

    #[test]
    fn only_the_programs_that_were_asked_last_are_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("qemu.json");
        for number in 0..2 * MOST {
            let program = directory.path().join(number.to_string());
            fs::write(&program, "").unwrap();
            said_in(Some(&file), &program, || Ok::<_, ()>(SAID)).unwrap();
        }
        let known = Known::read(&file);
        assert_eq!(known.0.len(), MOST);
        assert!(known.0[0].0.path.ends_with((2 * MOST - 1).to_string()));
    }
}
