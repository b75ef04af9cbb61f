//! A profile: the samples of a run or of a collection, read as a stream, each with its name.
//!
//! Two kinds of folders hold one. A run of this tool leaves `run.json` and a file of blocks for each CPU. A
//! collection of the hardware instrumentation services leaves `SYSHISyyyymmdd.hhmmss.xxx.SMP.cpu` with the
//! map of storage and the counters beside them. Everything that uses samples takes a [`Profile`], so both kinds are
//! reported, exported and compared in the same way, and a sample has the same name everywhere.
//!
//! A collection may be longer than storage. So samples are read block by block ([`samples`]), and only one block of a
//! file is kept.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use {
    cpumf::{Model, model},
    link::data::SAMPLE_DATA_BLOCK,
};

use crate::{
    calls::stacks::Stacks,
    folder::{COUNTERS, RECORD, optional, record::RunRecord, sdb_cpus, sdb_name},
    formats::counters::{self, CounterValues},
    symbols::{linux::LinuxNames, names::Names},
};

pub mod blocks;
pub mod callers;
pub mod collection;
mod counts;
mod intervals;
pub mod objects;
pub mod samples;

use callers::Callers;
use collection::Collection;
pub use samples::{ByTime, Sample, Samples};

/// A file of sample-data blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFile {
    /// The CPU whose samples it has.
    pub cpu: u16,
    /// Where it is.
    pub path: PathBuf,
    /// Bytes of a block.
    pub block: usize,
    /// Its set of a collection's files.
    pub set: u16,
    /// The time between its samples.
    pub pace: Pace,
}

/// The time between samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Cycles from one sample to the next; 0 if unknown.
    pub interval: u64,
    /// Cycles per microsecond; 0 if unknown.
    pub speed: u32,
    /// The earliest possible time of the first sample: TOD clock, bits 0-63; 0 if unknown.
    pub start: u64,
}

impl Pace {
    /// From one sample to the next in TOD units, 4096 a microsecond; 0 if unknown.
    pub fn units(&self) -> u64 {
        let units = u128::from(self.interval) * 4096;
        let units = units.checked_div(self.speed.into()).unwrap_or(0);
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// From one sample to the next in nanoseconds; 0 if unknown.
    pub fn nanoseconds(&self) -> u64 {
        let nanoseconds = u128::from(self.interval) * 1000;
        let nanoseconds = nanoseconds.checked_div(self.speed.into()).unwrap_or(0);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

/// The samples of a folder, and what is known about them.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The folder.
    pub directory: PathBuf,
    /// What was measured: the name of the guest, or the beginning of the names of the collection's files.
    pub title: String,
    /// Whether the guest is Linux.
    pub is_linux: bool,
    /// The record of the run; `None` for a collection.
    pub record: Option<RunRecord>,
    /// Machine type, four hexadecimal digits; empty if unknown.
    pub machine_type: String,
    /// The time between samples, for a collection that of its first set of files.
    pub pace: Pace,
    /// Where the names of samples come from.
    pub names: Names,
    /// Counter sets by level, CPU or coprocessor group, and set.
    pub counters: Vec<CounterValues>,
    /// What is missing or damaged, in sentences. Damaged blocks show only when they are read: [`Samples::found`].
    pub doubts: Vec<String>,
    /// What was derived because the files of a collection do not say it, in sentences. [`Self::open`] adds it to the
    /// doubts.
    pub derived: Vec<String>,
    /// The files of blocks, by CPU; those of one CPU in the order in which they were written.
    pub files: Vec<BlockFile>,
    /// The files of SMF records, in the order in which they were written.
    pub records: Vec<PathBuf>,
}

impl Profile {
    /// Opens the folder of a run or of a collection. A folder may hold several collections: one of them is
    /// named as `FOLDER/SYSHISyyyymmdd.hhmmss`. Samples are not read yet.
    pub fn open(path: &Path) -> Result<Self> {
        if path.join(RECORD).exists() {
            let run = Self::of_run(path)?;
            return match collection::find(path)? {
                Some(found) if run.pace.interval == 0 => run.with_collection(&found),
                _ => Ok(run),
            };
        }
        if let Some(found) = collection::find(path)? {
            let mut profile = collection::open(&found)?.with_its_programs();
            profile.doubts.append(&mut profile.derived);
            return Ok(profile);
        }
        // The error of a run names what is missing; a collection is the other remedy.
        Self::of_run(path).with_context(|| {
            format!(
                "{} holds neither a run nor a collection (files SYSHISyyyymmdd.hhmmss.xxx.SMP.cpu)",
                path.display()
            )
        })
    }

    fn of_run(directory: &Path) -> Result<Self> {
        let record = RunRecord::read(directory)?;
        let (names, mut doubts) = Names::of_run(directory, &record)?;
        let bytes = optional(&directory.join(COUNTERS))?.unwrap_or_default();
        let (counters, cut) = counters::read(&bytes);
        if cut {
            doubts.push(format!("{COUNTERS} ends in the middle of a counter set"));
        }
        let cpus =
            sdb_cpus(directory).with_context(|| format!("cannot read {}", directory.display()))?;
        let started = record.started.as_ref();
        let pace = Pace {
            interval: record.interval,
            speed: started.map_or(0, |started| started.cpu_speed),
            start: started.map_or(0, |started| started.tod),
        };
        let files = cpus.into_iter().map(|cpu| BlockFile {
            cpu,
            path: directory.join(sdb_name(cpu)),
            block: SAMPLE_DATA_BLOCK,
            set: 0,
            pace,
        });
        Ok(Self {
            directory: directory.to_owned(),
            title: record.guest.clone(),
            is_linux: record.is_linux,
            machine_type: started.map_or(String::new(), |started| started.machine_type.clone()),
            pace,
            names,
            counters,
            doubts,
            derived: Vec::new(),
            files: files.collect(),
            records: Vec::new(),
            record: Some(record),
        })
    }

    /// The samples that HIS took in a run that took none itself. Names and counters stay the run's, which are more
    /// complete than the collection's.
    fn with_collection(mut self, found: &Collection) -> Result<Self> {
        let collection = collection::open(found)?;
        self.doubts.extend(collection.derived);
        Ok(Self {
            pace: collection.pace,
            files: collection.files,
            ..self
        })
    }

    /// Names the samples of a collection below Linux as a run does.
    fn with_its_programs(self) -> Self {
        let programs = match &self.names {
            Names::Map(map) => LinuxNames::of_map(map),
            Names::Routines(_) | Names::Linux(_) => None,
        };
        match programs {
            Some(programs) => Self {
                is_linux: true,
                names: Names::Linux(programs),
                ..self
            },
            None => self,
        }
    }

    /// The CPUs that have files of blocks, in ascending order.
    pub fn cpus(&self) -> Vec<u16> {
        let mut cpus: Vec<u16> = self.files.iter().map(|file| file.cpu).collect();
        cpus.dedup();
        cpus
    }

    /// Cycles from one sample to the next, in the order in which they were in effect; empty if unknown.
    pub fn intervals(&self) -> Vec<u64> {
        let mut sets: Vec<(u16, u64)> = self
            .files
            .iter()
            .map(|file| (file.set, file.pace.interval))
            .collect();
        sets.sort_unstable();
        let mut intervals: Vec<u64> = sets.into_iter().map(|(_, interval)| interval).collect();
        intervals.dedup();
        intervals.retain(|interval| *interval > 0);
        if intervals.is_empty() && self.pace.interval > 0 {
            intervals.push(self.pace.interval);
        }
        intervals
    }

    /// The model of the machine, which says what its counters are.
    pub fn model(&self) -> &'static Model {
        model(&self.machine_type)
    }

    /// All samples, CPU after CPU, without those that are marked invalid.
    pub fn samples(&self) -> Samples<'_> {
        Samples::new(&self.files)
    }

    /// The samples of one CPU.
    pub fn samples_of(&self, cpu: u16) -> Samples<'_> {
        let first = self.files.partition_point(|file| file.cpu < cpu);
        let behind = self.files.partition_point(|file| file.cpu <= cpu);
        Samples::new(&self.files[first..behind])
    }

    /// The call stacks of the samples, if the run followed them. Each reading of the samples needs its own.
    pub fn callers(&self) -> Result<Callers> {
        let are_the_runs = self.record.as_ref().is_some_and(|run| run.interval > 0);
        let stacks = if are_the_runs {
            let programs = match &self.names {
                Names::Linux(names) => names.programs.clone(),
                _ => Arc::default(),
            };
            Stacks::of_run(&self.directory, &self.cpus(), programs)?
        } else {
            None
        };
        let is_linux = matches!(self.names, Names::Linux(_));
        Ok(Callers::new(stacks, is_linux))
    }

    /// All samples by their time. At the same time the lower CPU comes first.
    pub fn by_time(&self) -> ByTime<'_> {
        let cpus = self.cpus();
        ByTime::new(cpus.into_iter().map(|cpu| self.samples_of(cpu)).collect())
    }
}

/// The model with this machine type, four hexadecimal digits; the default model if the type is not known.
pub fn model(machine_type: &str) -> &'static Model {
    u16::from_str_radix(machine_type, 16)
        .ok()
        .and_then(model::of_type)
        .unwrap_or(&model::DEFAULT)
}

#[cfg(test)]
pub(crate) mod tests;
