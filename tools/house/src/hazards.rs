//! Unsafe code stands only where the table allows it. Assembly gives places in the prefix area by name, not by number.

use crate::{modules::Modules, table::Table};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The number of places of unsafe code.
#[derive(Debug, Default)]
pub struct Hazards {
    /// Places that the table allows.
    pub allowed: usize,
    /// Unsafe code elsewhere.
    pub elsewhere: usize,
    /// Bare numbers in the prefix area.
    pub bare: usize,
}

/// The folder of assembly besides those that may hold unsafe code.
const ASSEMBLY: &str = "boot";

/// Counts unsafe blocks, functions and implementations. Prints those in the wrong room, and bare numbers.
pub fn check(root: &Path, table: &Table, modules: &Modules) -> Result<Hazards> {
    let mut hazards = Hazards::default();
    for module in modules.values() {
        let allowed = table
            .hazards
            .iter()
            .any(|place| module.file == *place || module.file.starts_with(&format!("{place}/")));
        if allowed {
            hazards.allowed += module.hazards.len();
            continue;
        }
        for line in &module.hazards {
            hazards.elsewhere += 1;
            println!(
                "{}:{line}: unsafe code is allowed only in {}",
                module.file,
                table.hazards.join(", ")
            );
        }
    }
    for place in table.hazards.iter().map(String::as_str).chain([ASSEMBLY]) {
        for file in files_below(&root.join(place))? {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            let name = file.strip_prefix(root).unwrap_or(&file).display();
            for (line, number) in bare_numbers(&text) {
                hazards.bare += 1;
                println!(
                    "{name}:{line}: {number} is a bare place in the prefix area; name it with offset_of!"
                );
            }
        }
    }
    Ok(hazards)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if path
            .extension()
            .is_some_and(|ending| ending == "rs" || ending == "s")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Numbers that are displacements without a base register (`0x200(%r0)`, `0x220(8,%r0)`), with their lines. Zero does
/// not count, nor does the order of SIGNAL PROCESSOR, which has the same form.
fn bare_numbers(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.contains("sigp") || line.contains("0xae000000") {
            continue;
        }
        for (at, _) in line.match_indices('(') {
            let Some((inside, _)) = line[at + 1..].split_once(')') else {
                continue;
            };
            let base = inside.rsplit(',').next().unwrap_or_default();
            if base != "%r0" {
                continue;
            }
            let mut before = line[..at].rsplit(|c: char| !c.is_ascii_alphanumeric());
            let displacement = before.next().unwrap_or_default();
            let is_number = displacement.starts_with(|c: char| c.is_ascii_digit());
            if is_number && displacement != "0" {
                found.push((number, displacement.to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displacement_without_a_base_is_found() {
        let text = "\"lg %r15,0x200(%r0)\",\n\"mvc 544(8,%r0),0(%r2)\",";
        let expected = [(1, "0x200".to_owned()), (2, "544".to_owned())];
        assert_eq!(bare_numbers(text), expected);
    }

    #[test]
    fn names_other_bases_and_orders_are_accepted() {
        let text = "\"lg %r15,{cpu}(%r0)\",\n\"mvc 120(8,%r15),{x}(%r0)\",\n\"stg %r0,\\\\old(%r0)\",\n\
                    .insn rs, 0xae000000, %r0, %r3, 0x12(%r0)\n\"lpswe 0(%r0)\"";
        assert!(bare_numbers(text).is_empty());
    }
}
