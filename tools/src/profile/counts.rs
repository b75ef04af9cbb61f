//! The content of the .CNT file of a set of files.

use std::{collections::BTreeMap, fs::File, io::BufReader};

use anyhow::Result;
use {
    link::data::Level,
    record::cnt::{Line, Parser},
};

use crate::formats::{counters::CounterValues, lines::Lines, recognise::Encoding};

/// The counters of one set of files, with the facts beside them.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Machine type, four digits; empty if the file does not say.
    pub machine_type: String,
    /// Cycles per microsecond; 0 if the file does not say.
    pub speed: u32,
    /// TOD clock, bits 0-63, when it began; 0 if the file does not say.
    pub start: u64,
    /// The frequency in the command that began the collection.
    pub frequency: Frequency,
    /// Whether a measurement alert reported a loss of counter data.
    pub counter_loss: bool,
    /// Counts by CPU and counter number.
    pub values: BTreeMap<(u16, u16), u64>,
}

/// Samples a minute in a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frequency {
    /// It is unknown.
    #[default]
    Unknown,
    /// The command does not give it, so it is the default.
    Default,
    /// The command gives it.
    Given(u64),
}

impl Frequency {
    /// The frequency in the command that began a collection.
    fn of(command: &str) -> Self {
        let Some((_, behind)) = command.split_once("SAMPFREQ=") else {
            return Self::Default;
        };
        let digits = behind.split(|c: char| !c.is_ascii_digit()).next();
        // PERSIST keeps a frequency from before the collection.
        let number = digits.and_then(|digits| digits.parse().ok());
        number.map_or(Self::Unknown, Self::Given)
    }
}

impl Counts {
    /// Reads a file.
    pub fn read(&mut self, file: &mut BufReader<File>, encoding: Encoding) -> Result<()> {
        let mut lines = Lines::new(file, encoding);
        let (mut parser, mut number) = (Parser::new(), 0);
        // The set of the next values. Those of the z/OS set are not the machine's.
        let mut whose = None;
        while let Some(line) = lines.next()? {
            number += 1;
            let line = parser.line(line).map_err(|malformed| {
                let (column, field) = (malformed.offset, malformed.field);
                let problem = malformed.problem;
                anyhow::anyhow!("line {number}, column {column}, field {field}: {problem}")
            })?;
            match line {
                Line::Command(command) => self.frequency = Frequency::of(command),
                Line::CounterLoss(lost) => self.counter_loss |= lost,
                Line::Model(model, _) => {
                    let machine = model.split('-').next().unwrap_or_default();
                    machine.trim().clone_into(&mut self.machine_type);
                }
                Line::Start(_, tod) if self.start == 0 || tod < self.start => self.start = tod,
                Line::Cpu {
                    cpu,
                    speed,
                    software,
                } => {
                    self.speed = speed;
                    whose = (!software).then_some(cpu);
                }
                Line::Values {
                    first,
                    count,
                    values,
                } => {
                    let Some(cpu) = whose else { continue };
                    for (counter, value) in
                        (first..=u16::MAX).zip(&values[..count.min(values.len())])
                    {
                        let sum = self.values.entry((cpu, counter)).or_default();
                        *sum = sum.wrapping_add(*value);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The M3 code of each set, and the number of its first counter.
const SETS: [(u16, u16); 5] = [(448, 5), (128, 0), (64, 3), (32, 2), (0, 1)];

/// The sums of all sets of files as counter sets. A gap in the counter numbers of a set begins another one.
pub fn summed(counts: &BTreeMap<u16, Counts>) -> Vec<CounterValues> {
    let mut values: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for (counter, value) in counts.values().flat_map(|set| &set.values) {
        let sum = values.entry(*counter).or_default();
        *sum = sum.wrapping_add(*value);
    }
    let mut sets: Vec<CounterValues> = Vec::new();
    for ((cpu, counter), value) in &values {
        let known = SETS.iter().find(|(first, _)| counter >= first);
        let set = known.map_or(1, |(_, code)| *code);
        let goes_on = |last: &&mut CounterValues| {
            let next = usize::from(last.first) + last.values.len();
            (last.cpu, last.set, next) == (*cpu, set, usize::from(*counter))
        };
        match sets.last_mut().filter(goes_on) {
            Some(last) => last.values.push(*value),
            None => sets.push(CounterValues {
                cpu: *cpu,
                level: Level::Machine,
                set,
                first: *counter,
                authorized: true,
                values: vec![*value],
            }),
        }
    }
    sets
}
