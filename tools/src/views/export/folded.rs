//! Folded stacks: a line for each name, the program and the routine in it, and its samples.

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context, Result};

use super::Ticker;
use crate::{
    profile::{Profile, blocks::BlockCounts},
    symbols::names::Line,
};

/// Writes a line for each name, in alphabetical order.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<BlockCounts> {
    let mut counts: BTreeMap<Line<'_>, u64> = BTreeMap::new();
    let mut samples = profile.samples();
    for sample in samples.by_ref() {
        ticker.tick();
        *counts
            .entry(profile.names.line(&sample?.entry))
            .or_default() += 1;
    }
    let mut folded: BTreeMap<String, u64> = BTreeMap::new();
    for (line, count) in counts {
        *folded.entry(stack(&line)).or_default() += count;
    }
    for (stack, count) in folded {
        writeln!(out, "{stack} {count}").context("cannot write the samples")?;
    }
    Ok(samples.found())
}

/// Program and routine with a semicolon between them. A name must not contain a semicolon, and a routine must not end
/// in a blank and a number: readers would take the number for the samples of another run to compare with.
fn stack(line: &Line<'_>) -> String {
    let plain = |name: &str| -> String {
        let allowed = |character: char| match character {
            ';' => ':',
            control if control.is_control() => ' ',
            other => other,
        };
        name.chars().map(allowed).collect()
    };
    let mut routine = plain(&line.symbol);
    let number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    if let Some(blank) = routine.rfind(char::is_whitespace) {
        let width = routine[blank..].chars().next().map_or(1, char::len_utf8);
        if number(&routine[blank + width..]) {
            routine.replace_range(blank..blank + width, "_");
        }
    }
    match &line.module[..] {
        "" => routine,
        module => format!("{};{routine}", plain(module)),
    }
}
