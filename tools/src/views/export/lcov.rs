//! Coverage in the form of LCOV (`geninfo`, `genhtml`): the executions of each source line and routine.
//!
//! A line was executed as often as the first instruction of its statement that was executed most often: a line has
//! several statements if it is compiled into several places. Lines and routines that were never executed have the count 0,
//! because the line table knows them.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

use anyhow::{Context, Result, bail};

use super::exact::Run;
use crate::{counts::sources::Program, profile::blocks::BlockCounts, symbols};

/// What is known of a source file.
#[derive(Default)]
struct File<'r> {
    /// Executions by line.
    lines: BTreeMap<u32, u64>,
    /// Executions of routines by the line at which they begin, and the name.
    routines: BTreeMap<(u32, &'r str), u64>,
}

/// Writes the records, by file.
pub fn write(run: &Run<'_>, out: &mut dyn Write) -> Result<BlockCounts> {
    if let Some(why) = &run.sources.lacks {
        bail!("lcov has a count for each source line, and none is known: {why}");
    }
    let files = files(run);
    written(&files, out).context("cannot write the exact counts")?;
    Ok(BlockCounts::default())
}

fn files<'r>(run: &'r Run<'_>) -> BTreeMap<&'r str, File<'r>> {
    // Processes that map a file at different addresses execute the same instructions of it.
    let mut times: HashMap<(Program, u64), u64> = HashMap::new();
    for named in run.counts.named(run.names) {
        if let Some(routine) = named.routine {
            let times = times.entry((routine.file, routine.address)).or_default();
            *times = times.saturating_add(named.executed.times);
        }
    }
    let mut files: BTreeMap<&str, File<'_>> = BTreeMap::new();
    for (program, table, routines) in run.sources.programs(run.names) {
        let times_at = |address| times.get(&(program, address)).copied().unwrap_or(0);
        for (address, source) in table.statements() {
            if source.file.is_empty() {
                continue;
            }
            let lines = &mut files.entry(source.file).or_default().lines;
            let most = lines.entry(source.line).or_default();
            *most = times_at(address).max(*most);
        }
        for routine in routines.symbols() {
            let source = table.at(routine.start);
            let Some(source) = source.filter(|at| at.line != 0 && !at.file.is_empty()) else {
                continue;
            };
            let known = &mut files.entry(source.file).or_default().routines;
            // Instances of a generic routine have the same name and line.
            let sum = known.entry((source.line, &routine.name)).or_default();
            *sum = sum.saturating_add(times_at(routine.start));
        }
    }
    files
}

fn written(files: &BTreeMap<&str, File<'_>>, out: &mut dyn Write) -> Result<()> {
    for (path, file) in files {
        writeln!(out, "TN:\nSF:{path}")?;
        let mut lines_of: HashMap<&str, usize> = HashMap::new();
        for (_, name) in file.routines.keys() {
            *lines_of.entry(name).or_default() += 1;
        }
        // Readers take routines of the same name for one.
        let name = |line: u32, name: &str| match lines_of.get(name) {
            Some(2..) => symbols::plain(&format!("{name} (line {line})")),
            _ => symbols::plain(name),
        };
        for (line, routine) in file.routines.keys() {
            writeln!(out, "FN:{line},{}", name(*line, routine))?;
        }
        for ((line, routine), times) in &file.routines {
            writeln!(out, "FNDA:{times},{}", name(*line, routine))?;
        }
        let is_hit = |times: &&u64| **times > 0;
        writeln!(out, "FNF:{}", file.routines.len())?;
        writeln!(out, "FNH:{}", file.routines.values().filter(is_hit).count())?;
        for (line, times) in &file.lines {
            writeln!(out, "DA:{line},{times}")?;
        }
        writeln!(out, "LF:{}", file.lines.len())?;
        writeln!(out, "LH:{}", file.lines.values().filter(is_hit).count())?;
        writeln!(out, "end_of_record")?;
    }
    Ok(())
}
