//! The profile of pprof: samples summed up by address or stack and CPU, as protobuf, compressed by gzip.
//!
//! The messages are those of the format's description, with the fields that this tool fills. The number of a field
//! never changes.

mod message;

use std::{
    collections::{BTreeSet, HashMap},
    io::Write,
};

use anyhow::{Context, Result};
use arch::tod::UNIX_EPOCH;
use flate2::{Compression, write::GzEncoder};
use message::Bytes;

use super::Ticker;
use crate::{
    profile::{Profile, blocks::BlockCounts},
    symbols::names::{Frame, Line},
};

/// The meaning of a value: places in the table of strings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueType {
    /// What is counted.
    pub kind: i64,
    /// Its unit.
    pub unit: i64,
}

impl ValueType {
    fn bytes(&self) -> Bytes {
        Bytes::default().signed(1, self.kind).signed(2, self.unit)
    }
}

/// Samples of one stack.
#[derive(Clone, PartialEq, Debug)]
pub struct SampleMessage {
    /// The stack's locations, the innermost first.
    pub location_id: Vec<u64>,
    /// A value for each type.
    pub value: Vec<i64>,
    /// What else is known.
    pub label: Vec<Label>,
}

impl SampleMessage {
    fn bytes(&self) -> Bytes {
        Bytes::default()
            .numbers(1, self.location_id.iter().copied())
            .signed_numbers(2, &self.value)
            .messages(3, &self.label, Label::bytes)
    }
}

/// Something about samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Label {
    /// What it is.
    pub key: i64,
    /// A number.
    pub num: i64,
}

impl Label {
    fn bytes(&self) -> Bytes {
        Bytes::default().signed(1, self.key).signed(3, self.num)
    }
}

/// A program in storage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mapping {
    /// Its number, from 1 on.
    pub id: u64,
    /// The lowest address of it that was sampled.
    pub memory_start: u64,
    /// An address behind the highest one.
    pub memory_limit: u64,
    /// Its name.
    pub filename: i64,
    /// Its addresses have names.
    pub has_functions: bool,
}

impl Mapping {
    fn bytes(&self) -> Bytes {
        Bytes::default()
            .number(1, self.id)
            .number(2, self.memory_start)
            .number(3, self.memory_limit)
            .signed(5, self.filename)
            .number(7, u64::from(self.has_functions))
    }
}

/// An address.
#[derive(Clone, PartialEq, Debug)]
pub struct Location {
    /// Its number, from 1 on.
    pub id: u64,
    /// The program; 0 for none.
    pub mapping_id: u64,
    /// The address.
    pub address: u64,
    /// The routine.
    pub line: Vec<LineMessage>,
}

impl Location {
    fn bytes(&self) -> Bytes {
        Bytes::default()
            .number(1, self.id)
            .number(2, self.mapping_id)
            .number(3, self.address)
            .messages(4, &self.line, LineMessage::bytes)
    }
}

/// A place in a routine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LineMessage {
    /// The routine.
    pub function_id: u64,
}

impl LineMessage {
    fn bytes(&self) -> Bytes {
        Bytes::default().number(1, self.function_id)
    }
}

/// A routine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Function {
    /// Its number, from 1 on.
    pub id: u64,
    /// Its name.
    pub name: i64,
    /// Its name in the program.
    pub system_name: i64,
    /// The program.
    pub filename: i64,
}

impl Function {
    fn bytes(&self) -> Bytes {
        Bytes::default()
            .number(1, self.id)
            .signed(2, self.name)
            .signed(3, self.system_name)
            .signed(4, self.filename)
    }
}

/// The whole profile.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProfileMessage {
    /// What the values of samples are.
    pub sample_type: Vec<ValueType>,
    /// Samples.
    pub sample: Vec<SampleMessage>,
    /// Programs.
    pub mapping: Vec<Mapping>,
    /// Addresses.
    pub location: Vec<Location>,
    /// Routines.
    pub function: Vec<Function>,
    /// Texts; the first one is empty.
    pub string_table: Vec<String>,
    /// When it began: nanoseconds from 1970 on.
    pub time_nanos: i64,
    /// How long it took.
    pub duration_nanos: i64,
    /// The type of the distance between two samples.
    pub period_type: Option<ValueType>,
    /// That distance.
    pub period: i64,
    /// What was measured.
    pub comment: Vec<i64>,
}

impl ProfileMessage {
    fn bytes(&self) -> Bytes {
        Bytes::default()
            .messages(1, &self.sample_type, ValueType::bytes)
            .messages(2, &self.sample, SampleMessage::bytes)
            .messages(3, &self.mapping, Mapping::bytes)
            .messages(4, &self.location, Location::bytes)
            .messages(5, &self.function, Function::bytes)
            .messages(6, &self.string_table, |text| Bytes::text(text))
            .signed(9, self.time_nanos)
            .signed(10, self.duration_nanos)
            .messages(11, self.period_type.as_slice(), ValueType::bytes)
            .signed(12, self.period)
            .signed_numbers(13, &self.comment)
    }
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
    out.write_all(&message.bytes().end())
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
