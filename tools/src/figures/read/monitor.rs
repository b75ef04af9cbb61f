//! z/VM monitor records MRPRCMFC: the counters of a CPU so far.
//!
//! A record names neither system nor machine type; the counter second version number tells the model. Records that
//! continue one another are one reading.

use std::io::Read;

use anyhow::Result;
use record::{
    CounterValues, Counters, Malformed,
    monitor::{self, Decoded},
};

use super::{
    Sink,
    differences::{Difference, Differences},
    left_out::LeftOut,
    smf::add_set,
};
use crate::{
    figures::{
        counts::Counted,
        generation::Generation,
        group::{Interval, Subject},
    },
    formats::{fill, wrong},
};

/// Bytes of a record's header.
const HEADER: usize = size_of::<monitor::Header>();

/// The most counters of all sets.
const MOST: usize = 4 * record::MOST_COUNTERS;

/// A reading of a CPU that may go on.
struct Reading {
    record: Decoded<'static>,
    values: Vec<u64>,
}

/// What was wrong.
#[derive(Default)]
struct Faults {
    left_out: LeftOut,
    /// Readings without all of their counters.
    partial: u64,
    /// Readings of a format that is not known.
    unknown: u64,
}

/// Adds all records of a file.
pub(super) fn add(file: &mut dyn Read, sink: &mut Sink) -> Result<()> {
    let (mut at, mut bytes) = (0, Vec::new());
    let mut readings = Readings {
        sink,
        pending: None,
        differences: Differences::default(),
        faults: Faults::default(),
    };
    loop {
        bytes.clear();
        let head = fill(file, &mut bytes, 4)?;
        if head == 0 {
            break;
        }
        let says = match bytes.first_chunk::<2>() {
            Some(length) => usize::from(u16::from_be_bytes(*length)),
            None => 0,
        };
        fill(file, &mut bytes, says.max(HEADER).saturating_sub(head))?;
        match monitor::decode(&bytes) {
            Ok(record) => {
                if let Some(counters) = &record.counters {
                    readings.take(counters)?;
                }
            }
            // Its length is wrong, so nobody knows where the next one begins.
            Err(malformed) if malformed.offset == 0 => {
                let error = wrong(at, malformed);
                if readings.sink.records == 0 {
                    return Err(error);
                }
                readings.sink.doubts.push(format!(
                    "the file is damaged or cut off, and was read as far as that: {error}"
                ));
                break;
            }
            Err(malformed) => readings.wrong(at, malformed),
        }
        at += bytes.len() as u64;
    }
    readings.finish()
}

struct Readings<'s> {
    sink: &'s mut Sink,
    pending: Option<Reading>,
    differences: Differences,
    faults: Faults,
}

impl Readings<'_> {
    fn wrong(&mut self, base: u64, malformed: Malformed) {
        self.faults.left_out.add(base, malformed);
    }

    fn take(&mut self, found: &Decoded<'_>) -> Result<()> {
        let whole = Decoded {
            data: found.data,
            active: found.active,
            is_partial: found.is_partial,
            counters: Counters::new(&[]),
        };
        let before = self.pending.take();
        let mut reading = match before {
            Some(before) if before.record.goes_on_in(found) => Reading {
                record: whole,
                ..before
            },
            before => {
                self.faults.partial += u64::from(before.is_some());
                Reading {
                    record: whole,
                    values: Vec::new(),
                }
            }
        };
        let room = MOST.saturating_sub(reading.values.len());
        reading.values.extend(found.counters.iter().take(room));
        if reading.record.is_partial {
            self.pending = Some(reading);
            return Ok(());
        }
        self.add(&reading)
    }

    fn add(&mut self, reading: &Reading) -> Result<()> {
        let data = &reading.record.data;
        let csvn = data.hardware_versions[1];
        let generation = self.sink.model(Generation::of_version(csvn));
        let needed = self.sink.needed.model(generation);
        let mut values = vec![None; needed.numbers().len()];
        let mut rest = &reading.values[..];
        for (set, count) in reading.record.counted_sets() {
            let Some((own, behind)) = count.and_then(|count| rest.split_at_checked(count)) else {
                self.faults.unknown += 1;
                break;
            };
            rest = behind;
            add_set(&needed, &mut values, &CounterValues::new(set, own));
        }
        let at = data.harvested;
        let whose = ("", data.cpu);
        let taken = self
            .differences
            .take(whose, data.lifetime.into(), at, values)?;
        let Some(Difference { since, counts }) = taken else {
            return Ok(());
        };
        let machine = format!("CSVN {csvn}");
        let subject = Subject {
            system: "",
            machine: &machine,
            generation,
            class: None,
            cpu: data.cpu,
            interval: Some(Interval::between(since, at)),
        };
        let counted = Counted {
            values: counts,
            speed: data.speed,
            time: at - since,
        };
        self.sink.add(&subject, &counted)
    }

    fn finish(self) -> Result<()> {
        let Self {
            sink,
            pending,
            differences,
            faults,
        } = self;
        let partial = faults.partial + u64::from(pending.is_some());
        sink.doubt(
            partial,
            "readings lack some of their counters and are left out",
        );
        sink.doubt(
            faults.unknown,
            "readings have sets whose number of counters is not known for their version numbers; the sets are left out",
        );
        differences.tell(sink);
        faults.left_out.tell("records of counters", sink);
        Ok(())
    }
}
