//! SMF records of type 113.
//!
//! Subtype 1 says what was counted in an interval, subtype 2 the values so far. A system may write both for the same
//! intervals; then only subtype 1 counts. A writer may divide the sets of an interval among records, which have the same
//! CPU and time and follow each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    rc::Rc,
};

use anyhow::Result;
use record::{
    CounterValues, Ebcdic, Malformed,
    smf::{self, Data, Envelope},
};

use super::{
    Sink,
    differences::{Difference, Differences},
    left_out::LeftOut,
    machine,
};
use crate::{
    figures::{
        counts::{Counted, Needed},
        generation::Generation,
        group::{Class, Group, Groups, Interval, MOST_GROUPS, Subject},
    },
    formats::smf::Joined,
};

/// The fields of a record of either subtype.
struct Fields {
    run_start: u64,
    written: u64,
    cpu: u16,
    class: Class,
    speed: u32,
    machine_type: Ebcdic<4>,
    csvn: u16,
    lost: bool,
    lost_mt: bool,
    is_delta: bool,
}

/// An interval whose records may go on.
struct Pending {
    fields: Fields,
    system: String,
    machine: String,
    generation: Option<Generation>,
    /// Begin and end of the interval, if the record says so.
    interval: Option<(u64, u64)>,
    needed: Rc<Needed>,
    values: Vec<Option<u64>>,
}

impl Pending {
    /// Whether a record is about the same CPU and time.
    fn goes_on_in(&self, fields: &Fields, system: &str) -> bool {
        let id = |fields: &Fields| {
            (
                fields.is_delta,
                fields.cpu,
                fields.written,
                fields.run_start,
            )
        };
        id(&self.fields) == id(fields) && self.system == system
    }

    fn add(&mut self, set: &CounterValues<'_>) {
        add_set(&self.needed, &mut self.values, set);
    }
}

/// Puts those counters of a set that figures need to their places.
pub(super) fn add_set(needed: &Needed, values: &mut [Option<u64>], set: &CounterValues<'_>) {
    // A set with too many counters does not reach into the next. The counters of z/OS have numbers of their own.
    let Some((first, places)) = needed.of_set(set.set) else {
        return;
    };
    let numbers = &needed.numbers()[places.clone()];
    set.counters.gather(first, numbers, &mut values[places]);
}

/// What was wrong.
#[derive(Default)]
struct Faults {
    left_out: LeftOut,
    lost: u64,
    lost_mt: u64,
}

/// Adds all records of a file.
pub(super) fn add(file: &mut dyn Read, blocks: bool, sink: &mut Sink) -> Result<()> {
    let mut reader = Joined::new(file, blocks);
    let mut bytes = Vec::new();
    let mut records = Records::new(sink);
    loop {
        match reader.next(&mut bytes) {
            Ok(true) => {}
            Ok(false) => break,
            // What was read before stays valid.
            Err(error) if records.sink.records > 0 || records.pending.is_some() => {
                records.sink.doubts.push(format!(
                    "the file is damaged or cut off, and was read as far as that: {error}"
                ));
                break;
            }
            Err(error) => return Err(error),
        }
        if bytes.get(5) == Some(&smf::TYPE) {
            match smf::decode(&bytes) {
                Ok(record) => records.take(&record)?,
                Err(malformed) => records.wrong(reader.start, malformed),
            }
        }
    }
    records.sink.doubts.extend(reader.astray.doubt());
    records.finish()
}

/// The records of a file so far.
struct Records<'s> {
    sink: &'s mut Sink,
    pending: Option<Pending>,
    differences: Differences,
    /// When the last record of subtype 1 was written, by system, CPU and beginning of the run.
    written: BTreeMap<(String, u16, u64), u64>,
    /// Groups of subtype 2, which count only for systems without subtype 1.
    absolutes: Groups,
    /// Systems with subtype 1.
    with_deltas: BTreeSet<String>,
    faults: Faults,
}

impl<'s> Records<'s> {
    fn new(sink: &'s mut Sink) -> Self {
        // The system is needed to choose between subtypes.
        let by = super::Grouping {
            system: true,
            ..sink.manner.by
        };
        Self {
            absolutes: Groups::new(by),
            sink,
            pending: None,
            differences: Differences::default(),
            written: BTreeMap::new(),
            with_deltas: BTreeSet::new(),
            faults: Faults::default(),
        }
    }

    fn wrong(&mut self, base: u64, malformed: Malformed) {
        self.faults.left_out.add(base, malformed);
    }

    fn take(&mut self, record: &smf::Record<'_>) -> Result<()> {
        let fields = fields(&record.data);
        let system = record.envelope.system.to_string();
        let goes_on = self
            .pending
            .as_ref()
            .is_some_and(|pending| pending.goes_on_in(&fields, &system));
        if !goes_on {
            self.flush()?;
            self.pending = Some(self.begin(fields, system, &record.envelope));
        }
        if let Some(pending) = &mut self.pending {
            match &record.data {
                Data::Deltas(deltas) => deltas.sets().for_each(|set| pending.add(&set)),
                Data::Absolutes(absolutes) => absolutes.sets().for_each(|set| pending.add(&set)),
            }
        }
        Ok(())
    }

    fn begin(&mut self, fields: Fields, system: String, envelope: &Envelope) -> Pending {
        let (known, machine) = machine(&fields.machine_type.to_string(), fields.csvn);
        let generation = self.sink.model(known);
        let needed = self.sink.needed.model(generation);
        let values = vec![None; needed.numbers().len()];
        let interval = envelope.identification.as_ref().map(|identification| {
            let (start, end) = (identification.interval_start, identification.interval_end);
            (start.get(), end.get())
        });
        Pending {
            interval: interval.filter(|(start, end)| *start > 0 && start < end),
            fields,
            system,
            machine,
            generation,
            needed,
            values,
        }
    }

    /// Adds the interval whose records have all come.
    fn flush(&mut self) -> Result<()> {
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        let Pending {
            fields,
            system,
            machine,
            generation,
            interval,
            needed,
            values,
        } = pending;
        self.faults.lost += u64::from(fields.lost);
        self.faults.lost_mt += u64::from(fields.lost_mt);
        let before = self.written(&system, &fields);
        // A record without its interval is about the time since the record before, or since the run began.
        let interval = interval.or_else(|| {
            let start = before.unwrap_or(fields.run_start);
            (start > 0 && start < fields.written).then_some((start, fields.written))
        });
        let of = |interval: Option<(u64, u64)>| Subject {
            system: &system,
            machine: &machine,
            generation,
            class: Some(fields.class),
            cpu: fields.cpu,
            interval: interval.map(|(start, end)| Interval::between(start, end)),
        };
        let counted = |values, interval: Option<(u64, u64)>| Counted {
            values,
            speed: fields.speed,
            time: interval.map_or(0, |(start, end)| end - start),
        };
        if fields.is_delta {
            if !self.with_deltas.contains(&system) {
                self.with_deltas.insert(system.clone());
            }
            return self.sink.add(&of(interval), &counted(values, interval));
        }
        let (whose, at) = ((&system[..], fields.cpu), fields.written);
        let taken = self.differences.take(whose, fields.run_start, at, values)?;
        let Some(Difference { since, counts }) = taken else {
            return Ok(());
        };
        // The interval is the time between the values, whatever the record says.
        let interval = Some((since, at));
        self.absolutes
            .add(&of(interval), &counted(counts, interval), &needed)
    }

    /// When the record before was written, of the same CPU, run and subtype.
    fn written(&mut self, system: &str, fields: &Fields) -> Option<u64> {
        let key = (system.to_owned(), fields.cpu, fields.run_start);
        if !fields.is_delta || self.written.len() >= MOST_GROUPS {
            return None;
        }
        self.written.insert(key, fields.written)
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        let Self {
            sink,
            absolutes,
            with_deltas,
            faults,
            differences,
            ..
        } = self;
        let (mut used, mut left) = (Vec::new(), 0);
        for group in absolutes.finish() {
            match &group.key.system {
                Some(system) if with_deltas.contains(system) => {
                    left += u64::from(group.counts.records)
                }
                _ => used.push(group),
            }
        }
        for group in used {
            sink.records += u64::from(group.counts.records);
            sink.groups
                .merge(without_system(group, sink.manner.by.system))?;
        }
        sink.doubt(
            left,
            "intervals of subtype 2 are also there as subtype 1, and count only once",
        );
        sink.doubt(faults.lost, "records say that counter data were lost");
        sink.doubt(
            faults.lost_mt,
            "records say that counter data of the MT-diagnostic set were lost",
        );
        differences.tell(sink);
        faults.left_out.tell("records of type 113", sink);
        Ok(())
    }
}

/// The group without its system, unless the person wants groups by system.
fn without_system(mut group: Group, by_system: bool) -> Group {
    if !by_system {
        group.key.system = None;
    }
    group
}

fn fields(data: &Data<'_>) -> Fields {
    match data {
        Data::Deltas(deltas) => {
            let data = &deltas.data;
            Fields {
                run_start: data.run_start,
                written: data.written,
                cpu: data.cpu,
                class: Class::new(data.class, data.zcbp),
                speed: data.speed,
                machine_type: data.machine_type,
                csvn: data.versions[2],
                lost: data.lost,
                lost_mt: data.lost_mt,
                is_delta: true,
            }
        }
        Data::Absolutes(absolutes) => {
            let data = &absolutes.data;
            Fields {
                run_start: data.run_start,
                written: data.written,
                cpu: data.cpu,
                class: Class::new(data.class, data.zcbp),
                speed: data.speed,
                machine_type: data.machine_type,
                csvn: data.versions[1],
                lost: data.lost,
                // Subtype 2 has no MT-diagnostic set.
                lost_mt: false,
                is_delta: false,
            }
        }
    }
}
