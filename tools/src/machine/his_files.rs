//! The files of HIS's collection runs: what the machine writes, under the names that HIS gives them.
//!
//! A long record arrives in pieces, and is appended when it is whole. When a file cannot be written, the collection
//! run ends and the machine is told. What was written before stays as it is, up to the last whole block or record.
//!
//! The map of a Linux guest is written late: only the guest knows where its programs lie, and it says so at its end.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs, io,
    path::{Path, PathBuf},
};

use zerocopy::IntoBytes;
use {
    arch::tod::Tod,
    his::calendar::Calendar,
    link::files::{FileHead, Kind, parse},
};

use crate::{
    folder::append::AppendedFile,
    symbols::map_file::{self, Contents},
};

/// Longer records are refused. This is four times the longest that the machine writes.
const LONGEST: usize = 128 * 1024;

/// The files of all collection runs of a machine.
#[derive(Debug)]
pub struct HisFiles {
    directory: PathBuf,
    /// The contents of maps; `None` until the guest has said where its programs lie.
    contents: Option<Contents>,
    runs: BTreeMap<u64, Run>,
}

/// One collection run.
#[derive(Debug, Default)]
struct Run {
    directory: PathBuf,
    files: BTreeMap<String, AppendedFile>,
    /// The pieces of a record so far.
    begun: Vec<u8>,
    /// The number of the set of files whose map waits.
    awaits_map: Option<u16>,
    /// Whether it ended because a file could not be written.
    failed: bool,
}

/// The outcome of a payload.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// A run has begun: what the names of its files begin with.
    Begun(String),
    /// It was written, or kept until the rest of it is there.
    Written,
    /// It makes no sense on the files channel.
    Bad,
    /// A file cannot be written: the payload that tells the machine so, and why.
    NotWritten {
        /// For the machine.
        answer: Vec<u8>,
        /// For a person.
        why: String,
    },
}

impl HisFiles {
    /// The files of runs that name no directory, with the contents of their maps if those are known.
    pub fn new(directory: &Path, contents: Option<Contents>) -> Self {
        Self {
            directory: directory.to_owned(),
            contents,
            runs: BTreeMap::new(),
        }
    }

    /// Whether a map waits for its contents.
    pub fn awaits_contents(&self) -> bool {
        self.runs.values().any(|run| run.awaits_map.is_some())
    }

    /// Writes the maps that wait. Returns a sentence for each map that it does not write, because the contents are
    /// unknown (with this reason) or because the file cannot be written.
    pub fn settle_maps(&mut self, contents: Result<&Contents, &str>) -> Vec<String> {
        let mut sentences = Vec::new();
        for (&number, run) in &mut self.runs {
            let Some(set) = run.awaits_map.take() else {
                continue;
            };
            let name = file_name(number, set, "MAP");
            match contents {
                Ok(contents) => {
                    let text = map_file::text(contents, Tod(number));
                    if let Err((path, error)) = run.append(name, text.as_bytes()) {
                        sentences.push(format!(
                            "cannot write {}: {error}; the other files of the collection run are there",
                            path.display()
                        ));
                    }
                }
                Err(why) => sentences.push(format!("{name} is not written: {why}")),
            }
        }
        sentences
    }

    /// Takes a payload of the files channel.
    pub fn take(&mut self, payload: &[u8]) -> Taken {
        let Ok((head, kind, bytes)) = parse(payload) else {
            return Taken::Bad;
        };
        let number = head.run.get();
        let run = match (kind, self.runs.entry(number)) {
            (Kind::Begin, Entry::Vacant(vacant)) => vacant.insert(Run {
                directory: self.directory.join(&*String::from_utf8_lossy(bytes)),
                ..Run::default()
            }),
            (Kind::Begin | Kind::NotWritten, _) | (_, Entry::Vacant(_)) => return Taken::Bad,
            (_, Entry::Occupied(known)) => known.into_mut(),
        };
        if run.failed {
            return Taken::Written;
        }
        match run.take(head, kind, bytes, self.contents.as_ref()) {
            Ok(true) if kind == Kind::Begin => Taken::Begun(prefix(number)),
            Ok(true) => Taken::Written,
            Ok(false) => Taken::Bad,
            Err((path, error)) => {
                run.failed = true;
                run.files.clear();
                let answer = FileHead {
                    kind: Kind::NotWritten as u8,
                    run: number.into(),
                    ..FileHead::default()
                };
                Taken::NotWritten {
                    answer: answer.as_bytes().to_vec(),
                    why: format!(
                        "cannot write {}: {error}; the collection run ends, and what was written before is kept. Free some space, or begin it with another PATH",
                        path.display()
                    ),
                }
            }
        }
    }
}

/// The prefix of the file names of a run that began at this time.
fn prefix(run: u64) -> String {
    Calendar::of(Tod(run)).file_prefix().to_string()
}

/// The name of a file of a set of a run.
fn file_name(run: u64, set: u16, what: &str) -> String {
    format!("{}{set:03}.{what}", prefix(run))
}

impl Run {
    /// Returns false if the payload makes no sense, and an error if a file cannot be written.
    fn take(
        &mut self,
        head: &FileHead,
        kind: Kind,
        bytes: &[u8],
        contents: Option<&Contents>,
    ) -> Result<bool, (PathBuf, io::Error)> {
        let (run, set) = (head.run.get(), head.set.get());
        let name = |what: &str| file_name(run, set, what);
        let name = match kind {
            Kind::Begin => {
                return match fs::create_dir_all(&self.directory) {
                    Ok(()) => Ok(true),
                    Err(error) => Err((self.directory.clone(), error)),
                };
            }
            Kind::End | Kind::EndWithMap => {
                self.files.clear();
                match (kind, contents) {
                    (Kind::EndWithMap, Some(contents)) => {
                        let text = map_file::text(contents, Tod(run));
                        self.append(name("MAP"), text.as_bytes())?;
                    }
                    (Kind::EndWithMap, None) => self.awaits_map = Some(set),
                    _ => {}
                }
                return Ok(true);
            }
            Kind::Samples => name(&format!("SMP.{:02X}", head.cpu.get())),
            Kind::Counters => name("CNT"),
            Kind::Smf => name("SMF"),
            Kind::Monitor => name("MON"),
            Kind::NotWritten => return Ok(false),
        };
        if self.begun.len() + bytes.len() > LONGEST {
            self.begun.clear();
            return Ok(false);
        }
        self.begun.extend_from_slice(bytes);
        if head.more == 0 {
            let record = std::mem::take(&mut self.begun);
            self.append(name, &record)?;
        }
        Ok(true)
    }

    /// Appends to a file of the run; one that was there before is replaced.
    fn append(&mut self, name: String, bytes: &[u8]) -> Result<(), (PathBuf, io::Error)> {
        let path = self.directory.join(&name);
        let file = match self.files.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => match AppendedFile::create(&path) {
                Ok(file) => vacant.insert(file),
                Err(error) => return Err((path, error)),
            },
        };
        file.append(bytes).map_err(|error| (path, error))
    }
}

#[cfg(test)]
mod tests;
