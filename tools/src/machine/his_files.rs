//! The files of HIS's collection runs: what the machine writes, under the names that HIS gives them.
//!
//! A long record arrives in pieces, and is appended when it is whole. When a file cannot be written, the collection
//! run ends and the machine is told. What was written before stays as it is, up to the last whole block or record.
//!
//! A collection run has its files where the operator's command said. The host knows every such command, because it gave
//! them all; a directory that the machine names by itself is refused, and no file is created. The directory is the one
//! that has the name when the run begins. A run whose files would have the names of another one's is refused.
//!
//! The map of a Linux guest is written late: only the guest knows where its programs lie, and it says so at its end.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fs, io,
    path::{Path, PathBuf},
};

use zerocopy::IntoBytes;
use {
    arch::tod::Tod,
    his::{
        calendar::Calendar,
        command::{self, Command},
        parameters::{self, ParameterFiles},
    },
    link::files::{FileHead, Kind, parse},
};

use crate::{
    folder::append::{AppendedFile, Directory, Identity},
    symbols::map_file::{self, Contents},
};

/// Longer records are refused. This is four times the longest that the machine writes.
const LONGEST: usize = 128 * 1024;

/// How much of a path that is refused is shown.
const LONGEST_SHOWN: usize = 100;

/// A machine has no more collection runs than this. Ended ones count, because their names stay taken.
const MOST_RUNS: usize = 4096;

/// The files of all collection runs of a machine.
#[derive(Debug)]
pub struct HisFiles {
    directory: PathBuf,
    /// The contents of maps; `None` until the guest has said where its programs lie.
    contents: Option<Contents>,
    /// The PATHs in the operator's commands.
    given: BTreeSet<String>,
    /// The parameter files, which may have a PATH, too.
    parameters: ParameterFiles,
    runs: BTreeMap<u64, Run>,
}

/// One collection run.
#[derive(Debug, Default)]
struct Run {
    /// `None` if it could not be opened.
    directory: Option<(Directory, Identity)>,
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
            given: BTreeSet::new(),
            parameters: ParameterFiles::new(),
            runs: BTreeMap::new(),
        }
    }

    /// Takes note of a command of the operator: a collection run that it begins may have its files where it says.
    pub fn commanded(&mut self, line: &str) {
        if parameters::is_definition(line) {
            // The machine refuses a wrong one by the same code, and tells the operator why.
            let _ = self.parameters.define(line);
            return;
        }
        let named = command::parse(line).ok();
        let file = named.as_ref().and_then(Command::dd_name);
        let read = match file.and_then(|name| self.parameters.get(name)) {
            Some(file) => command::parse_with_file(line, file).ok(),
            None => named,
        };
        if let Some(Command::Begin(begin)) = read {
            self.given.insert(begin.path.to_string());
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
        if kind == Kind::Begin {
            return self.begin(number, bytes);
        }
        let Some(run) = self.runs.get_mut(&number) else {
            return Taken::Bad;
        };
        if run.failed {
            return Taken::Written;
        }
        match run.take(head, kind, bytes, self.contents.as_ref()) {
            Ok(true) => Taken::Written,
            Ok(false) => Taken::Bad,
            Err((path, error)) => {
                run.failed = true;
                run.files.clear();
                not_written(number, cannot_write(&path, &error))
            }
        }
    }

    /// Begins a run with its files in the directory of this name.
    fn begin(&mut self, number: u64, path: &[u8]) -> Taken {
        if self.runs.contains_key(&number) {
            return Taken::Bad;
        }
        if self.runs.len() >= MOST_RUNS {
            return not_written(
                number,
                format!(
                    "there are no more collection runs after {MOST_RUNS} of them; nothing of this one is written"
                ),
            );
        }
        let (run, taken) = match self.place(number, path) {
            Ok(place) => {
                let run = Run {
                    directory: Some(place),
                    ..Run::default()
                };
                (run, Taken::Begun(prefix(number)))
            }
            Err(why) => {
                let run = Run {
                    failed: true,
                    ..Run::default()
                };
                (run, not_written(number, why))
            }
        };
        self.runs.insert(number, run);
        taken
    }

    /// The directory of a new run, or why it has none.
    fn place(&self, number: u64, path: &[u8]) -> Result<(Directory, Identity), String> {
        let given = std::str::from_utf8(path)
            .ok()
            .filter(|path| self.given.contains(*path));
        let Some(given) = given else {
            return Err(format!(
                "the machine asks for files in \"{}\", which no command of the operator names as its PATH; the collection run ends, and nothing is written",
                shortened(path)
            ));
        };
        let path = self.directory.join(given);
        let place = fs::create_dir_all(&path).and_then(|()| {
            let directory = Directory::open(&path)?;
            let identity = directory.identity()?;
            Ok((directory, identity))
        });
        let place = place.map_err(|error| cannot_write(&path, &error))?;
        // HIS's names tell the second of the beginning only.
        let has_the_names = |(&other, run): (&u64, &Run)| {
            let identity = run.directory.as_ref().map(|(_, identity)| *identity);
            identity == Some(place.1) && prefix(other) == prefix(number)
        };
        if self.runs.iter().any(has_the_names) {
            return Err(format!(
                "{} has the files of a collection run that began in the same second; this one ends, and nothing is written. Begin it later, or with another PATH",
                path.display()
            ));
        }
        Ok(place)
    }
}

/// A run ends because its files cannot be written.
fn not_written(run: u64, why: String) -> Taken {
    Taken::NotWritten {
        answer: refusal(run),
        why,
    }
}

/// Why a run ends whose file or directory cannot be written.
fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!(
        "cannot write {}: {error}; the collection run ends, and what was written before is kept. Free some space, or begin it with another PATH",
        path.display()
    )
}

/// The payload that tells the machine that the files of a run cannot be written.
fn refusal(run: u64) -> Vec<u8> {
    let head = FileHead {
        kind: Kind::NotWritten as u8,
        run: run.into(),
        ..FileHead::default()
    };
    head.as_bytes().to_vec()
}

/// The beginning of a path that the machine sent, safe to show.
fn shortened(path: &[u8]) -> String {
    let beginning = &path[..path.len().min(LONGEST_SHOWN)];
    beginning.escape_ascii().to_string()
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
            Kind::Begin | Kind::NotWritten => return Ok(false),
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
        let Some((directory, _)) = &self.directory else {
            return Err((name.into(), io::ErrorKind::NotFound.into()));
        };
        let path = directory.path().join(&name);
        let file = match self.files.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => match directory.create(vacant.key()) {
                Ok(file) => vacant.insert(file),
                Err(error) => return Err((path, error)),
            },
        };
        file.append(bytes).map_err(|error| (path, error))
    }
}

#[cfg(test)]
mod tests;
