//! Folded stacks: a line for each stack, the program and the routines in it, and its samples.

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context, Result};

use super::Ticker;
use crate::{
    profile::{Profile, blocks::BlockCounts},
    symbols::names::Line,
};

/// Writes a line for each stack, in alphabetical order.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<BlockCounts> {
    let mut counts: BTreeMap<Vec<Line<'_>>, u64> = BTreeMap::new();
    let mut callers = profile.callers()?;
    let mut samples = profile.samples();
    for sample in samples.by_ref() {
        let sample = sample?;
        ticker.tick();
        let stack = profile.names.stack(&sample.entry, &callers.of(&sample)?);
        *counts.entry(stack).or_default() += 1;
    }
    let mut folded: BTreeMap<String, u64> = BTreeMap::new();
    for (lines, count) in counts {
        *folded.entry(stack(&lines)).or_default() += count;
    }
    for (stack, count) in folded {
        writeln!(out, "{stack} {count}").context("cannot write the samples")?;
    }
    Ok(samples.found())
}

/// The program of the sample and its routines, the outermost first, with semicolons between them.
fn stack(lines: &[Line<'_>]) -> String {
    let program = lines.first().map(|line| plain(&line.module));
    let program = program.filter(|program| !program.is_empty());
    let routines = lines.iter().rev().map(routine);
    program
        .into_iter()
        .chain(routines)
        .collect::<Vec<_>>()
        .join(";")
}

/// A name must not contain a semicolon.
fn plain(name: &str) -> String {
    let allowed = |character: char| match character {
        ';' => ':',
        control if control.is_control() => ' ',
        other => other,
    };
    name.chars().map(allowed).collect()
}

/// A routine must not end in a blank and a number: readers would take the number for the samples of another run to
/// compare with.
fn routine(line: &Line<'_>) -> String {
    let mut routine = plain(&line.symbol);
    let number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    if let Some(blank) = routine.rfind(char::is_whitespace) {
        let width = routine[blank..].chars().next().map_or(1, char::len_utf8);
        if number(&routine[blank + width..]) {
            routine.replace_range(blank..blank + width, "_");
        }
    }
    routine
}
