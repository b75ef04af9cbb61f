//! From raw files to results: where the time went.
//!
//! A report is always made from a directory, even at the end of the run that wrote it. So the same report can be made
//! again at any time, and a run that was cut off has one too.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use cpumf::{Model, model, sampling::block::BasicEntry};
use record::zos::ProgramParameter;
use sha2::{Digest, Sha256};

pub use crate::counts::exact::ExactCounts;
use crate::{
    folder::{
        self, COUNTERS, optional,
        record::{RunRecord, WindowRecord},
        sdb_cpus, sdb_name,
    },
    formats::{
        counters::{self, CounterValues},
        samples::{self, CpuSamples},
    },
    numbers::{hexadecimal, sum},
    profile::{Profile, callers::Calls},
    symbols::{
        linux::MODULE,
        names::{Line, Names},
    },
};

mod collected;

pub use collected::Collected;
use collected::FoundSamples;

/// A line of the table of the hottest routines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hot {
    /// The routine, or one of the lines in parentheses.
    pub symbol: String,
    /// The program that it is part of; empty where there is none.
    pub module: String,
    /// Samples in it.
    pub samples: u64,
}

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Where the raw files are.
    pub directory: PathBuf,
    /// How the run was and how it ended.
    pub record: RunRecord,
    /// Samples by CPU.
    pub cpus: Vec<CpuSamples>,
    /// The collection run of HIS that took them; `None` if the run took them itself.
    pub collected: Option<Collected>,
    /// Counter sets by level, CPU or coprocessor group, and set.
    pub counters: Vec<CounterValues>,
    /// Routines by samples, the hottest first.
    pub hot: Vec<Hot>,
    /// Call stacks, if the run followed them.
    pub calls: Option<Calls>,
    /// Exact counts, if the run counted executions.
    pub exact: Option<ExactCounts>,
    /// Samples of z/OS by its program parameter, the most frequent first; empty for any other guest.
    pub units: Vec<(ProgramParameter, u64)>,
    /// SHA-256 of all blocks, CPU after CPU.
    pub sdb_sha256: String,
    /// What is missing or damaged, in sentences.
    pub doubts: Vec<String>,
}

impl Report {
    /// Reads the files of a run.
    pub fn read(directory: &Path) -> Result<Self> {
        let record = RunRecord::read(directory)?;
        let (names, mut doubts) = Names::of_run(directory, &record)?;
        let mut hash = Sha256::new();
        let mut cpus = Vec::new();
        for cpu in
            sdb_cpus(directory).with_context(|| format!("cannot read {}", directory.display()))?
        {
            let path = directory.join(sdb_name(cpu));
            let bytes =
                folder::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            hash.update(&bytes);
            cpus.push(samples::read(cpu, &bytes));
        }
        let mut collected = None;
        let mut are_elsewhere = false;
        match collected::read(directory, &record, |bytes| hash.update(bytes)) {
            FoundSamples::None => {}
            FoundSamples::Elsewhere => are_elsewhere = true,
            FoundSamples::Here(whose, samples) => {
                are_elsewhere = record.collections.len() > 1;
                collected = Some(whose);
                cpus = samples;
            }
            FoundSamples::Doubt(doubt) => {
                are_elsewhere = true;
                doubts.push(doubt);
            }
        }
        let (counters, cut) =
            counters::read(&optional(&directory.join(COUNTERS))?.unwrap_or_default());
        if cut {
            doubts.push(format!("{COUNTERS} ends in the middle of a counter set"));
        }
        let hot = hottest(&cpus, &names);
        let sdb_sha256 = hexadecimal(&hash.finalize());
        let mut report = Self {
            directory: directory.to_owned(),
            record,
            cpus,
            collected,
            counters,
            hot,
            calls: None,
            exact: None,
            units: Vec::new(),
            sdb_sha256,
            doubts,
        };
        report.find_doubts(are_elsewhere);
        report.find_exact_counts(&names);
        if report.record.interval > 0 {
            report.calls = Calls::of(&Profile::open(directory)?)?;
            report.doubt_stacks();
        }
        Ok(report)
    }

    /// Reads the exact counts. Without them the rest is still right, so damage is a doubt.
    fn find_exact_counts(&mut self, names: &Names) {
        match ExactCounts::read(&self.directory, &self.record, names) {
            Ok(None) if self.record.count_executions => self.doubts.push(
                "the run was to count all executions, and no exact counts arrived".to_owned(),
            ),
            Ok(counts) => {
                let had_samples = |window: &WindowRecord| window.first_interval != 0;
                let has_names = self.record.has_samples()
                    || self.record.window.as_ref().is_some_and(had_samples);
                if counts.is_some() && self.record.is_linux && !has_names {
                    self.doubts.push(
                        "Linux says where its kernel and programs are only in a run with samples: for the names of its \
                         exact counts, make it again with linux --profile --stacks or exec --profile"
                            .to_owned(),
                    );
                }
                self.exact = counts;
            }
            Err(error) => self.doubts.push(format!("{error:#}")),
        }
    }

    /// Counts the samples by the program parameter of z/OS. Only a person knows that the guest is z/OS.
    #[must_use]
    pub fn of_zos(mut self) -> Self {
        let mut units = BTreeMap::new();
        let entries = self.cpus.iter().flat_map(|cpu| &cpu.entries);
        for entry in entries.filter(|entry| !entry.limited()) {
            let parameter = ProgramParameter::of(entry.guest_program_parameter.get());
            *units.entry(parameter).or_insert(0) += 1;
        }
        self.units = units.into_iter().collect();
        self.units
            .sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        self
    }

    /// Samples that reached the host.
    pub fn taken(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.entries.len() as u64).sum()
    }

    /// Samples that found no room. A run that was cut off has no counts of the machine, but its blocks have trailers.
    /// Neither counts more than was lost.
    pub fn lost(&self) -> u64 {
        let by_trailers = sum(self.cpus.iter().map(|cpu| cpu.overflow));
        let totals = self.record.totals.iter();
        by_trailers.max(sum(totals.map(|totals| totals.samples_lost)))
    }

    /// Blocks that reached the host.
    pub fn blocks(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.blocks).sum()
    }

    /// The model that the guest found, which says what its counters are.
    pub fn model(&self) -> &'static Model {
        let started = self.record.started.as_ref();
        started
            .and_then(|started| u16::from_str_radix(&started.machine_type, 16).ok())
            .and_then(model::of_type)
            .unwrap_or(&model::DEFAULT)
    }

    /// Whether caches were modelled, so that their counters count something.
    pub fn models_caches(&self) -> bool {
        self.record.exact_caches.is_some()
    }

    /// Samples of Linux by program: the kernel, the boot stage, and each file that processes mapped as one line, modules
    /// and other processes as they are in [`Self::hot`]. Empty for any other guest.
    pub fn programs(&self) -> Vec<Hot> {
        let mut programs: Vec<Hot> = Vec::new();
        for hot in self.hot.iter().filter(|_| self.record.is_linux) {
            let is_one = hot.module.is_empty() || hot.module.starts_with("pid ");
            let is_whole = !is_one && hot.module != MODULE;
            let program = Hot {
                symbol: if is_whole { &hot.module } else { &hot.symbol }.clone(),
                module: if is_whole { "" } else { &hot.module }.to_owned(),
                samples: 0,
            };
            let is_it = |known: &&mut Hot| {
                (&known.symbol, &known.module) == (&program.symbol, &program.module)
            };
            match programs.iter_mut().find(is_it) {
                Some(known) => known.samples += hot.samples,
                None => programs.push(Hot {
                    samples: hot.samples,
                    ..program
                }),
            }
        }
        programs.sort_by_key(|line| std::cmp::Reverse(line.samples));
        programs
    }

    /// A share of all samples, in percent.
    pub fn percent(&self, samples: u64) -> f64 {
        let taken = self.taken();
        if taken == 0 {
            0.0
        } else {
            samples as f64 * 100.0 / taken as f64
        }
    }

    /// Says if stacks are missing or damaged.
    fn doubt_stacks(&mut self) {
        let Some(calls) = &self.calls else { return };
        for (number, text) in [
            (calls.found.missing, "samples have no call stack"),
            (
                calls.found.damaged,
                "files of call stacks are damaged or cut off",
            ),
        ] {
            if number > 0 {
                self.doubts.push(format!("{number} {text}"));
            }
        }
    }

    /// Adds the doubts. `are_elsewhere` says that samples may be in another directory.
    fn find_doubts(&mut self, are_elsewhere: bool) {
        let link = &self.record.link;
        let malformed: u64 = self.cpus.iter().map(|cpu| cpu.malformed).sum();
        let invalid: u64 = self.cpus.iter().map(|cpu| cpu.invalid).sum();
        let totals = self.record.totals.iter();
        let stored = sum(totals.map(|totals| totals.samples_taken));
        let arrived = self.taken() + invalid;
        let mut doubts = Vec::new();
        let mut doubt = |number: u64, text: &str| {
            if number > 0 {
                doubts.push(format!("{number} {text}"));
            }
        };
        doubt(
            link.bad_frames,
            "frames of the link did not check and were dropped",
        );
        doubt(
            link.bad_payloads,
            "frames of the link mean nothing to this tool",
        );
        doubt(link.blocks_missing, "sample-data blocks did not arrive");
        doubt(
            link.blocks_repeated,
            "sample-data blocks arrived again and were dropped: the machine was set back",
        );
        doubt(
            link.not_kept.console_bytes,
            "bytes of the guest's console were not kept; raise --console-limit",
        );
        doubt(
            link.not_kept.frames,
            "frames of samples, counters, events or files were not kept; raise --data-limit",
        );
        let tracing = &self.record.tracing;
        doubt(
            tracing.lost_in_machine,
            "traced events found no room in the machine and are lost",
        );
        doubt(tracing.lost_on_link, "traced events were lost on the link");
        doubt(malformed, "sample-data blocks are damaged or cut off");
        doubt(invalid, "samples are marked invalid");
        doubts.extend(self.record.loops());
        if self.record.mode_found() != self.record.mode {
            doubts.push(format!(
                "the run was to be in {} mode, and the machine found its clock to be {}",
                self.record.mode,
                self.record.mode_found()
            ));
        }
        if !self.record.totals.is_empty() && stored != arrived && !are_elsewhere {
            doubts.push(format!(
                "the machine stored {stored} samples, and {arrived} arrived"
            ));
        }
        self.doubts.extend(doubts);
    }
}

/// Counts samples by their names. Equal counts are in alphabetical order, so the result depends on
/// nothing but the samples.
fn hottest(cpus: &[CpuSamples], names: &Names) -> Vec<Hot> {
    let mut counts: BTreeMap<Line<'_>, u64> = BTreeMap::new();
    // Many samples are of the same place, whose name is looked up once.
    let mut entries: Vec<BasicEntry> = Vec::new();
    for cpu in cpus {
        entries.extend_from_slice(&cpu.entries);
    }
    BasicEntry::sort(&mut entries);
    for same in entries.chunk_by(BasicEntry::eq) {
        *counts.entry(names.line(&same[0])).or_default() += same.len() as u64;
    }
    let mut hot: Vec<Hot> = counts
        .into_iter()
        .map(|(line, samples)| Hot {
            symbol: line.symbol.into_owned(),
            module: line.module.into_owned(),
            samples,
        })
        .collect();
    // A stable sort: equal counts stay in alphabetical order.
    hot.sort_by_key(|line| std::cmp::Reverse(line.samples));
    hot
}

#[cfg(test)]
pub(crate) mod tests;
