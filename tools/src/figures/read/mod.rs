//! Counters of all kinds of files, added up in groups.
//!
//! - SMF records of type 113, with and without block-descriptor words, spanned or not, of any number of systems, among
//!   records of other types.
//! - z/VM monitor records MRPRCMFC, domain 5 record 13.
//! - The counters of a collection, .CNT.
//! - The folder of a run, or of a collection.
//!
//! A file may be compressed with gzip. It is read as a stream, and nothing of it is kept but the groups and the last values of
//! each CPU.

mod cnt;
mod differences;
mod folder;
mod left_out;
mod monitor;
mod smf;

#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{BufRead, Cursor, Read},
    path::Path,
};

use anyhow::{Context, Result, bail};

use super::{
    counts::Counted,
    generation::Generation,
    group::{Group, Grouping, Groups, NeededOf, Subject},
};
use crate::formats::{
    gzip,
    recognise::{self, Kind, LONGEST_BLOCK},
};

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// What the groups are by.
    pub by: Grouping,
    /// The model of records that do not name a known one.
    pub model: Option<Generation>,
}

/// The groups of a file, and what is doubtful about them.
#[derive(Debug)]
pub struct Collected {
    /// The groups, in the order of their keys.
    pub groups: Vec<Group>,
    /// Records that were added.
    pub records: u64,
    /// What is missing or damaged, in sentences.
    pub doubts: Vec<String>,
}

/// What the readers add to.
#[derive(Debug)]
struct Sink {
    manner: Manner,
    needed: NeededOf,
    groups: Groups,
    records: u64,
    doubts: Vec<String>,
}

impl Sink {
    fn new(manner: Manner) -> Self {
        Self {
            manner,
            needed: NeededOf::default(),
            groups: Groups::new(manner.by),
            records: 0,
            doubts: Vec::new(),
        }
    }

    /// The model that a record names, or else the one that the person named.
    fn model(&self, generation: Option<Generation>) -> Option<Generation> {
        generation.or(self.manner.model)
    }

    fn add(&mut self, subject: &Subject<'_>, counted: &Counted) -> Result<()> {
        let needed = self.needed.model(subject.generation);
        self.groups.add(subject, counted, &needed)?;
        self.records += 1;
        Ok(())
    }

    fn doubt(&mut self, number: u64, text: &str) {
        if number > 0 {
            self.doubts.push(format!("{number} {text}"));
        }
    }

    fn finish(self) -> Collected {
        Collected {
            groups: self.groups.finish(),
            records: self.records,
            doubts: self.doubts,
        }
    }
}

/// Reads a file, or the folder of a run or of a collection.
pub fn read(path: &Path, manner: Manner) -> Result<Collected> {
    let mut sink = Sink::new(manner);
    if path.is_file() {
        add_file(path, &mut sink)?;
    } else {
        folder::add(path, &mut sink)?;
    }
    if sink.records == 0 {
        let doubts = match sink.doubts.is_empty() {
            true => String::new(),
            false => format!(" ({})", sink.doubts.join("; ")),
        };
        bail!(
            "{} has no counters to report on{doubts}; dump SMF records of type 113, or monitor records of domain 5 with counters",
            path.display()
        );
    }
    Ok(sink.finish())
}

fn add_file(path: &Path, sink: &mut Sink) -> Result<()> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {}", name()))?;
    add(file, sink).with_context(name)
}

/// Model and name of a machine by its type, or by the counter second version number if there is none.
fn machine(machine_type: &str, csvn: u16) -> (Option<Generation>, String) {
    match machine_type.trim() {
        "" => (Generation::of_version(csvn), format!("CSVN {csvn}")),
        known => (Generation::of_type(known), known.to_owned()),
    }
}

/// Adds the content of a file of any kind.
fn add(file: impl Read, sink: &mut Sink) -> Result<()> {
    let mut content = gzip::content(file).context("cannot read it")?;
    let mut front = Vec::new();
    let limit = LONGEST_BLOCK as u64;
    Read::take(&mut content, limit)
        .read_to_end(&mut front)
        .context("cannot read it")?;
    if front.is_empty() {
        bail!("the file is empty");
    }
    let kind = recognise::of_front(&front, &[])?;
    let mut file: Box<dyn BufRead> = Box::new(Cursor::new(front).chain(content));
    match kind {
        Some(Kind::Smf { blocks }) => smf::add(&mut file, blocks, sink),
        Some(Kind::Monitor) => monitor::add(&mut file, sink),
        Some(Kind::Counters(encoding)) => cnt::add(&mut file, encoding, sink),
        _ => bail!(
            "it holds no counters: SMF records, z/VM monitor records or .CNT, each also as gzip; unpack it first if AMATERSE packed it"
        ),
    }
}

/// Reads the content of a file of any kind.
pub fn read_content(file: impl Read, manner: Manner) -> Result<Collected> {
    let mut sink = Sink::new(manner);
    add(file, &mut sink)?;
    Ok(sink.finish())
}
