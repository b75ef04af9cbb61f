//! The profile of pprof: samples summed up by address or stack and CPU, as protobuf, compressed by gzip.
//!
//! The messages are those of the format's description, with the fields that this tool fills. The number of a field
//! never changes.

use std::{
    collections::{BTreeSet, HashMap},
    io::Write,
};

use anyhow::{Context, Result};
use arch::tod::UNIX_EPOCH;
use flate2::{Compression, write::GzEncoder};
use prost::Message;

use super::Ticker;
use crate::{
    profile::{Profile, blocks::BlockCounts},
    symbols::names::{Frame, Line},
};

/// The meaning of a value: places in the table of strings.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ValueType {
    /// What is counted.
    #[prost(int64, tag = "1")]
    pub kind: i64,
    /// Its unit.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// Samples of one stack.
#[derive(Clone, PartialEq, Message)]
pub struct SampleMessage {
    /// The stack's locations, the innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// A value for each type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else is known.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// Something about samples.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Label {
    /// What it is.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// A number.
    #[prost(int64, tag = "3")]
    pub num: i64,
}

/// A program in storage.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Mapping {
    /// Its number, from 1 on.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The lowest address of it that was sampled.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// An address behind the highest one.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Its name.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Its addresses have names.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
}

/// An address.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Its number, from 1 on.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The program; 0 for none.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// The address.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// The routine.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<LineMessage>,
}

/// A place in a routine.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct LineMessage {
    /// The routine.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
}

/// A routine.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Function {
    /// Its number, from 1 on.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name in the program.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// The program.
    #[prost(int64, tag = "4")]
    pub filename: i64,
}

/// The whole profile.
#[derive(Clone, PartialEq, Message)]
pub struct ProfileMessage {
    /// What the values of samples are.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Samples.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<SampleMessage>,
    /// Programs.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Addresses.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Routines.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// Texts; the first one is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// When it began: nanoseconds from 1970 on.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// How long it took.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// The type of the distance between two samples.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// That distance.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// What was measured.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
}

/// Gives each text its place in the table.
#[derive(Default)]
struct Strings {
    table: Vec<String>,
    places: HashMap<String, i64>,
}

impl Strings {
    fn place(&mut self, text: &str) -> i64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.table.len() as i64;
        self.table.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// An address with its name, of samples or of calls.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place<'n> {
    address: u64,
    line: Line<'n>,
}

/// Samples by their stacks, the innermost place first, and by CPU.
type Sums<'n> = HashMap<Vec<Place<'n>>, HashMap<u16, Sum>>;

/// Samples and their worth.
#[derive(Clone, Copy, Default)]
struct Sum {
    samples: u64,
    nanoseconds: u64,
    cycles: u64,
}

/// What samples stand for.
#[derive(Clone, Copy)]
struct Worth {
    kind: ValueType,
    /// That of one sample of the first set of files.
    period: u64,
    of: fn(&Sum) -> u64,
}

/// Writes the profile.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<BlockCounts> {
    let mut sums = Sums::new();
    let mut callers = profile.callers()?;
    let (mut first, mut last) = (u64::MAX, 0);
    let mut samples = profile.samples();
    for sample in samples.by_ref() {
        let sample = sample?;
        ticker.tick();
        (first, last) = (first.min(sample.tod), last.max(sample.tod));
        let returns = callers.of(&sample)?;
        let lines = profile.names.stack(&sample.entry, &returns);
        // A caller is at its call, which ends before the return address.
        let calls = returns.iter().map(Frame::call);
        let addresses = std::iter::once(sample.entry.instruction_address.get()).chain(calls);
        let stack = addresses
            .zip(lines)
            .map(|(address, line)| Place { address, line });
        let by_cpu = sums.entry(stack.collect()).or_default();
        let sum = by_cpu.entry(sample.cpu).or_default();
        sum.samples += 1;
        sum.nanoseconds = sum.nanoseconds.saturating_add(sample.pace.nanoseconds());
        sum.cycles = sum.cycles.saturating_add(sample.pace.interval);
    }
    let message = message(profile, &sums, first.min(last), last);
    let mut out = GzEncoder::new(out, Compression::default());
    out.write_all(&message.encode_to_vec())
        .and_then(|()| out.finish().map(|_| ()))
        .context("cannot write the samples")?;
    Ok(samples.found())
}

fn nanoseconds(units: u64) -> i64 {
    i64::try_from(u128::from(units) * 1000 / 4096).unwrap_or(i64::MAX)
}

fn message(profile: &Profile, sums: &Sums<'_>, first: u64, last: u64) -> ProfileMessage {
    let places: BTreeSet<&Place<'_>> = sums.keys().flatten().collect();
    let mut strings = Strings::default();
    strings.place("");
    let mut value = |kind: &str, unit: &str| ValueType {
        kind: strings.place(kind),
        unit: strings.place(unit),
    };
    let samples = value("samples", "count");
    let time = value("cpu", "nanoseconds");
    let cycles = value("cycles", "count");
    let worth = |kind, period, of| Some(Worth { kind, period, of });
    let worth = match (profile.pace.nanoseconds(), profile.pace.interval) {
        (0, 0) => None,
        (0, interval) => worth(cycles, interval, |sum: &Sum| sum.cycles),
        (nanoseconds, _) => worth(time, nanoseconds, |sum: &Sum| sum.nanoseconds),
    };
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut whole = ProfileMessage {
        sample_type: std::iter::once(samples)
            .chain(worth.map(|worth| worth.kind))
            .collect(),
        time_nanos: nanoseconds(first.saturating_sub(UNIX_EPOCH)),
        duration_nanos: nanoseconds(last - first),
        period_type: worth.map(|worth| worth.kind),
        period: worth.map_or(0, |worth| signed(worth.period)),
        comment: vec![strings.place(&profile.title)],
        ..ProfileMessage::default()
    };
    let cpu = strings.place("cpu");
    let mut mappings: HashMap<&str, usize> = HashMap::new();
    let mut functions: HashMap<&Line<'_>, u64> = HashMap::new();
    let mut locations: HashMap<&Place<'_>, u64> = HashMap::new();
    for (id, place) in (1_u64..).zip(places) {
        locations.insert(place, id);
        let program = strings.place(&place.line.module);
        let mut mapping_id = 0;
        if program != 0 {
            let all = &mut whole.mapping;
            let index = *mappings.entry(&place.line.module).or_insert_with(|| {
                all.push(Mapping {
                    id: all.len() as u64 + 1,
                    memory_start: place.address,
                    memory_limit: place.address,
                    filename: program,
                    has_functions: true,
                });
                all.len() - 1
            });
            // Addresses come in ascending order.
            let behind = place.address.saturating_add(2);
            all[index].memory_limit = behind.max(all[index].memory_limit);
            mapping_id = all[index].id;
        }
        let all = &mut whole.function;
        let function_id = *functions.entry(&place.line).or_insert_with(|| {
            let name = strings.place(&place.line.symbol);
            let id = all.len() as u64 + 1;
            all.push(Function {
                id,
                name,
                system_name: name,
                filename: program,
            });
            id
        });
        whole.location.push(Location {
            id,
            mapping_id,
            address: place.address,
            line: vec![LineMessage { function_id }],
        });
    }
    let mut stacks: Vec<(Vec<u64>, &HashMap<u16, Sum>)> = sums
        .iter()
        .map(|(stack, by_cpu)| {
            let ids = stack.iter().filter_map(|place| locations.get(place));
            (ids.copied().collect(), by_cpu)
        })
        .collect();
    stacks.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (location_id, by_cpu) in stacks {
        let mut by_cpu: Vec<(&u16, &Sum)> = by_cpu.iter().collect();
        by_cpu.sort_unstable_by_key(|(number, _)| **number);
        let samples = by_cpu.into_iter().map(|(number, sum)| SampleMessage {
            location_id: location_id.clone(),
            value: std::iter::once(sum.samples)
                .chain(worth.map(|worth| (worth.of)(sum)))
                .map(signed)
                .collect(),
            label: vec![Label {
                key: cpu,
                num: i64::from(*number),
            }],
        });
        whole.sample.extend(samples);
    }
    whole.string_table = strings.table;
    whole
}
