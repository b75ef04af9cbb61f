//! The run that the view follows, and everything that the view shows of it.
//!
//! Each refresh reads what has come since the one before. It keeps only counts of the samples and the last reading of
//! each counter set, so its storage does not grow with the length of the run.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, bail};
use cpumf::{Model, model};

use super::{
    counters::CounterFile,
    folder::{Folder, Looked},
    tail::{Reading, Stamp, Tail},
    tally::SampleTally,
};
use crate::{
    folder::{COUNTERS, RECORD, record::End},
    formats::counters::CounterValues,
    numbers::sum,
    profile::blocks::BlockCounts,
    views::html::facts::{Warnings, add_run},
};

/// TOD units of a second.
const SECOND: f64 = 4_096_000_000.0;

/// A run that has written nothing for this long may have died.
const SILENCE: Duration = Duration::from_secs(10);

/// A run, or a collection.
pub struct Followed {
    /// What is known of its folder.
    pub folder: Folder,
    tails: Vec<Tail>,
    /// Its samples.
    pub tally: SampleTally,
    counters: CounterFile,
    /// The error of the last refresh, if it failed.
    trouble: Option<String>,
    /// For how long nothing has been written, if that is longer than [`SILENCE`].
    silence: Option<Duration>,
}

impl Followed {
    /// Opens the run or collection in this folder, without reading its samples.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            folder: Folder::open(path)?,
            tails: Vec::new(),
            tally: SampleTally::default(),
            counters: CounterFile::default(),
            trouble: None,
            silence: None,
        })
    }

    /// Reads what has come, but at most about `most` bytes of each CPU's samples.
    pub fn refresh(&mut self, most: u64) {
        // What cannot be read again stays as it was.
        self.trouble = match self.folder.look() {
            Ok(Looked::Same) => None,
            Ok(Looked::Anew) => {
                self.begin_anew();
                None
            }
            Err(error) => Some(format!("{error:#}")),
        };
        if let Err(error) = self.read(most) {
            // A reading that has failed cannot go on from there.
            self.begin_anew();
            self.trouble.get_or_insert(format!("{error:#}"));
        }
        self.tally.age();
        self.silence = self.silent_for().filter(|_| !self.folder.has_ended());
    }

    /// Reads what has come of samples and counters.
    fn read(&mut self, most: u64) -> Result<()> {
        let files = &self.folder.files;
        if self.tails.iter().any(|tail| !files.contains(&tail.file)) {
            self.begin_anew();
        }
        for file in &self.folder.files {
            if self.tails.iter().all(|tail| tail.file != *file) {
                let name = || format!("cannot open {}", file.path.display());
                self.tails
                    .extend(Tail::open(file.clone()).with_context(name)?);
            }
        }
        let mut is_same = true;
        for tail in &mut self.tails {
            let reading = tail
                .read(most, &self.folder.names, &mut self.tally)
                .with_context(|| format!("cannot read {}", tail.file.path.display()))?;
            is_same &= reading == Reading::Done;
        }
        // The counters of a collection are in its own files.
        if self.folder.record.is_some() {
            let counters = self.folder.path.join(COUNTERS);
            is_same &= self
                .counters
                .read(&counters)
                .with_context(|| format!("cannot read {}", counters.display()))?;
        }
        if !is_same {
            // Another run writes into the folder by now: the next refresh reads it.
            self.begin_anew();
        }
        Ok(())
    }

    fn begin_anew(&mut self) {
        self.tails.clear();
        self.tally = SampleTally::default();
        self.counters = CounterFile::default();
    }

    /// How long ago anything was written.
    fn silent_for(&self) -> Option<Duration> {
        let folder = &self.folder.path;
        let others = [RECORD, COUNTERS].map(|name| folder.join(name));
        let samples = self.tails.iter().map(|tail| tail.file.path.clone());
        let written = samples
            .chain(others)
            .filter_map(|path| Stamp::of(&path)?.written);
        let last = written.max()?;
        let silence = SystemTime::now().duration_since(last).ok()?;
        (silence > SILENCE).then_some(silence)
    }

    /// The share of the samples' bytes that has been read, if more of them are there.
    pub fn read_so_far(&self) -> Option<f64> {
        let behind: u64 = self.tails.iter().map(Tail::behind).sum();
        let read: u64 = self.tails.iter().map(Tail::bytes).sum();
        (behind > 0).then(|| read as f64 / (read + behind) as f64)
    }

    /// What was found in all blocks.
    pub fn found(&self) -> BlockCounts {
        let mut sum = BlockCounts::default();
        for tail in &self.tails {
            sum.add(&tail.found());
            // While the run goes on the rest of the block will come.
            sum.malformed += u64::from(self.folder.has_ended() && tail.is_cut());
        }
        sum
    }

    /// Samples of a CPU that found no room.
    pub fn lost(&self, cpu: u16) -> u64 {
        let record = self.folder.record.iter();
        let totals = record
            .flat_map(|record| &record.totals)
            .find(|totals| totals.cpu == cpu);
        let by_trailers = || {
            let of_cpu = self.tails.iter().filter(|tail| tail.file.cpu == cpu);
            of_cpu.fold(0, |sum: u64, tail| {
                sum.saturating_add(tail.found().overflow)
            })
        };
        // The trailers do not count losses behind the last block.
        totals.map_or_else(by_trailers, |totals| totals.samples_lost.max(by_trailers()))
    }

    /// Seconds of guest time from the start until the last that is known.
    pub fn guest_seconds(&self) -> Option<f64> {
        let progress = self
            .folder
            .record
            .as_ref()
            .and_then(|record| record.progress);
        let full = self.tails.iter().map(|tail| tail.full_at);
        let last = full.chain(progress.map(|progress| progress.tod)).max()?;
        let start = self.folder.start();
        let passed = last.checked_sub(start).filter(|_| start > 0)?;
        Some(passed as f64 / SECOND)
    }

    /// Instructions that the guest had completed when the machine last said so.
    pub fn instructions(&self) -> Option<u64> {
        let record = self.folder.record.as_ref()?;
        let totals = record.totals.iter().map(|totals| totals.guest_instructions);
        let all = sum(totals);
        let progress = record.progress.map(|progress| progress.instructions);
        Some(all).filter(|all| *all > 0).or(progress)
    }

    /// The last reading of each counter set.
    pub fn sets(&self) -> Vec<CounterValues> {
        match &self.folder.record {
            Some(_) => self.counters.sets(),
            None => self.folder.sets.clone(),
        }
    }

    /// The model of the machine, which says what its counters are.
    pub fn model(&self) -> &'static Model {
        u16::from_str_radix(&self.folder.machine_type, 16)
            .ok()
            .and_then(model::of_type)
            .unwrap_or(&model::DEFAULT)
    }

    /// Losses, then doubts: whether it is a loss, and a sentence.
    pub fn warnings(&self) -> Vec<(bool, String)> {
        let found = self.found();
        let mut warnings = Warnings::default();
        if let Some(record) = &self.folder.record {
            add_run(&mut warnings, record, &found);
            if self.read_so_far().is_none() {
                warnings.add_arrival(record, &found);
            }
            if self.folder.has_ended() && record.totals.is_empty() {
                warnings.add_incomplete();
            }
        } else {
            warnings.found_no_room(found.overflow);
        }
        warnings.add_blocks(&found);
        for doubt in &self.folder.doubts {
            warnings.doubt(doubt);
        }
        if self.counters.is_damaged() {
            warnings.doubt(&format!(
                "{COUNTERS} holds something that is not a counter set"
            ));
        } else if self.counters.is_cut() && self.folder.has_ended() {
            warnings.doubt(&format!("{COUNTERS} ends in the middle of a counter set"));
        }
        if let Some(silence) = self.silence {
            warnings.doubt(&format!(
                "nothing has been written for {} s: the guest waits, or nobody measures it any more",
                silence.as_secs()
            ));
        }
        if let Some(trouble) = &self.trouble {
            warnings.doubt(&format!("it could not be read just now: {trouble}"));
        }
        let list = warnings.list().into_iter();
        list.map(|warning| (warning.is_loss, warning.text))
            .collect()
    }
}

/// The newest folder here that a run wrote under a default name.
pub fn newest(directory: &Path) -> Result<PathBuf> {
    let name = || format!("cannot read {}", directory.display());
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for entry in fs::read_dir(directory).with_context(name)? {
        let entry = entry.with_context(name)?;
        let is_named = entry
            .file_name()
            .to_string_lossy()
            .starts_with("millimeter-");
        let stamp = Stamp::of(&entry.path().join(RECORD)).filter(|_| is_named);
        let Some(written) = stamp.and_then(|stamp| stamp.written) else {
            continue;
        };
        if newest.as_ref().is_none_or(|(before, _)| *before < written) {
            newest = Some((written, entry.path()));
        }
    }
    let Some((_, path)) = newest else {
        bail!(
            "no run has left a folder (millimeter-…) in this directory; name one, or measure something with `cargo measure run`"
        );
    };
    Ok(path)
}

/// How the run is or was, in one sentence.
pub fn state(end: &End) -> String {
    match end {
        End::Running => "running".to_owned(),
        end => end.sentence(),
    }
}

#[cfg(test)]
mod tests;
