//! The file format of speedscope: a sampled profile for each CPU.
//!
//! Frames stand before the samples that name them, so the samples are read twice: once for the frames and how
//! many samples each CPU has, and once to be written. Neither keeps more than the names.

use std::{collections::HashMap, io::Write};

use anyhow::{Context, Result};
use serde_json::json;

use super::Ticker;
use crate::profile::{Line, Profile, blocks::Found};

/// Where the format is described.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Frames by their place, and the stack of each name.
#[derive(Default)]
struct Frames<'n> {
    frames: Vec<serde_json::Value>,
    programs: HashMap<String, usize>,
    stacks: HashMap<Line<'n>, String>,
}

impl<'n> Frames<'n> {
    fn add(&mut self, line: Line<'n>) {
        if self.stacks.contains_key(&line) {
            return;
        }
        let mut stack = String::new();
        let mut frame = json!({ "name": line.symbol });
        if !line.module.is_empty() {
            let program = line.module.to_string();
            let frames = &mut self.frames;
            let place = self.programs.entry(program).or_insert_with_key(|program| {
                frames.push(json!({ "name": program }));
                frames.len() - 1
            });
            stack = format!("{place},");
            frame["file"] = json!(line.module);
        }
        self.frames.push(frame);
        stack.push_str(&(self.frames.len() - 1).to_string());
        self.stacks.insert(line, format!("[{stack}]"));
    }
}

/// Writes the profile of each CPU.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<Found> {
    let mut frames = Frames::default();
    let mut counts: HashMap<u16, u64> = HashMap::new();
    let mut samples = profile.samples();
    for sample in samples.by_ref() {
        let sample = sample?;
        ticker.tick();
        *counts.entry(sample.cpu).or_default() += 1;
        frames.add(profile.names.line(&sample.entry));
    }
    let (unit, weight) = match profile.pace.nanoseconds() {
        0 => ("none", 1),
        nanoseconds => ("nanoseconds", nanoseconds),
    };
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
    let mut is_first = true;
    for cpu in profile.cpus() {
        let count = counts.get(&cpu).copied().unwrap_or_default();
        let comma = if is_first { "" } else { "," };
        is_first = false;
        let end = count.saturating_mul(weight);
        put(&format!(
            "{comma}\n{{\"type\":\"sampled\",\"name\":\"CPU {cpu}\",\"unit\":\"{unit}\",\"startValue\":0,\
             \"endValue\":{end},\"samples\":["
        ))?;
        let mut comma = "";
        for sample in profile.samples_of(cpu) {
            let line = profile.names.line(&sample?.entry);
            let stack = frames.stacks.get(&line).map_or("[]", String::as_str);
            put(comma)?;
            put(stack)?;
            comma = ",";
        }
        put("],\"weights\":[")?;
        let weight = weight.to_string();
        let mut comma = "";
        for _ in 0..count {
            put(comma)?;
            put(&weight)?;
            comma = ",";
        }
        put("]}")?;
    }
    put("]}\n")?;
    Ok(samples.found())
}
