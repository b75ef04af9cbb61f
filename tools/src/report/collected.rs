//! Samples of a run that took none of its own: those that its collection run of HIS took.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::{
    folder::record::Record,
    formats::samples::CpuSamples,
    profile::{Profile, collection},
};

/// Which collection took the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// What the names of the collection's files begin with.
    pub prefix: String,
    /// Cycles from one sample to the next, as they were in effect one after the other.
    pub intervals: Vec<u64>,
}

/// Where such samples are.
pub(super) enum Found {
    /// The run has samples of its own.
    None,
    /// They are in a directory that a command named, or a profiler on the host has them, or there are none.
    Elsewhere,
    /// They are here: of each CPU, and all of their bytes, CPU after CPU.
    Here(Collected, Vec<CpuSamples>),
    /// They cannot be read, in a sentence.
    Doubt(String),
}

/// Reads them, and shows all bytes to `see`.
pub(super) fn read(directory: &Path, record: &Record, mut see: impl FnMut(&[u8])) -> Found {
    if record.interval != 0 {
        return Found::None;
    }
    // Of several the newest, as the live view has it.
    let Some(prefix) = record.collections.last() else {
        return Found::Elsewhere;
    };
    let opened = collection::find(&directory.join(prefix))
        .and_then(|found| found.map(|found| collection::open(&found)).transpose());
    let samples = opened.and_then(|profile| {
        let profile = profile.filter(|profile| !profile.files.is_empty());
        profile
            .map(|profile| Ok((by_cpu(&profile, &mut see)?, profile)))
            .transpose()
    });
    match samples {
        Ok(None) => Found::Elsewhere,
        Ok(Some((cpus, profile))) => {
            let intervals = profile.intervals();
            let prefix = profile.title;
            Found::Here(Collected { prefix, intervals }, cpus)
        }
        Err(error) => Found::Doubt(format!(
            "the samples of HIS are not counted here: {error:#}"
        )),
    }
}

fn by_cpu(profile: &Profile, see: &mut impl FnMut(&[u8])) -> Result<Vec<CpuSamples>> {
    let mut cpus: Vec<CpuSamples> = Vec::new();
    for file in &profile.files {
        let bytes =
            fs::read(&file.path).with_context(|| format!("cannot read {}", file.path.display()))?;
        see(&bytes);
        // Those of one CPU stand together.
        match cpus.last_mut().filter(|last| last.cpu == file.cpu) {
            Some(last) => last.add(&bytes, file.block),
            None => {
                let mut first = CpuSamples {
                    cpu: file.cpu,
                    ..CpuSamples::default()
                };
                first.add(&bytes, file.block);
                cpus.push(first);
            }
        }
    }
    Ok(cpus)
}
