//! QEMU's log of execution: which instructions it executes, a line for each.
//!
//! QEMU logs what it has translated in one piece, so it must be told to translate one instruction at a
//! time. How has changed: version 8.1 made it a property of the accelerator, which later ones know
//! alone; before it is an option.

use std::{ops::Range, path::PathBuf};

/// A log that QEMU is to write. An instruction is in it as soon as it begins, so one that has to wait
/// for something is in it again when it begins again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionLog {
    /// The file that QEMU writes; it may be a pipe.
    pub file: PathBuf,
    /// Where in virtual storage the instructions are that are logged. Not empty.
    pub addresses: Range<u64>,
}

/// The first version with the property.
const PROPERTY_SINCE: (u32, u32, u32) = (8, 1, 0);

impl ExecutionLog {
    /// What follows the accelerator and its other properties.
    pub fn property(version: (u32, u32, u32)) -> &'static str {
        if version >= PROPERTY_SINCE {
            ",one-insn-per-tb=on"
        } else {
            ""
        }
    }

    /// QEMU's options, with [`Self::property`] beside them.
    pub fn arguments(&self, version: (u32, u32, u32)) -> Vec<String> {
        let Range { start, end } = self.addresses;
        let length = end.saturating_sub(start);
        let mut line = vec![
            "-d".to_owned(),
            "exec,nochain".to_owned(),
            "-D".to_owned(),
            self.file.to_string_lossy().into_owned(),
            "-dfilter".to_owned(),
            format!("{start:#x}+{length:#x}"),
        ];
        if version < PROPERTY_SINCE {
            line.push("-singlestep".to_owned());
        }
        line
    }
}
