//! The folder of a run: the names of its files, and how it is chosen.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

pub mod append;
pub mod record;

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
/// The guest's routines.
pub const SYMBOLS: &str = "symbols.txt";
/// The payloads of traced events.
pub const EVENTS: &str = "trace.bin";
/// How the run was and how it ended.
pub const RECORD: &str = "run.json";

/// Name of the file with one CPU's sample-data blocks.
pub fn sdb_name(cpu: u16) -> String {
    format!("sdb-cpu{cpu}.bin")
}

/// The CPUs that have a file of blocks in this directory, in ascending order.
pub fn sdb_cpus(directory: &Path) -> io::Result<Vec<u16>> {
    let mut cpus: Vec<u16> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number: Option<u16> = name.to_str().and_then(|name| {
            name.strip_prefix("sdb-cpu")?
                .strip_suffix(".bin")?
                .parse()
                .ok()
        });
        cpus.extend(number);
    }
    cpus.sort_unstable();
    Ok(cpus)
}

/// The directory of a new run: the chosen one, or the first of `millimeter-GUEST-1`, `-2`, … that
/// is free. A chosen one may hold an earlier run, which is replaced, but nothing else.
pub fn directory(chosen: Option<&Path>, guest: &str) -> Result<PathBuf> {
    let Some(chosen) = chosen else {
        for number in 1..=9999 {
            let path = PathBuf::from(format!("millimeter-{guest}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(path),
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
    match fs::remove_file(chosen.join(EVENTS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot replace {}", chosen.join(EVENTS).display()))
        }
        _ => Ok(chosen.to_owned()),
    }
}

/// A file that need not be there.
pub(crate) fn optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
