//! The .CNT file of a collection: what each CPU counted from its beginning to its end.

use std::{collections::BTreeMap, io::BufRead};

use anyhow::{Result, anyhow};
use record::cnt::{Line, Parser};

use super::{Sink, machine};
use crate::{
    figures::{
        counts::Counted,
        group::{Interval, Subject},
    },
    formats::{lines::Lines, recognise::Encoding},
};

/// The most CPUs that a file can name.
type Cpus = BTreeMap<u16, Cpu>;

/// What a CPU counted.
#[derive(Debug, Default)]
struct Cpu {
    speed: u32,
    time: Option<(u64, u64)>,
    values: BTreeMap<u16, u64>,
}

/// Adds the counters of a file.
pub(super) fn add(file: &mut dyn BufRead, encoding: Encoding, sink: &mut Sink) -> Result<()> {
    let mut lines = Lines::new(file, encoding);
    let (mut parser, mut number) = (Parser::new(), 0_u64);
    let mut machine_type = String::new();
    let mut cpus = Cpus::new();
    // Whose values come next. Those of the z/OS set are not the machine's.
    let mut whose = None;
    let (mut start, mut end) = (None, None);
    let mut csvn = 0;
    let mut is_lost = false;
    while let Some(line) = lines.next()? {
        number += 1;
        let line = parser.line(line).map_err(|malformed| {
            let (column, field) = (malformed.offset, malformed.field);
            let problem = malformed.problem;
            anyhow!("line {number}, column {column}, field {field}: {problem}")
        })?;
        match line {
            Line::CounterLoss(lost) => is_lost |= lost,
            Line::Versions([_, second]) => csvn = second,
            Line::Model(model, _) => {
                let word = model.split('-').next().unwrap_or_default();
                word.trim().clone_into(&mut machine_type);
            }
            Line::Start(_, tod) => (start, end) = (Some(tod), None),
            Line::End(time) => end = time.map(|(_, tod)| tod),
            Line::Cpu {
                cpu,
                speed,
                software,
            } => {
                whose = (!software).then_some(cpu);
                if !software {
                    let cpu = cpus.entry(cpu).or_default();
                    cpu.speed = speed;
                    cpu.time = start.zip(end).filter(|(start, end)| start < end);
                }
            }
            Line::Values {
                first,
                count,
                values,
            } => {
                let Some(cpu) = whose.and_then(|cpu| cpus.get_mut(&cpu)) else {
                    continue;
                };
                let values = &values[..count.min(values.len())];
                cpu.values
                    .extend((first..=u16::MAX).zip(values.iter().copied()));
            }
            _ => {}
        }
    }
    if is_lost {
        sink.doubts
            .push("a measurement alert said that counter data were lost".to_owned());
    }
    let (known, machine) = machine(&machine_type, csvn);
    let generation = sink.model(known);
    for (address, cpu) in cpus {
        let needed = sink.needed.model(generation);
        let values = needed.numbers().iter();
        let counted = Counted {
            values: values
                .map(|number| cpu.values.get(number).copied())
                .collect(),
            speed: cpu.speed,
            time: cpu.time.map_or(0, |(start, end)| end - start),
        };
        let subject = Subject {
            system: "",
            machine: &machine,
            generation,
            class: None,
            cpu: address,
            interval: cpu.time.map(|(start, end)| Interval::between(start, end)),
        };
        sink.add(&subject, &counted)?;
    }
    Ok(())
}
