//! The profile of Callgrind, format version 1: the instructions of each routine by address and source line.
//!
//! A routine has its own instructions only: the run does not say who called it. Where the line of an instruction is in
//! another file than the routine, because a function is inlined there, that file is named before it.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

use anyhow::{Context, Result};

use super::exact::Run;
use crate::{
    profile::blocks::BlockCounts,
    symbols::{lines::SourceLine, names::Line},
};

/// The file of a routine without one, as Callgrind writes it.
const NO_FILE: &str = "???";

/// The instructions of a routine.
#[derive(Default)]
struct Function<'r> {
    /// The file in which it begins.
    file: Option<&'r str>,
    /// By address and line.
    costs: BTreeMap<(u64, Option<SourceLine<'r>>), u64>,
}

/// Names that have been written, with their numbers. Each kind of name has its own.
#[derive(Default)]
struct Numbers<'n>(HashMap<(&'static str, &'n str), usize>);

impl<'n> Numbers<'n> {
    /// A name: in full the first time, and then only its number.
    fn name(&mut self, kind: &'static str, name: &'n str) -> String {
        let number = self.0.len() + 1;
        match self.0.get(&(kind, name)) {
            Some(known) => format!("({known})"),
            None => {
                self.0.insert((kind, name), number);
                format!("({number}) {}", crate::symbols::plain(name))
            }
        }
    }
}

/// Writes the profile.
pub fn write(run: &Run<'_>, out: &mut dyn Write) -> Result<BlockCounts> {
    written(run, out).context("cannot write the exact counts")?;
    Ok(BlockCounts::default())
}

fn written(run: &Run<'_>, out: &mut dyn Write) -> Result<()> {
    let mut functions: BTreeMap<Line<'_>, Function<'_>> = BTreeMap::new();
    for named in run.counts.named(run.names) {
        let (mut address, mut source) = (named.instruction.address, None);
        let function = functions.entry(named.line).or_default();
        if let Some(routine) = named.routine {
            address = routine.address;
            source = run.sources.at(routine.file, address);
            if function.file.is_none() {
                let first = run.sources.at(routine.file, routine.symbol.start);
                function.file = first.map(|first| first.file);
            }
        }
        *function.costs.entry((address, source)).or_default() += named.executed.instructions;
    }
    let counted = run.counts.counted();
    writeln!(out, "# callgrind format\nversion: 1")?;
    writeln!(out, "creator: measure {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cmd: {}", crate::symbols::plain(run.title))?;
    writeln!(out, "positions: instr line\nevent: Ir : Instructions")?;
    writeln!(out, "events: Ir\nsummary: {counted}")?;
    let mut numbers = Numbers::default();
    for (line, function) in &functions {
        let object = match &line.module[..] {
            "" => NO_FILE,
            module => module,
        };
        let own = function.file.unwrap_or(NO_FILE);
        writeln!(out, "\nob={}", numbers.name("ob", object))?;
        writeln!(out, "fl={}", numbers.name("file", own))?;
        writeln!(out, "fn={}", numbers.name("fn", &line.symbol))?;
        let mut current = own;
        for ((address, source), instructions) in &function.costs {
            let file = source.map_or(own, |source| source.file);
            if file != current {
                let end = if file == own { "fe" } else { "fi" };
                writeln!(out, "{end}={}", numbers.name("file", file))?;
                current = file;
            }
            let number = source.map_or(0, |source| source.line);
            writeln!(out, "{address:#x} {number} {instructions}")?;
        }
    }
    writeln!(out, "\ntotals: {counted}")?;
    Ok(())
}
