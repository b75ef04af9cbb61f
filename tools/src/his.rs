//! The files of HIS's collection runs: what the machine writes, under the names that HIS gives them.
//!
//! A record arrives in pieces if it is long, and is appended when it is whole. When a file cannot be written
//! the run is given up, the machine is told, and what was written before stays as it is.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use millimeter::{
    arch::tod::Tod,
    his::calendar::Calendar,
    link::files::{FileHead, Kind, parse},
};
use zerocopy::IntoBytes;

use crate::symbols::SymbolTable;

mod map;

/// The longest record of a run that is believed: four times what is ever written.
const LONGEST: usize = 128 * 1024;

/// The files of all collection runs of a machine.
#[derive(Debug)]
pub struct HisFiles {
    directory: PathBuf,
    symbols: SymbolTable,
    runs: BTreeMap<u64, Run>,
}

/// One collection run.
#[derive(Debug, Default)]
struct Run {
    directory: PathBuf,
    files: BTreeMap<String, File>,
    /// The pieces of a record so far.
    begun: Vec<u8>,
    /// Whether it was given up.
    failed: bool,
}

/// What came of a payload.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// A run has begun: what the names of its files begin with.
    Begun(String),
    /// It was written, or kept until the rest of it is there.
    Written,
    /// It is none of the files channel's.
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
    /// The files of runs that do not say where, with the routines of the guest for their maps.
    pub fn new(directory: &Path, symbols: SymbolTable) -> Self {
        Self {
            directory: directory.to_owned(),
            symbols,
            runs: BTreeMap::new(),
        }
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
        match run.take(head, kind, bytes, &self.symbols) {
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

/// What the names of the files begin with of a run that began then.
fn prefix(run: u64) -> String {
    Calendar::of(Tod(run)).file_prefix().to_string()
}

impl Run {
    /// Whether the payload makes sense, or which file cannot be written.
    fn take(
        &mut self,
        head: &FileHead,
        kind: Kind,
        bytes: &[u8],
        symbols: &SymbolTable,
    ) -> Result<bool, (PathBuf, io::Error)> {
        let set = format!("{}{:03}.", prefix(head.run.get()), head.set.get());
        let name = match kind {
            Kind::Begin => {
                return match fs::create_dir_all(&self.directory) {
                    Ok(()) => Ok(true),
                    Err(error) => Err((self.directory.clone(), error)),
                };
            }
            Kind::End | Kind::EndWithMap => {
                self.files.clear();
                if kind == Kind::EndWithMap {
                    let text = map::text(symbols, Tod(head.run.get()));
                    self.append(format!("{set}MAP"), text.as_bytes())?;
                }
                return Ok(true);
            }
            Kind::Samples => format!("{set}SMP.{:02X}", head.cpu.get()),
            Kind::Counters => format!("{set}CNT"),
            Kind::Smf => format!("{set}SMF"),
            Kind::Monitor => format!("{set}MON"),
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
            Entry::Vacant(vacant) => match File::create(&path) {
                Ok(file) => vacant.insert(file),
                Err(error) => return Err((path, error)),
            },
        };
        file.write_all(bytes).map_err(|error| (path, error))
    }
}

#[cfg(test)]
mod tests;
