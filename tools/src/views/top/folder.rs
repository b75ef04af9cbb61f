//! Which files of a folder are a run's or a collection's, and what is known about them.
//!
//! Each refresh looks at the folder again, but does not read again what has not changed. A change shows in the
//! [`Stamp`] of a file, and in the lines of a Linux's console that name its programs.

use std::{
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::tail::Stamp;
use crate::{
    folder::{
        self, CONSOLE, RECORD, SYMBOLS,
        record::{End, RunRecord},
        sdb_cpus, sdb_name,
    },
    formats::counters::CounterValues,
    profile::{
        BlockFile, Pace,
        collection::{self, Collection},
    },
    symbols::{SymbolTable, names::Names},
};
use link::data::SAMPLE_DATA_BLOCK;

/// The first byte of a console line by which Linux says something to the host.
const SAYS: u8 = 0x1E;

/// What is known of a folder.
pub struct Folder {
    /// Where it is, or the name of one of its collections.
    pub path: PathBuf,
    /// The record of the run; `None` for a collection.
    pub record: Option<RunRecord>,
    record_stamp: Option<Stamp>,
    /// What is measured.
    pub title: String,
    /// The time between samples.
    pub pace: Pace,
    /// Machine type, four hexadecimal digits; empty if unknown.
    pub machine_type: String,
    /// Where the names of samples come from.
    pub names: Names,
    names_key: Option<NamesKey>,
    markers: MarkerLines,
    /// The files of blocks.
    pub files: Vec<BlockFile>,
    collection_key: Vec<(PathBuf, Option<Stamp>)>,
    /// Counters of a collection.
    pub sets: Vec<CounterValues>,
    /// What is missing or damaged, in sentences.
    pub doubts: Vec<String>,
    collection_doubts: Vec<String>,
}

/// Names are the same as long as this is the same.
type NamesKey = (Option<Stamp>, bool, bool, u64);

/// The outcome of looking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The samples that were read remain valid.
    Same,
    /// They have other names now.
    Anew,
}

impl Folder {
    /// The folder of a run or of a collection; it may also be named as `FOLDER/SYSHISyyyymmdd.hhmmss`.
    pub fn open(path: &Path) -> Result<Self> {
        let mut folder = Self {
            path: path.to_owned(),
            record: None,
            record_stamp: None,
            title: String::new(),
            pace: Pace::default(),
            machine_type: String::new(),
            names: Names::Routines(SymbolTable::default()),
            names_key: None,
            markers: MarkerLines::default(),
            files: Vec::new(),
            collection_key: Vec::new(),
            sets: Vec::new(),
            doubts: Vec::new(),
            collection_doubts: Vec::new(),
        };
        folder.look()?;
        Ok(folder)
    }

    /// Looks again.
    pub fn look(&mut self) -> Result<Looked> {
        if self.path.join(RECORD).exists() {
            return self.look_at_run();
        }
        match collection::find(&self.path)? {
            Some(found) => {
                let looked = self.look_at_collection(&found, true)?;
                self.doubts.clone_from(&self.collection_doubts);
                Ok(looked)
            }
            // The error of a run names what is missing; a collection is the other remedy.
            None => RunRecord::read(&self.path).map(|_| Looked::Same).with_context(|| {
                format!(
                    "{} holds neither a run nor a collection (files SYSHISyyyymmdd.hhmmss.xxx.SMP.cpu)",
                    self.path.display()
                )
            }),
        }
    }

    /// Whether nothing more will come.
    pub fn has_ended(&self) -> bool {
        let record = self.record.as_ref();
        record.is_none_or(|record| record.end != End::Running)
    }

    /// Cycles per microsecond; 0 if unknown.
    pub fn speed(&self) -> u32 {
        let record = self.record.as_ref();
        let started = record.and_then(|record| record.started.as_ref());
        started.map_or(self.pace.speed, |started| started.cpu_speed)
    }

    /// When the run began: TOD clock, bits 0-63; 0 if unknown.
    pub fn start(&self) -> u64 {
        let record = self.record.as_ref();
        let started = record.and_then(|record| record.started.as_ref());
        started.map_or(self.pace.start, |started| started.tod)
    }

    fn look_at_run(&mut self) -> Result<Looked> {
        let stamp = Stamp::of(&self.path.join(RECORD));
        let record = match &self.record {
            Some(record) if stamp == self.record_stamp => record.clone(),
            _ => RunRecord::read(&self.path)?,
        };
        self.record_stamp = stamp;
        self.title.clone_from(&record.guest);
        let is_another = self.record.as_ref().is_some_and(|before| {
            let (first, now) = (&before.started, &record.started);
            let begins_again = before.end != End::Running && record.end == End::Running;
            begins_again || (first.is_some() && first != now)
        });
        let mut looked = if is_another {
            Looked::Anew
        } else {
            Looked::Same
        };
        if record.is_linux {
            self.markers.read(&self.path.join(CONSOLE))?;
        }
        let symbols = Stamp::of(&self.path.join(SYMBOLS));
        let key = (
            symbols,
            record.is_linux,
            record.has_addresses(),
            self.markers.lines,
        );
        let of_run = if self.names_key == Some(key) {
            None
        } else {
            Some(Names::of_run(&self.path, &record)?)
        };
        let has_own_samples = record.interval != 0;
        if has_own_samples {
            let cpus = sdb_cpus(&self.path)
                .with_context(|| format!("cannot read {}", self.path.display()))?;
            let files = cpus.into_iter().map(|cpu| BlockFile {
                cpu,
                path: self.path.join(sdb_name(cpu)),
                block: SAMPLE_DATA_BLOCK,
                set: 0,
                // The view does not need it.
                pace: Pace::default(),
            });
            self.files = files.collect();
        }
        if let Some(started) = &record.started {
            self.machine_type.clone_from(&started.machine_type);
        }
        // The newest of them, if HIS took the samples.
        let newest = record.collections.last().filter(|_| !has_own_samples);
        let newest = newest.map(|prefix| self.path.join(prefix));
        self.record = Some(record);
        if let Some(path) = newest
            && let Some(found) = collection::find(&path)?
        {
            self.look_at_collection(&found, false)?;
        }
        if let Some((names, doubts)) = of_run {
            (self.names, self.doubts, self.names_key) = (names, doubts, Some(key));
            looked = Looked::Anew;
        }
        Ok(looked)
    }

    /// Names and counters stay those of the run, if there is one. They are more complete than the collection's.
    fn look_at_collection(&mut self, found: &Collection, has_names: bool) -> Result<Looked> {
        let key: Vec<(PathBuf, Option<Stamp>)> = found
            .paths()
            .map(|(path, has_samples)| {
                let stamp = Stamp::of(path).filter(|stamp| stamp.length > 0);
                // The view follows the samples itself; here it counts only whether there are any.
                let stamp = stamp.map(|stamp| if has_samples { stamp.identity() } else { stamp });
                (path.to_owned(), stamp)
            })
            .collect();
        if key == self.collection_key {
            return Ok(Looked::Same);
        }
        let profile = collection::open(found)?;
        (self.pace, self.files) = (profile.pace, profile.files);
        if has_names {
            self.title = profile.title;
            self.machine_type = profile.machine_type;
            self.names = profile.names;
            self.sets = profile.counters;
            self.collection_doubts = profile.doubts;
        }
        self.collection_key = key;
        Ok(match has_names {
            true => Looked::Anew,
            false => Looked::Same,
        })
    }
}

/// The lines of a Linux's console that say something to the host. They are counted, not kept.
#[derive(Clone, Copy, Debug, Default)]
struct MarkerLines {
    read: u64,
    /// Whether the line that has begun is one of them.
    says: bool,
    lines: u64,
}

impl MarkerLines {
    fn read(&mut self, path: &Path) -> Result<()> {
        let Some(stamp) = Stamp::of(path) else {
            return Ok(());
        };
        if stamp.length < self.read {
            *self = Self::default();
        }
        if stamp.length == self.read {
            return Ok(());
        }
        let name = || format!("cannot read {}", path.display());
        let mut file = folder::open(path).with_context(name)?;
        file.seek(SeekFrom::Start(self.read)).with_context(name)?;
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = file.read(&mut bytes) {
            self.read += length as u64;
            for byte in &bytes[..length] {
                match *byte {
                    SAYS => self.says = true,
                    b'\n' => self.lines += u64::from(std::mem::take(&mut self.says)),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
