//! The folder of a run, or of a collection.
//!
//! SMF records in the folder of a collection say more than its other files, so they come first. A run has the counters of
//! each CPU at its end; those that count nothing on it make no figure.

use std::path::Path;

use anyhow::Result;
use link::data::Level;

use super::{Sink, add_file};
use crate::{
    figures::{counts::Counted, generation::Generation, group::Subject},
    formats::counters::counts,
    profile::Profile,
};

/// Adds the counters of a folder.
pub(super) fn add(path: &Path, sink: &mut Sink) -> Result<()> {
    let profile = Profile::open(path)?;
    if !profile.records.is_empty() {
        return profile
            .records
            .iter()
            .try_for_each(|file| add_file(file, sink));
    }
    let generation = sink.model(Generation::of_type(&profile.machine_type));
    let (model, caches) = (profile.model(), models_caches(&profile));
    // The counters of a real machine all count.
    let is_run = profile.record.is_some();
    let sets = profile
        .counters
        .iter()
        .filter(|set| set.level == Level::Machine && set.authorized && !set.is_of_group());
    let mut cpus: Vec<u16> = sets.clone().map(|set| set.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let needed = sink.needed.model(generation);
        let of_cpu = sets.clone().filter(|set| set.cpu == cpu);
        let value = |number: u16| {
            of_cpu.clone().find_map(|set| {
                let place = number.checked_sub(set.first)?;
                set.values.get(usize::from(place)).copied()
            })
        };
        let counted = Counted {
            values: needed
                .numbers()
                .iter()
                .map(|number| value(*number))
                .collect(),
            speed: profile.pace.speed,
            time: 0,
        };
        let subject = Subject {
            system: "",
            machine: &profile.machine_type,
            generation,
            class: None,
            cpu,
            interval: None,
        };
        sink.add(&subject, &counted)?;
    }
    if is_run {
        sink.groups.keep(|number| counts(model, number, caches));
    }
    Ok(())
}

/// Whether the run modelled caches, so that their counters count something.
fn models_caches(profile: &Profile) -> bool {
    let record = profile.record.as_ref();
    record.is_some_and(|record| record.exact_caches.is_some())
}
