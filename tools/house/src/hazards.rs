//! Unsafe code stands only where the table lets it.

use crate::{modules::Modules, table::Table};
use anyhow::Result;
use std::path::Path;

/// How many places of unsafe code there are.
#[derive(Debug, Default)]
pub struct Hazards {
    /// Where the table allows them.
    pub allowed: usize,
    /// Elsewhere.
    pub refused: usize,
}

/// Counts unsafe blocks, functions and implementations, and prints those that stand in the wrong room.
pub fn check(_root: &Path, table: &Table, modules: &Modules) -> Result<Hazards> {
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
            hazards.refused += 1;
            println!(
                "{}:{line}: unsafe code is allowed only in {}",
                module.file,
                table.hazards.join(", ")
            );
        }
    }
    Ok(hazards)
}
