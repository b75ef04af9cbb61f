//! The processed profile of the Firefox Profiler: a thread for each CPU, a category for each program.
//!
//! The format has samples in columns, so all of them are in storage before the first is written.

use std::{collections::HashMap, io::Write, time::Duration};

use anyhow::{Context, Result};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Processed,
    ReferenceTimestamp, SamplingInterval, Timestamp,
};

use super::Ticker;
use crate::profile::{Profile, blocks::BlockCounts};
use arch::tod::UNIX_EPOCH;

/// The colours of programs, used in turn.
const COLOURS: [CategoryColor; 8] = [
    CategoryColor::Blue,
    CategoryColor::Green,
    CategoryColor::Orange,
    CategoryColor::Purple,
    CategoryColor::Yellow,
    CategoryColor::Red,
    CategoryColor::LightBlue,
    CategoryColor::Brown,
];

/// Categories beyond this share one: their number has 16 bits.
const MOST_CATEGORIES: usize = 1000;

/// TOD units as nanoseconds.
fn nanoseconds(units: u64) -> u64 {
    (u128::from(units) * 1000 / 4096) as u64
}

/// Writes the profile.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<BlockCounts> {
    let first = profile.by_time().next().transpose()?;
    let start = first.map_or(0, |sample| sample.tod);
    let interval = match profile.pace.nanoseconds() {
        0 => 1000,
        nanoseconds => nanoseconds,
    };
    let since_1970 = Duration::from_nanos(nanoseconds(start.saturating_sub(UNIX_EPOCH)));
    let mut processed = Processed::new(
        &profile.title,
        ReferenceTimestamp::from_duration_since_unix_epoch(since_1970),
        SamplingInterval::from_nanos(interval),
    );
    // Frames have their names.
    processed.set_symbolicated(true);
    let at = |tod: u64| Timestamp::from_nanos_since_reference(nanoseconds(tod - start));
    let process = processed.add_process(&profile.title, 1, at(start));
    let mut categories: HashMap<String, CategoryHandle> = HashMap::new();
    let mut found = BlockCounts::default();
    let mut callers = profile.callers()?;
    for cpu in profile.cpus() {
        // A main thread would have the name of its process.
        let thread = processed.add_thread(process, u32::from(cpu) + 1, at(start), false);
        processed.set_thread_name(thread, &format!("CPU {cpu}"));
        let mut stacks = HashMap::new();
        let mut samples = profile.samples_of(cpu);
        for sample in samples.by_ref() {
            let sample = sample?;
            ticker.tick();
            let lines = profile.names.stack(&sample.entry, &callers.of(&sample)?);
            let stack = match stacks.get(&lines) {
                Some(stack) => *stack,
                None => {
                    let mut frames = Vec::new();
                    let program = lines.first().map(|line| (&line.module, &line.module));
                    let routines = lines.iter().rev().map(|line| (&line.module, &line.symbol));
                    for (module, name) in program.into_iter().chain(routines) {
                        let category = if module.is_empty() || categories.len() >= MOST_CATEGORIES {
                            CategoryHandle::OTHER
                        } else {
                            let colour = COLOURS[categories.len() % COLOURS.len()];
                            let category = categories.entry(module.to_string());
                            *category.or_insert_with_key(|program| {
                                processed.add_category(program, colour)
                            })
                        };
                        if !name.is_empty() {
                            frames.push(FrameInfo {
                                frame: Frame::Label(processed.intern_string(name)),
                                category_pair: category.into(),
                                flags: FrameFlags::empty(),
                            });
                        }
                    }
                    let stack = processed.intern_stack_frames(thread, frames.into_iter());
                    stacks.insert(lines, stack);
                    stack
                }
            };
            let time = at(sample.tod.max(start));
            let busy = match sample.pace.nanoseconds() {
                0 => interval,
                nanoseconds => nanoseconds,
            };
            processed.add_sample(thread, time, stack, CpuDelta::from_nanos(busy), 1);
        }
        found.add(&samples.found());
    }
    // So that the error of the output is the cause.
    serde_json::to_writer(&mut *out, &processed)
        .map_err(std::io::Error::from)
        .context("cannot write the samples")?;
    Ok(found)
}
