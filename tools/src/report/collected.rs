//! The samples that a collection run of HIS took in a run that took none itself.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{
    folder::{self, record::RunRecord},
    formats::samples::CpuSamples,
    profile::{Profile, collection},
};

/// The collection that took the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The beginning of the names of the collection's files.
    pub prefix: String,
    /// Cycles from one sample to the next, in the order in which they were in effect.
    pub intervals: Vec<u64>,
}

/// Where the samples are.
pub(super) enum FoundSamples {
    /// The run has samples of its own.
    None,
    /// Elsewhere: in a directory that a command named, with a profiler on the host, or nowhere.
    Elsewhere,
    /// They are here, CPU by CPU.
    Here(Collected, Vec<CpuSamples>),
    /// They cannot be read; the sentence says why.
    Doubt(String),
}

/// Reads them, and shows all bytes to `see`.
pub(super) fn read(
    directory: &Path,
    record: &RunRecord,
    mut see: impl FnMut(&[u8]),
) -> FoundSamples {
    if record.interval != 0 {
        return FoundSamples::None;
    }
    // The newest of several collections, as in the live view.
    let Some(prefix) = record.collections.last() else {
        return FoundSamples::Elsewhere;
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
        Ok(None) => FoundSamples::Elsewhere,
        Ok(Some((cpus, profile))) => {
            let intervals = profile.intervals();
            let prefix = profile.title;
            FoundSamples::Here(Collected { prefix, intervals }, cpus)
        }
        Err(error) => FoundSamples::Doubt(format!(
            "the samples of HIS are not counted here: {error:#}"
        )),
    }
}

fn by_cpu(profile: &Profile, see: &mut impl FnMut(&[u8])) -> Result<Vec<CpuSamples>> {
    let mut cpus: Vec<CpuSamples> = Vec::new();
    for file in &profile.files {
        let bytes = folder::read(&file.path)
            .with_context(|| format!("cannot read {}", file.path.display()))?;
        see(&bytes);
        // The files of one CPU stand together.
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
