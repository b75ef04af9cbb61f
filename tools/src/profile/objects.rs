//! The programs that samples belong to, for forms that keep address and program and not only a name.
//!
//! Such a form needs to know which ranges of storage hold routines of which program, and which program a sample
//! belongs to. Both come from the same source as the names.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use cpumf::sampling::block::BasicEntry;

use super::Names;
use crate::symbols::{LIMITED, Symbol, SymbolTable, WAIT, linux::USER};

/// A stretch of storage with routines of only one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The program; with a number behind it if it has several stretches.
    pub name: String,
    /// The address space whose private area it is in; `None` for storage that all share.
    pub space: Option<u16>,
    /// The routines in ascending order; at least one.
    pub symbols: Vec<Symbol>,
}

impl Object {
    /// From its first byte to the one behind its last.
    pub fn range(&self) -> Range<u64> {
        let first = self.symbols.first().map_or(0, |symbol| symbol.start);
        first..self.symbols.last().map_or(first, |symbol| symbol.end)
    }
}

/// The program that a sample belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner<'n> {
    /// Its number: of a process of Linux, of an address space, or one of the constants below.
    pub number: u32,
    /// Its name.
    pub name: Cow<'n, str>,
    /// Whether its addresses are the kernel's.
    pub is_kernel: bool,
    /// The line of all its addresses, if it has no routines.
    pub only_line: Option<&'static str>,
}

/// A guest that is one program.
pub const GUEST: u32 = 1;

/// The wait state. Process numbers of Linux are lower.
pub const IN_WAIT: u32 = (1 << 22) + 1;

/// The limited samples of a secure guest.
pub const IN_SECRET: u32 = (1 << 22) + 2;

/// The address space with the number 0, which is not the number of a program.
pub const SPACE_0: u32 = 1 << 16;

impl Names {
    /// The program that a sample belongs to. `title` is what was measured.
    pub fn owner<'n>(&'n self, entry: &BasicEntry, title: &'n str) -> Owner<'n> {
        let owner = |number, name, is_kernel, only_line| Owner {
            number,
            name,
            is_kernel,
            only_line,
        };
        if entry.limited() {
            return owner(IN_SECRET, LIMITED.into(), false, Some(LIMITED));
        }
        if entry.wait() {
            return owner(IN_WAIT, WAIT.into(), false, Some(WAIT));
        }
        match self {
            Self::Routines(_) => owner(GUEST, title.into(), false, None),
            Self::Linux(programs) => {
                let (number, name) = programs.owner(entry.guest_program_parameter.get());
                let is_kernel = !entry.problem_state();
                let is_one_line = !is_kernel && !programs.programs.has(number);
                owner(number, name, is_kernel, is_one_line.then_some(USER))
            }
            Self::Map(map) => {
                let space = entry.primary_asn();
                let name = map.spaces.get(&space).map_or(title, String::as_str);
                let number = if space == 0 { SPACE_0 } else { space.into() };
                owner(number, name.into(), false, None)
            }
        }
    }

    /// The stretches of the guest's storage that have routines, shared ones first.
    pub fn objects(&self) -> Vec<Object> {
        let mut objects = Vec::new();
        match self {
            Self::Routines(symbols) => cut(symbols.symbols(), None, &mut objects),
            Self::Linux(programs) => {
                let placed = SymbolTable::of(programs.placed());
                cut(placed.symbols(), None, &mut objects);
            }
            Self::Map(map) => {
                for (space, table) in map.tables() {
                    cut(table.symbols(), space, &mut objects);
                }
            }
        }
        let mut stretches: HashMap<String, usize> = HashMap::new();
        for object in &mut objects {
            let number = stretches.entry(object.name.clone()).or_default();
            *number += 1;
            if *number > 1 {
                object.name = format!("{}.{number}", object.name);
            }
        }
        objects
    }
}

/// Cuts a table where another program begins.
fn cut(symbols: &[Symbol], space: Option<u16>, objects: &mut Vec<Object>) {
    for run in symbols.chunk_by(|one, next| one.module == next.module) {
        objects.push(Object {
            name: run[0].module.clone(),
            space,
            symbols: run.to_vec(),
        });
    }
}
