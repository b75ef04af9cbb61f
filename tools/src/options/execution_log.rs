//! QEMU's log of execution: which instructions it executes, a line for each.
//!
//! QEMU logs what it has translated in one piece, so it must be told to translate one instruction at a
//! time ([`crate::machine::qemu`]).

use std::{ops::Range, path::PathBuf};

/// A log that QEMU writes. An instruction is logged when it begins, so one that has to wait and begins again is
/// logged twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionLog {
    /// The file that QEMU writes; it may be a pipe.
    pub file: PathBuf,
    /// The virtual addresses of the instructions that are logged. Not empty.
    pub addresses: Range<u64>,
}

impl ExecutionLog {
    /// QEMU's options.
    pub fn arguments(&self) -> Vec<String> {
        let Range { start, end } = self.addresses;
        let length = end.saturating_sub(start);
        vec![
            "-d".to_owned(),
            "exec,nochain".to_owned(),
            "-D".to_owned(),
            self.file.to_string_lossy().into_owned(),
            "-dfilter".to_owned(),
            format!("{start:#x}+{length:#x}"),
        ]
    }
}
