//! The profile of Callgrind, format version 1: the instructions of each routine by address and source line.
//!
//! A routine has its own instructions, and its calls of others with those up to their end. Where the line of an instruction is in
//! another file than the routine, because a function is inlined there, that file is named before it.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

use anyhow::{Context, Result};

use super::exact::Run;
use crate::{
    counts::{Instruction, calls::Called},
    profile::blocks::BlockCounts,
    symbols::{lines::SourceLine, names::Line},
};

/// The file of a routine without one, as Callgrind writes it.
const NO_FILE: &str = "???";

/// A routine.
#[derive(Default)]
struct Function<'r> {
    /// The file in which it begins.
    file: Option<&'r str>,
    /// What it executed, by position.
    costs: BTreeMap<Position<'r>, Costs<'r>>,
}

/// The address of an instruction, and its line.
type Position<'r> = (u64, Option<SourceLine<'r>>);

/// What was executed at a position.
#[derive(Default)]
struct Costs<'r> {
    instructions: u64,
    calls: BTreeMap<Callee<'r>, Called>,
}

/// A routine that is called, the file in which it begins, and where it is entered.
type Callee<'r> = (Line<'r>, Option<&'r str>, Position<'r>);

/// Where an instruction is, and the file in which its routine begins.
fn position<'r>(run: &'r Run<'_>, instruction: &Instruction) -> (Position<'r>, Option<&'r str>) {
    let Some(routine) = run.names.routine(&instruction.sample()) else {
        return ((instruction.address, None), None);
    };
    let source = |address| run.sources.at(routine.file, address);
    let first = source(routine.symbol.start);
    let position = (routine.address, source(routine.address));
    (position, first.map(|first| first.file))
}

/// The costs of an instruction among those of its routine.
fn costs_of<'f, 'r>(
    functions: &'f mut BTreeMap<Line<'r>, Function<'r>>,
    run: &'r Run<'_>,
    instruction: &Instruction,
) -> &'f mut Costs<'r> {
    let (position, file) = position(run, instruction);
    let line = run.names.line(&instruction.sample());
    let function = functions.entry(line).or_default();
    function.file = function.file.or(file);
    function.costs.entry(position).or_default()
}

/// The routines, by their names.
fn functions<'r>(run: &'r Run<'_>) -> BTreeMap<Line<'r>, Function<'r>> {
    let mut functions = BTreeMap::new();
    for (instruction, executed) in &run.counts.executed {
        costs_of(&mut functions, run, instruction).instructions += executed.instructions;
    }
    for (edge, called) in &run.counts.calls.edges {
        if let Some(site) = &edge.site {
            let (position, file) = position(run, &edge.routine);
            let callee = (run.names.line(&edge.routine.sample()), file, position);
            let costs = costs_of(&mut functions, run, site);
            costs.calls.entry(callee).or_default().add(*called);
        }
    }
    functions
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
    let counted = run.counts.counted();
    writeln!(out, "# callgrind format\nversion: 1")?;
    writeln!(out, "creator: measure {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cmd: {}", crate::symbols::plain(run.title))?;
    writeln!(out, "positions: instr line\nevent: Ir : Instructions")?;
    writeln!(out, "events: Ir\nsummary: {counted}")?;
    let mut numbers = Numbers::default();
    for (line, function) in &functions(run) {
        let own = function.file.unwrap_or(NO_FILE);
        writeln!(out, "\nob={}", numbers.name("ob", object_of(line)))?;
        writeln!(out, "fl={}", numbers.name("file", own))?;
        writeln!(out, "fn={}", numbers.name("fn", &line.symbol))?;
        let mut current = own;
        for ((address, source), costs) in &function.costs {
            let file = source.map_or(own, |source| source.file);
            if file != current {
                let end = if file == own { "fe" } else { "fi" };
                writeln!(out, "{end}={}", numbers.name("file", file))?;
                current = file;
            }
            let number = source.map_or(0, |source| source.line);
            if costs.instructions != 0 {
                writeln!(out, "{address:#x} {number} {}", costs.instructions)?;
            }
            for ((callee, file, (target, source)), called) in &costs.calls {
                let file = file.unwrap_or(NO_FILE);
                writeln!(out, "cob={}", numbers.name("ob", object_of(callee)))?;
                writeln!(out, "cfi={}", numbers.name("file", file))?;
                writeln!(out, "cfn={}", numbers.name("fn", &callee.symbol))?;
                let line = source.map_or(0, |source| source.line);
                writeln!(out, "calls={} {target:#x} {line}", called.times)?;
                writeln!(out, "{address:#x} {number} {}", called.inclusive)?;
            }
        }
    }
    writeln!(out, "\ntotals: {counted}")?;
    Ok(())
}

/// The object of a routine.
fn object_of<'l>(line: &'l Line<'_>) -> &'l str {
    match &line.module[..] {
        "" => NO_FILE,
        module => module,
    }
}
