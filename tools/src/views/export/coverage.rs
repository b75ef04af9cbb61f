//! What the forms of coverage have in common: the executions of each source line and routine.
//!
//! A line was executed as often as the first instruction of its statement that was executed most often: a line has
//! several statements if it is compiled into several places. Lines and routines that were never executed have the count 0,
//! because the line table knows them.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, bail};

use super::exact::Run;
use crate::{counts::sources::Program, symbols};

/// What is known of a source file.
#[derive(Default)]
pub struct File<'r> {
    /// Executions by line.
    pub lines: BTreeMap<u32, u64>,
    /// Executions of routines by the line at which they begin, and the name.
    pub routines: BTreeMap<(u32, &'r str), u64>,
}

impl File<'_> {
    /// The routines by their lines, with their executions. Readers take those of the same name for one, so such have their line.
    pub fn named(&self) -> impl Iterator<Item = (u32, String, u64)> {
        let mut lines_of: HashMap<&str, usize> = HashMap::new();
        for (_, name) in self.routines.keys() {
            *lines_of.entry(name).or_default() += 1;
        }
        self.routines.iter().map(move |((line, name), times)| {
            let name = match lines_of.get(name) {
                Some(2..) => symbols::plain(&format!("{name} (line {line})")),
                _ => symbols::plain(name),
            };
            (*line, name, *times)
        })
    }
}

/// The source files, by their paths.
///
/// # Errors
/// No source line is known.
pub fn files<'r>(run: &'r Run<'_>, form: &str) -> Result<BTreeMap<&'r str, File<'r>>> {
    if let Some(why) = &run.sources.lacks {
        bail!("{form} has a count for each source line, and none is known: {why}");
    }
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
    Ok(files)
}
