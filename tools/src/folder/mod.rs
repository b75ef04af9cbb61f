//! The folder of a run: the names of its files, and how it is chosen.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use link::loader::MOST_CPUS;

use crate::computer::input_file;

pub mod append;
pub mod record;

/// What the guest, which is a machine, has measured of its own guest: a folder in the form of a run.
pub const ABOVE: &str = "above";
/// Text before the link was open.
pub const BOOT: &str = "boot.txt";
/// What the guest wrote on its console.
pub const CONSOLE: &str = "console.txt";
/// The log as the machine sent it.
pub const LOG_RAW: &str = "log.bin";
/// The log as text.
pub const LOG: &str = "log.txt";
/// What the operator and the machine said to each other.
pub const OPERATOR: &str = "operator.txt";
/// Counter sets as the machine sent them.
pub const COUNTERS: &str = "counters.bin";
/// Where the guest's routines have their return addresses.
pub const PLACES: &str = "places.txt";
/// What the processes of Linux mapped.
pub const MAPPED: &str = "mapped.txt";
/// The directory with the files that they mapped, by their numbers.
pub const OBJECTS: &str = "objects";
/// The guest's routines.
pub const SYMBOLS: &str = "symbols.txt";
/// The payloads of traced events.
pub const EVENTS: &str = "trace.bin";
/// What the CPUs of a machine that no longer answered were doing.
pub const HANG: &str = "hang.txt";
/// Their registers and the storage of that machine, as a core file.
pub const HANG_CORE: &str = "hang.elf";
/// How the run was and how it ended.
pub const RECORD: &str = "run.json";

/// Name of the file with one CPU's sample-data blocks.
pub fn sdb_name(cpu: u16) -> String {
    format!("sdb-cpu{cpu}.bin")
}

/// Name of the file with the call stacks of one CPU's samples.
pub fn stacks_name(cpu: u16) -> String {
    format!("stacks-cpu{cpu}.bin")
}

/// Name of the file with the copies of stacks at one CPU's samples.
pub fn copies_name(cpu: u16) -> String {
    format!("copies-cpu{cpu}.bin")
}

/// Name of the file with the samples of one CPU's window, as they came.
pub fn window_name(cpu: u16) -> String {
    format!("window-cpu{cpu}.bin")
}

/// Name of the file with the exact counts of one CPU, as they came.
pub fn counts_name(cpu: u16) -> String {
    format!("counts-cpu{cpu}.bin")
}

/// The CPUs that have a file of blocks in this directory, in ascending order.
pub fn sdb_cpus(directory: &Path) -> io::Result<Vec<u16>> {
    cpus_with(directory, "sdb-cpu")
}

/// The CPUs that have a file of exact counts in this directory, in ascending order.
pub fn counts_cpus(directory: &Path) -> io::Result<Vec<u16>> {
    cpus_with(directory, "counts-cpu")
}

/// The CPUs that have a file with this beginning of its name.
fn cpus_with(directory: &Path, begin: &str) -> io::Result<Vec<u16>> {
    let mut cpus: Vec<u16> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number: Option<u16> = name
            .to_str()
            .and_then(|name| name.strip_prefix(begin)?.strip_suffix(".bin")?.parse().ok());
        cpus.extend(number);
    }
    cpus.sort_unstable();
    Ok(cpus)
}

/// The directory of a new run. No other run can have it until this is dropped.
#[derive(Debug)]
pub struct Claimed {
    /// The directory.
    pub path: PathBuf,
    _lock: File,
}

impl Claimed {
    fn new(path: PathBuf) -> Result<Self> {
        let lock = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "{} is the directory of a run that goes on ({}); wait for its end, or choose another directory with \
                 --out",
                path.display(),
                holder(&lock)
            ),
            // Some file systems of other computers have no locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        Ok(Self { path, _lock: lock })
    }
}

/// Names the process that has locked a file.
fn holder(file: &File) -> String {
    let process = || {
        let number = format!(":{}", file.metadata().ok()?.ino());
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let is_lock = words.next()? == "FLOCK";
            let process = words.nth(2)?;
            let is_here = words.next()?.ends_with(&number);
            (is_lock && is_here).then(|| format!("process {process}"))
        })
    };
    // The list changes while it is read in pieces, and a line may be in none of them.
    let found = (0..3).find_map(|_| process());
    found.unwrap_or_else(|| "of another process".to_owned())
}

/// The directory of a new run: the chosen one, or the first of `millimeter-GUEST-1`, `-2`, … that
/// is free. A chosen one may hold an earlier run, which is replaced, but nothing else.
pub fn directory(chosen: Option<&Path>, guest: &str) -> Result<Claimed> {
    let Some(chosen) = chosen else {
        for number in 1..=9999 {
            let path = PathBuf::from(format!("millimeter-{guest}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Claimed::new(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| {
                        format!(
                            "cannot create {}; choose a directory with --out",
                            path.display()
                        )
                    });
                }
            }
        }
        bail!("every name for a new directory is taken; choose one with --out");
    };
    fs::create_dir_all(chosen).with_context(|| {
        format!(
            "cannot create {}; choose another directory with --out",
            chosen.display()
        )
    })?;
    let claimed = Claimed::new(chosen.to_owned())?;
    let entries =
        fs::read_dir(chosen).with_context(|| format!("cannot read {}", chosen.display()))?;
    let is_empty = entries.count() == 0;
    if !is_empty && !chosen.join(RECORD).exists() {
        bail!(
            "{} holds files that are not a run's; choose an empty directory with --out",
            chosen.display()
        );
    }
    for cpu in sdb_cpus(chosen)? {
        let path = chosen.join(sdb_name(cpu));
        fs::remove_file(&path).with_context(|| format!("cannot replace {}", path.display()))?;
    }
    // Not every run has these.
    let stacks = (0..MOST_CPUS as u16).map(stacks_name);
    let copies = (0..MOST_CPUS as u16).map(copies_name);
    let counts = (0..MOST_CPUS as u16).map(counts_name);
    let others = [EVENTS, HANG, HANG_CORE, PLACES, MAPPED].map(str::to_owned);
    for path in [OBJECTS, ABOVE].map(|name| chosen.join(name)) {
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot replace {}", path.display()));
            }
            _ => {}
        }
    }
    let others = others.into_iter().chain(stacks);
    for name in others.chain(copies).chain(counts) {
        let path = chosen.join(&name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot replace {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(claimed)
}

/// Opens a file of a folder that anybody may have made. Only a regular file is opened.
pub fn open(path: &Path) -> io::Result<File> {
    input_file::open(path)
}

/// Reads such a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    input_file::read(path)
}

/// A file that need not be there.
pub(crate) fn optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_run_at_a_time_and_the_other_is_named() {
        let chosen = tempfile::tempdir().unwrap();
        let claim = || directory(Some(chosen.path()), "g");
        let first = claim().unwrap();
        let refused = claim().unwrap_err().to_string();
        let process = format!("(process {})", std::process::id());
        for word in [&process[..], chosen.path().to_str().unwrap(), "--out"] {
            assert!(refused.contains(word), "{word}: {refused}");
        }
        // What the first run has written is not removed meanwhile.
        fs::write(chosen.path().join(RECORD), "{}").unwrap();
        let blocks = chosen.path().join(sdb_name(0));
        fs::write(&blocks, "blocks").unwrap();
        claim().unwrap_err();
        assert!(blocks.exists());
        drop(first);
        claim().unwrap();
        assert!(!blocks.exists());
    }

    #[test]
    fn a_new_run_leaves_nothing_of_what_an_earlier_one_had_below_its_directory() {
        let chosen = tempfile::tempdir().unwrap();
        fs::write(chosen.path().join(RECORD), "{}").unwrap();
        for name in [OBJECTS, ABOVE] {
            fs::create_dir(chosen.path().join(name)).unwrap();
            fs::write(chosen.path().join(name).join("old"), "").unwrap();
        }
        directory(Some(chosen.path()), "g").unwrap();
        for name in [OBJECTS, ABOVE] {
            assert!(!chosen.path().join(name).exists(), "{name}");
        }
    }
}
