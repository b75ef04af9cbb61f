//! The source lines of counted instructions: from the guest's file, or from the files that processes of Linux mapped.

use std::collections::BTreeMap;

use crate::{
    folder::record::RunRecord,
    symbols::{
        SymbolTable, guest_file,
        lines::{LineTable, SourceLine},
        names::Names,
    },
};

/// The directory of this tool's own programs in Linux. Nobody wants to know which of their lines were executed.
const OWN: &str = "/millimeter/";

/// The guest's image, or the number of a file that processes mapped.
pub type Program = Option<usize>;

/// The line tables of a run's programs.
#[derive(Debug, Default)]
pub struct Sources {
    tables: BTreeMap<Program, LineTable>,
    /// Why the guest has no source lines, if it has none.
    pub lacks: Option<String>,
}

impl Sources {
    /// Reads the line tables of the programs that have names.
    #[must_use]
    pub fn of(names: &Names, record: &RunRecord) -> Self {
        match names {
            Names::Routines(symbols) if !record.is_linux => match of_guest(record, symbols) {
                Ok(table) => Self {
                    tables: [(None, table)].into(),
                    lacks: None,
                },
                Err(error) => Self {
                    tables: BTreeMap::new(),
                    lacks: Some(format!("{error:#}")),
                },
            },
            Names::Linux(programs) => {
                let files = programs.programs.files().iter().enumerate();
                let files = files.filter(|(_, file)| !file.path.starts_with(OWN));
                let tables = files.filter_map(|(number, file)| {
                    let elf = object::File::parse(file.bytes()).ok()?;
                    let table = LineTable::read(&elf, file.name()).ok()?;
                    Some((Some(number), table))
                });
                Self::of_programs(tables.collect())
            }
            Names::Routines(_) | Names::Map(_) => Self::of_programs(BTreeMap::new()),
        }
    }

    fn of_programs(tables: BTreeMap<Program, LineTable>) -> Self {
        let lacks = tables.is_empty().then(|| {
            "no program of the run is known with debug information (programs of Linux are known in a run with --stacks)"
                .to_owned()
        });
        Self { tables, lacks }
    }

    /// The source line of an instruction of a program.
    #[must_use]
    pub fn at(&self, program: Program, address: u64) -> Option<SourceLine<'_>> {
        self.tables
            .get(&program)?
            .at(address)
            .filter(|source| !source.file.is_empty())
    }

    /// All programs that have source lines, with their tables and routines.
    pub fn programs<'s>(
        &'s self,
        names: &'s Names,
    ) -> impl Iterator<Item = (Program, &'s LineTable, &'s SymbolTable)> {
        self.tables.iter().filter_map(move |(program, table)| {
            let symbols = match (names, program) {
                (Names::Routines(symbols), None) => symbols,
                (Names::Linux(programs), Some(number)) => {
                    &programs.programs.files().get(*number)?.content().symbols
                }
                _ => return None,
            };
            Some((*program, table, symbols))
        })
    }
}

fn of_guest(record: &RunRecord, symbols: &SymbolTable) -> anyhow::Result<LineTable> {
    let data = guest_file::read(&record.guest_file)?;
    let elf = guest_file::parse(&data, &record.guest, symbols)?;
    LineTable::read(&elf, "the guest's file")
}
