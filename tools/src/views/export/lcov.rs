//! Coverage in the form of LCOV (`geninfo`, `genhtml`).

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context, Result};

use super::{
    coverage::{File, files},
    exact::Run,
};
use crate::profile::blocks::BlockCounts;

/// Writes the records, by file.
pub fn write(run: &Run<'_>, out: &mut dyn Write) -> Result<BlockCounts> {
    let files = files(run, "lcov")?;
    written(&files, out).context("cannot write the exact counts")?;
    Ok(BlockCounts::default())
}

fn written(files: &BTreeMap<&str, File<'_>>, out: &mut dyn Write) -> Result<()> {
    for (path, file) in files {
        writeln!(out, "TN:\nSF:{path}")?;
        for (line, name, _) in file.named() {
            writeln!(out, "FN:{line},{name}")?;
        }
        for (_, name, times) in file.named() {
            writeln!(out, "FNDA:{times},{name}")?;
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
