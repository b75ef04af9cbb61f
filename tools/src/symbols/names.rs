//! The name of a sample.
//!
//! Every report and every export uses the same rule. Limited samples of a secure guest and samples in the wait state
//! have lines of their own. A sample of Linux gets its name from [`LinuxNames`], one of a collection from the map of
//! storage ([`Map`]), and any other from the guest's table of routines.

use std::{borrow::Cow, path::Path};

use anyhow::Result;
use cpumf::sampling::block::BasicEntry;

use super::map::Map;
use crate::{
    folder::{CONSOLE, SYMBOLS, optional, record::RunRecord},
    symbols::{LIMITED, Routine, SymbolTable, UNKNOWN, WAIT, linux::LinuxNames},
};

/// The name of a sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line<'n> {
    /// The routine, or [`WAIT`], [`UNKNOWN`] or [`LIMITED`].
    pub symbol: Cow<'n, str>,
    /// The program that it is part of; empty where there is none.
    pub module: Cow<'n, str>,
}

impl<'n> Line<'n> {
    fn new(symbol: impl Into<Cow<'n, str>>, module: impl Into<Cow<'n, str>>) -> Self {
        Self {
            symbol: symbol.into(),
            module: module.into(),
        }
    }
}

/// P of a sample.
const PROBLEM_STATE: u64 = 1 << (63 - 28);

/// A caller in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Where the routine goes on.
    pub address: u64,
    /// Whether that is behind a call. Otherwise an interruption came there, or a system call.
    pub is_return: bool,
    /// Whether it is in a program of the control program that the sample was taken in.
    pub is_program: bool,
}

impl Frame {
    /// A caller, by its return address.
    #[must_use]
    pub const fn returning(address: u64) -> Self {
        Self {
            address,
            is_return: true,
            is_program: false,
        }
    }

    /// An address of the instruction. A return address may be that of another routine, behind the call.
    #[must_use]
    pub const fn call(&self) -> u64 {
        self.address.wrapping_sub(self.is_return as u64)
    }
}

/// Where names come from.
#[derive(Clone, Debug)]
pub enum Names {
    /// From the routines of a program at fixed addresses.
    Routines(SymbolTable),
    /// From the kernel, modules and processes of Linux.
    Linux(LinuxNames),
    /// From the map of storage of a collection.
    Map(Map),
}

impl Names {
    /// The names of a run, and what is missing or damaged, in sentences.
    pub fn of_run(directory: &Path, record: &RunRecord) -> Result<(Self, Vec<String>)> {
        let mut doubts = Vec::new();
        let symbols = match optional(&directory.join(SYMBOLS))? {
            Some(bytes) => {
                SymbolTable::from_text(&String::from_utf8_lossy(&bytes)).unwrap_or_else(|error| {
                    doubts.push(format!(
                        "{SYMBOLS} is damaged ({error:#}): no address has a name"
                    ));
                    SymbolTable::default()
                })
            }
            None => {
                doubts.push(format!("{SYMBOLS} is missing: no address has a name"));
                SymbolTable::default()
            }
        };
        if !record.is_linux || !record.has_addresses() {
            return Ok((Self::Routines(symbols), doubts));
        }
        let console = optional(&directory.join(CONSOLE))?.unwrap_or_default();
        let programs = LinuxNames::new(&symbols, &String::from_utf8_lossy(&console));
        let programs = programs.with_programs(directory);
        if !programs.has_kernel() {
            doubts.push("the kernel's routines have no names".to_owned());
        } else if !programs.is_placed {
            doubts.push("the guest did not say where its kernel lies; names assume the place that its image gives".to_owned());
        }
        Ok((Self::Linux(programs), doubts))
    }

    /// The name of a sample and those of the routines that had called it: the innermost first. Callers within a process
    /// of Linux have names if it is known what the process mapped; otherwise all of it is one line.
    pub fn stack(&self, entry: &BasicEntry, callers: &[Frame]) -> Vec<Line<'_>> {
        let mut stack = vec![self.line(entry)];
        if entry.limited() || entry.wait() {
            return stack;
        }
        let is_one_line = |entry: &BasicEntry| match self {
            Self::Linux(programs) => entry.problem_state() && !programs.is_mapped(entry),
            _ => false,
        };
        if is_one_line(entry) {
            return stack;
        }
        for caller in callers {
            let mut call = BasicEntry {
                instruction_address: caller.call().into(),
                ..*entry
            };
            if caller.is_program {
                call.head = (call.head.get() | PROBLEM_STATE).into();
            }
            stack.push(self.line(&call));
            if caller.is_program && is_one_line(&call) {
                break;
            }
        }
        stack
    }

    /// The name of a sample.
    pub fn line(&self, entry: &BasicEntry) -> Line<'_> {
        if entry.limited() {
            return Line::new(LIMITED, "");
        }
        if entry.wait() {
            return Line::new(WAIT, "");
        }
        if let Self::Linux(programs) = self {
            let (symbol, module) = programs.line(entry);
            return Line { symbol, module };
        }
        match self.routine(entry) {
            Some(Routine { symbol, .. }) => Line::new(&symbol.name, &symbol.module),
            None => Line::new(UNKNOWN, ""),
        }
    }

    /// The routine of a sample, if its address is in one that is known.
    pub fn routine(&self, entry: &BasicEntry) -> Option<Routine<'_>> {
        let address = entry.instruction_address.get();
        let symbol = match self {
            Self::Linux(programs) => return programs.routine(entry),
            Self::Routines(symbols) => symbols.find(address),
            Self::Map(map) => map.find(address, entry.primary_asn()),
        };
        Some(Routine {
            symbol: symbol?,
            address,
            file: None,
        })
    }
}
