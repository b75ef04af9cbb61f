//! The file format of speedscope: a sampled profile for each CPU.
//!
//! Frames precede the samples that name them, so the samples are read twice: once to find the frames and the number of
//! samples of each CPU, and once to write them. Both readings keep only the names.

use std::{collections::HashMap, io::Write};

use anyhow::{Context, Result};
use serde_json::json;

use super::Ticker;
use crate::{
    profile::{Profile, Sample, blocks::BlockCounts},
    symbols::names::Line,
};

/// The description of the format.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Frames by their place, and each stack of names with its frames.
#[derive(Default)]
struct Frames<'n> {
    frames: Vec<serde_json::Value>,
    programs: HashMap<String, usize>,
    routines: HashMap<Line<'n>, usize>,
    stacks: HashMap<Vec<Line<'n>>, String>,
}

impl<'n> Frames<'n> {
    /// Adds the stack of a sample: its program, and its routines from the outermost on.
    fn add(&mut self, lines: Vec<Line<'n>>) {
        if self.stacks.contains_key(&lines) {
            return;
        }
        let mut stack = Vec::new();
        let frames = &mut self.frames;
        if let Some(line) = lines.first().filter(|line| !line.module.is_empty()) {
            let program = line.module.to_string();
            stack.push(*self.programs.entry(program).or_insert_with_key(|program| {
                frames.push(json!({ "name": program }));
                frames.len() - 1
            }));
        }
        for line in lines.iter().rev() {
            let routine = self.routines.entry(line.clone());
            stack.push(*routine.or_insert_with_key(|line| {
                let mut frame = json!({ "name": line.symbol });
                if !line.module.is_empty() {
                    frame["file"] = json!(line.module);
                }
                frames.push(frame);
                frames.len() - 1
            }));
        }
        self.stacks.insert(lines, json!(stack).to_string());
    }
}

/// Writes the profile of each CPU.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<BlockCounts> {
    let mut frames = Frames::default();
    // The sum of the weights of each CPU's samples.
    let mut sums: HashMap<u16, u64> = HashMap::new();
    let mut callers = profile.callers()?;
    let mut samples = profile.samples();
    // If the clock is not known, samples are counted.
    let is_timed = profile.pace.nanoseconds() > 0;
    let weight = |sample: &Sample| {
        if is_timed {
            sample.pace.nanoseconds()
        } else {
            1
        }
    };
    for sample in samples.by_ref() {
        let sample = sample?;
        ticker.tick();
        let sum = sums.entry(sample.cpu).or_default();
        *sum = sum.saturating_add(weight(&sample));
        frames.add(profile.names.stack(&sample.entry, &callers.of(&sample)?));
    }
    let unit = if is_timed { "nanoseconds" } else { "none" };
    let mut put = |text: &str| {
        out.write_all(text.as_bytes())
            .context("cannot write the samples")
    };
    put(&format!(
        "{{\"$schema\":{},\"exporter\":\"Millimeter\",\"name\":{},\"shared\":{},\"profiles\":[",
        json!(SCHEMA),
        json!(profile.title),
        json!({ "frames": frames.frames })
    ))?;
    let mut callers = profile.callers()?;
    let mut is_first = true;
    for cpu in profile.cpus() {
        let end = sums.get(&cpu).copied().unwrap_or_default();
        let comma = if is_first { "" } else { "," };
        is_first = false;
        put(&format!(
            "{comma}\n{{\"type\":\"sampled\",\"name\":\"CPU {cpu}\",\"unit\":\"{unit}\",\"startValue\":0,\
             \"endValue\":{end},\"samples\":["
        ))?;
        let mut comma = "";
        let mut weights = Vec::new();
        for sample in profile.samples_of(cpu) {
            let sample = sample?;
            let weight = weight(&sample);
            match weights.last_mut() {
                Some((last, count)) if *last == weight => *count += 1,
                _ => weights.push((weight, 1_u64)),
            }
            let lines = profile.names.stack(&sample.entry, &callers.of(&sample)?);
            let stack = frames.stacks.get(&lines).map_or("[]", String::as_str);
            put(comma)?;
            put(stack)?;
            comma = ",";
        }
        put("],\"weights\":[")?;
        let mut comma = "";
        for (weight, count) in weights {
            let weight = weight.to_string();
            for _ in 0..count {
                put(comma)?;
                put(&weight)?;
                comma = ",";
            }
        }
        put("]}")?;
    }
    put("]}\n")?;
    Ok(samples.found())
}
