//! Counters with their figures and charts: of the run's own readings, and of the collection runs of HIS.
//!
//! A collection has its counters in two places: .CNT files with what each set of files counted, and SMF records of
//! type 113. The records of subtype 1 say what each CPU counted in an interval. The charts are made of these. Without
//! a .CNT file, their sums are the counters.

use std::{
    collections::BTreeMap,
    io::{BufReader, Seek},
    path::Path,
};

use anyhow::{Context, Result, bail};
use {
    link::data::Level,
    record::{
        CounterValues as RecordedSet, SetType,
        smf::{self, Data, Deltas},
    },
};

use super::{
    figures::{self, Measured},
    page::{Absent, CounterTable, Figures},
    readings::Readings,
};
use crate::{
    folder::{self, COUNTERS, optional},
    formats::{
        counters::{self, CounterValues},
        recognise::{self, Kind},
        smf::Joined,
    },
    profile::{self, Profile, collection},
};

/// Most collection runs of one run that are shown.
const MOST_COLLECTIONS: usize = 8;

/// The counters of the page.
pub(super) struct Counted {
    pub figures: Vec<Figures>,
    pub tables: Absent<Vec<CounterTable>>,
    /// What is missing or damaged, in sentences.
    pub doubts: Vec<String>,
}

/// The counters of a run with those of its collections, or of a collection.
pub(super) fn counted(profile: &Profile) -> Result<Counted> {
    let record = profile.record.as_ref();
    let mode = record.map(|record| record.mode_found());
    let mut all = Tables {
        is_exact: mode.is_some_and(|mode| mode == "exact"),
        models_caches: record.is_some_and(|record| record.exact_caches.is_some()),
        ..Tables::default()
    };
    if let Some(record) = record {
        let mut readings = Readings::default();
        let bytes = optional(&profile.directory.join(COUNTERS))?.unwrap_or_default();
        counters::each(&bytes, |set| readings.add(&set));
        all.add(&Measured {
            sets: &profile.counters,
            readings: &readings,
            model: profile.model(),
            speed: profile.pace.speed,
            is_exact: all.is_exact,
            models_caches: all.models_caches,
        });
        for prefix in record.collections.iter().take(MOST_COLLECTIONS) {
            let name = prefix.trim_end_matches('.');
            let path = profile.directory.join(name);
            // Collections that went to another directory by their PATH are not shown.
            let opened = collection::find(&path)
                .and_then(|found| found.map(|found| collection::open(&found)).transpose());
            match opened {
                Ok(Some(collection)) => all.collection(&collection, &format!("{name}: ")),
                Ok(None) => {}
                Err(error) => all.doubts.push(format!(
                    "The counters of a collection run are not shown: {error:#}."
                )),
            }
        }
    } else {
        all.collection(profile, "");
    }
    let tables = match all.tables.is_empty() {
        false => Absent::Present(all.tables),
        true => Absent::Because(
            match mode {
                Some("real-time") => {
                    "No counters: in real-time mode instructions cannot be counted, so no set is authorized."
                }
                _ => "No counters arrived.",
            }
            .to_owned(),
        ),
    };
    Ok(Counted {
        figures: all.figures,
        tables,
        doubts: all.doubts,
    })
}

#[derive(Default)]
struct Tables {
    /// Whether the clock of the run counted instructions.
    is_exact: bool,
    /// Whether the run modelled caches.
    models_caches: bool,
    figures: Vec<Figures>,
    tables: Vec<CounterTable>,
    doubts: Vec<String>,
}

impl Tables {
    fn add(&mut self, measured: &Measured<'_>) {
        self.figures.extend(figures::figures(measured));
        self.tables.extend(figures::tables(measured));
    }

    /// Adds the counters of a collection, with this prefix to their titles.
    fn collection(&mut self, profile: &Profile, title: &str) {
        let mut intervals = Intervals::default();
        for path in &profile.records {
            if let Err(error) = intervals.read(path) {
                self.doubts.push(format!("{error:#}."));
            }
        }
        let sums: Vec<CounterValues> = intervals.sums.values().cloned().collect();
        let machine_type = match &profile.machine_type[..] {
            "" => &intervals.machine_type,
            machine_type => machine_type,
        };
        let (figures, tables) = (self.figures.len(), self.tables.len());
        self.add(&Measured {
            sets: match profile.counters.is_empty() {
                true => &sums,
                false => &profile.counters,
            },
            readings: &intervals.readings,
            model: profile::model(machine_type),
            speed: match profile.pace.speed {
                0 => intervals.speed,
                speed => speed,
            },
            is_exact: self.is_exact,
            models_caches: self.models_caches,
        });
        for figures in &mut self.figures[figures..] {
            figures.title.insert_str(0, title);
        }
        for table in &mut self.tables[tables..] {
            table.title.insert_str(0, title);
            if table.intervals > 0 {
                table.notes.push(
                    "The intervals of the charts are those of the SMF records of type 113, subtype 1.".to_owned(),
                );
            }
            if intervals.lost > 0 {
                table.notes.push(format!(
                    "{} of the SMF records say that counter data were lost.",
                    intervals.lost
                ));
            }
        }
    }
}

/// The intervals of SMF records.
#[derive(Default)]
struct Intervals {
    readings: Readings,
    /// By CPU and set.
    sums: BTreeMap<(u16, u16), CounterValues>,
    machine_type: String,
    speed: u32,
    /// Records that report a loss.
    lost: u64,
}

impl Intervals {
    /// Reads a file. Keeps what precedes an error.
    fn read(&mut self, path: &Path) -> Result<()> {
        let name = || path.display().to_string();
        let mut file = folder::open(path).with_context(name)?;
        let length = file.metadata().with_context(name)?.len();
        let kind = recognise::recognise(&mut file, length).with_context(name)?;
        let Some(Kind::Smf { blocks }) = kind else {
            bail!("{} holds no SMF records", path.display());
        };
        file.rewind().with_context(name)?;
        let mut file = BufReader::new(file);
        let mut reader = Joined::new(&mut file, blocks);
        let mut bytes = Vec::new();
        while reader.next(&mut bytes).with_context(name)? {
            if bytes.get(5) != Some(&smf::TYPE) {
                continue;
            }
            let smf_record = smf::decode(&bytes)
                .map_err(anyhow::Error::new)
                .with_context(name)?;
            if let Data::Deltas(deltas) = smf_record.data {
                self.lost += u64::from(deltas.data.lost || deltas.data.lost_mt);
                self.speed = deltas.data.speed;
                let machine = deltas.data.machine_type.to_string();
                machine.trim().clone_into(&mut self.machine_type);
                for set in deltas.sets() {
                    self.set(&deltas.data, &set);
                }
            }
        }
        if let Some(doubt) = reader.astray.doubt() {
            bail!("{}: {doubt}", name());
        }
        Ok(())
    }

    fn set(&mut self, deltas: &Deltas, recorded: &RecordedSet<'_>) {
        let Some(set) = code(recorded.set) else {
            return;
        };
        let counted = CounterValues {
            cpu: deltas.cpu,
            level: Level::Machine,
            set,
            first: recorded.set.first_counter().unwrap_or(0),
            authorized: true,
            values: recorded.counters.iter().collect(),
        };
        self.readings.counted(&counted);
        match self.sums.get_mut(&(counted.cpu, set)) {
            None => {
                self.sums.insert((counted.cpu, set), counted);
            }
            Some(sum) => {
                if sum.values.len() < counted.values.len() {
                    sum.values.resize(counted.values.len(), 0);
                }
                for (sum, value) in sum.values.iter_mut().zip(counted.values) {
                    *sum = sum.wrapping_add(value);
                }
            }
        }
    }
}

/// The code of STORE CPU COUNTER MULTIPLE for a set; `None` for a set that the machine does not have.
fn code(set: SetType) -> Option<u16> {
    Some(match set {
        SetType::BASIC => 1,
        SetType::PROBLEM_STATE => 2,
        SetType::CRYPTO_ACTIVITY => 3,
        SetType::EXTENDED => 0,
        SetType::MT_DIAGNOSTIC => 5,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
