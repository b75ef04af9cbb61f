//! The files that the processes of Linux mapped, kept beside what a run has measured: a report must not need the guest.
//!
//! The guest says at its end what was mapped. The host has given it these files in the archives of its first file system,
//! so it takes them from there. Of a file that the guest has made itself nothing is kept.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::{
    folder::{CONSOLE, MAPPED, OBJECTS, optional},
    machine::newc,
    symbols::{
        mapped::Programs,
        markers::{self, Marker},
    },
};

/// The most files that are kept, and the most bytes of all of them.
const MOST_FILES: usize = 1024;
const MOST_BYTES: usize = 1 << 30;

/// Keeps what the processes of a run mapped, and the files. `archives` are those of the guest, a later one on top of an
/// earlier one.
///
/// # Errors
/// A file that cannot be written.
pub fn keep(directory: &Path, archives: &[Vec<u8>]) -> Result<()> {
    let console = optional(&directory.join(CONSOLE))?.unwrap_or_default();
    let mut lines = String::new();
    for marker in markers::of_console(&String::from_utf8_lossy(&console)) {
        if let Marker::Mapped(line) = marker {
            lines.push_str(&line);
            lines.push('\n');
        }
    }
    write(&directory.join(MAPPED), lines.as_bytes())?;
    let objects = directory.join(OBJECTS);
    fs::create_dir_all(&objects).with_context(|| format!("cannot create {}", objects.display()))?;
    let mut room = MOST_BYTES;
    let programs = Programs::new(&lines, directory);
    for file in programs.files().iter().take(MOST_FILES) {
        let Some(bytes) = newc::file_of(archives, &file.path) else {
            continue;
        };
        if bytes.len() <= room {
            room -= bytes.len();
            write(&file.kept, bytes)?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| {
        format!(
            "cannot write {}; free some space or choose another directory with --out",
            path.display()
        )
    })
}
