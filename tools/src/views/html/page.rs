//! Everything that the page shows, without its form.
//!
//! All texts here are plain: [`super::render`] escapes them. Texts that came from a file have gone
//! through [`crate::computer::visible::visible`].

use std::collections::BTreeMap;

use cpumf::sampling::block::BasicEntry;

use crate::costs::paths::Paths;

/// The page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The guest's name.
    pub guest: String,
    /// Version of the tool that made the page.
    pub tool: String,
    /// Where the raw files were.
    pub directory: String,
    /// How the run ended, in one sentence.
    pub end: String,
    /// Whether it ended well.
    pub is_success: bool,
    /// Whether it is of a file of counters. It then has no parts for samples.
    pub has_counters_only: bool,
    /// What was lost, and why the results may be wrong or incomplete.
    pub warnings: Vec<Warning>,
    /// Facts about the run.
    pub facts: Vec<Fact>,
    /// Samples, all CPUs together.
    pub samples: u64,
    /// The run that this one is compared with.
    pub before: Option<Before>,
    /// The sentence in the place of samples, if there are none.
    pub without_samples: String,
    /// In which state the CPUs were.
    pub shares: Vec<Share>,
    /// The hottest symbols.
    pub hot: Hot,
    /// Samples by time.
    pub time_line: Absent<TimeLine>,
    /// The hottest functions, instruction by instruction.
    pub listings: Absent<Vec<Listing>>,
    /// Figures that follow from counters.
    pub figures: Vec<Figures>,
    /// Counters.
    pub counters: Absent<Vec<CounterTable>>,
    /// The paths of a guest that is a machine, if the run counted them.
    pub paths: Option<CountedPaths>,
    /// The exact counts, if there are any.
    pub exact: Option<Exact>,
}

/// The exact counts of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exact {
    /// The routines with the most instructions.
    pub lines: Vec<ExactLine>,
    /// The other routines, the sum, and what is missing, in sentences.
    pub notes: Vec<String>,
}

/// A routine with exact counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactLine {
    /// Its name.
    pub symbol: String,
    /// The program that it is part of; empty where there is none.
    pub module: String,
    /// The instructions that were executed in it, and how many percent of all these are.
    pub own: (u64, f64),
    /// The same for each call up to its end, if calls of it are known.
    pub inclusive: Option<(u64, f64)>,
    /// How often it was called.
    pub calls: Option<u64>,
    /// How often its first instruction was executed.
    pub entries: Option<u64>,
}

/// The paths of a guest that is a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedPaths {
    /// By cause.
    pub paths: Paths,
    /// The instructions that the guest executed in supervisor state, if they were counted.
    pub executed: Option<u64>,
}

/// A part of the page, or why it is not there, in one sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent<T> {
    /// It is there.
    Present(T),
    /// It is not.
    Because(String),
}

impl<T> Default for Absent<T> {
    fn default() -> Self {
        Self::Because("There is nothing to show.".to_owned())
    }
}

/// Something that the reader must know before the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Whether data were lost; else it is a doubt.
    pub is_loss: bool,
    /// A sentence.
    pub text: String,
}

/// A fact about the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub name: &'static str,
    /// The fact.
    pub value: String,
}

/// Samples by the state that they were taken in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The CPU's address; `None` for all CPUs together.
    pub cpu: Option<u16>,
    /// Supervisor state.
    pub supervisor: u64,
    /// Problem state.
    pub problem: u64,
    /// Wait state.
    pub wait: u64,
    /// Of a secure guest, whose state they do not show.
    pub limited: u64,
    /// Samples that found no room.
    pub lost: u64,
}

/// The state of a CPU when a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Supervisor state.
    Supervisor,
    /// Problem state.
    Problem,
    /// Wait state.
    Wait,
    /// That of a secure guest, which a sample does not show.
    Limited,
}

impl State {
    /// The state in a data entry.
    pub fn of(entry: &BasicEntry) -> Self {
        match () {
            () if entry.limited() => Self::Limited,
            () if entry.wait() => Self::Wait,
            () if entry.problem_state() => Self::Problem,
            () => Self::Supervisor,
        }
    }
}

impl Share {
    /// The samples of one state.
    pub const fn of_mut(&mut self, state: State) -> &mut u64 {
        match state {
            State::Supervisor => &mut self.supervisor,
            State::Problem => &mut self.problem,
            State::Wait => &mut self.wait,
            State::Limited => &mut self.limited,
        }
    }

    /// All samples.
    pub const fn samples(&self) -> u64 {
        self.supervisor + self.problem + self.wait + self.limited
    }

    /// Adds those of another CPU.
    pub const fn add(&mut self, other: &Self) {
        self.supervisor += other.supervisor;
        self.problem += other.problem;
        self.wait += other.wait;
        self.limited += other.limited;
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// The table of the hottest symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hot {
    /// The hottest first.
    pub lines: Vec<HotLine>,
    /// How many more there are.
    pub more: usize,
    /// Samples in these.
    pub more_samples: u64,
    /// Why there are no source lines; `None` if there are.
    pub without_source: Option<String>,
}

/// A line of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotLine {
    /// The routine.
    pub symbol: String,
    /// The program that it is part of.
    pub module: String,
    /// Samples in it.
    pub samples: u64,
    /// Samples in it or in what it had called, if the run followed call stacks.
    pub inclusive: Option<u64>,
    /// Samples in it in the run before, if there is one.
    pub before: Option<u64>,
    /// Its hottest source line, as `file:line`, and the samples there.
    pub source: Option<(String, u64)>,
    /// Its place in [`Page::listings`].
    pub listing: Option<usize>,
}

/// Samples by time, CPU, program and call stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeLine {
    /// Columns of time.
    pub columns: usize,
    /// The time at which the first column begins, and at which the last ends.
    pub span: (f64, f64),
    /// The unit of these times.
    pub unit: String,
    /// Where the time of a sample comes from, in sentences.
    pub notes: Vec<String>,
    /// Whether the run followed call stacks.
    pub has_callers: bool,
    /// Programs, those with the most samples first.
    pub programs: Vec<String>,
    /// Symbols with their modules.
    pub routines: Vec<(String, String)>,
    /// Call stacks: one for each program, without a routine, and behind them the others.
    pub stacks: Vec<Stack>,
    /// The rows from top to bottom.
    pub lanes: Vec<Lane>,
}

/// A call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The stack of the caller, which is before this one; for the outermost routine the program.
    pub caller: usize,
    /// The innermost routine.
    pub routine: usize,
}

/// The samples of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Whether they are of the run before.
    pub is_before: bool,
    /// The CPU's address; `None` for all CPUs without a row of their own.
    pub cpu: Option<u16>,
    /// Samples by call stack.
    pub stacks: Vec<Cell>,
    /// Samples by line of the listings, counted through all of them.
    pub instructions: Vec<Cell>,
    /// Samples by program and state: four times the number of the program, and the number of the state.
    pub states: Vec<Cell>,
}

/// Samples in a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The number of what was sampled.
    pub what: usize,
    /// The column of time.
    pub column: usize,
    /// Samples.
    pub samples: u32,
}

/// The run that the page compares with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// What was measured.
    pub title: String,
    /// Where its raw files were.
    pub directory: String,
    /// Its samples, all CPUs together.
    pub samples: u64,
}

/// A function, instruction by instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The routine.
    pub symbol: String,
    /// The program that it is part of.
    pub module: String,
    /// Samples in it.
    pub samples: u64,
    /// Address of its first byte.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Source lines by samples, the hottest first, if there is debug information.
    pub sources: Vec<(String, u64)>,
    /// Which of these the address of a sample belongs to.
    pub source_of: BTreeMap<u64, usize>,
    /// Its text.
    pub lines: Vec<ListingLine>,
    /// Samples that are not at an instruction of the text, or at one that is not shown.
    pub elsewhere: u64,
}

impl Listing {
    /// How many numbers a listing takes: one for each line, one for samples that are at none of them, and one for each
    /// source line of the summary.
    pub fn numbers(&self) -> usize {
        self.lines.len() + 1 + self.sources.len()
    }

    /// The numbers of an address, counted through these listings: of its line, and of its source line if the summary
    /// has that.
    pub fn numbers_of(listings: &[Self], address: u64) -> Vec<usize> {
        let mut first = 0;
        for listing in listings {
            if address.wrapping_sub(listing.start) < listing.length {
                let source = listing.source_of.get(&address);
                let source = source.map(|source| first + listing.lines.len() + 1 + source);
                let line = first + listing.own_line_of(address);
                return [line].into_iter().chain(source).collect();
            }
            first += listing.numbers();
        }
        Vec::new()
    }

    /// The line of an instruction, or the gap that it is in. An address between instructions is at none.
    fn own_line_of(&self, address: u64) -> usize {
        let begins = |line: &ListingLine| match line {
            ListingLine::Instruction(instruction) => Some(instruction.address),
            ListingLine::Source { .. } | ListingLine::Gap { .. } => None,
        };
        let lines = self.lines.iter();
        let exact = lines.clone().position(|line| begins(line) == Some(address));
        exact.unwrap_or_else(|| {
            let behind = lines.clone().position(|line| begins(line) > Some(address));
            let behind = behind.unwrap_or(self.lines.len());
            let is_gap = |line: &ListingLine| matches!(line, ListingLine::Gap { .. });
            let before = self.lines[..behind].iter().rev();
            let distance = before
                .take_while(|line| begins(line).is_none())
                .position(is_gap);
            distance.map_or(self.lines.len(), |distance| behind - 1 - distance)
        })
    }
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListingLine {
    /// From here on the text comes from this source line.
    Source {
        /// File and line.
        place: String,
        /// The text of the line, if its file is still there.
        text: Option<String>,
    },
    /// An instruction.
    Instruction(Instruction),
    /// Instructions without samples, or with few, that are not shown.
    Gap {
        /// How many.
        instructions: usize,
        /// Samples at them.
        samples: u64,
    },
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its bytes in hexadecimal digits.
    pub bytes: String,
    /// Mnemonic and operands.
    pub text: String,
    /// What its relative operand designates.
    pub target: Option<String>,
    /// Samples at its address.
    pub samples: u64,
}

/// Counters of one level, of CPUs or of coprocessor groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterTable {
    /// Whose they are.
    pub title: String,
    /// The headings of the columns.
    pub owners: Vec<String>,
    /// Whether there is a column with the sum of them.
    pub is_summed: bool,
    /// A line for each counter.
    pub rows: Vec<CounterRow>,
    /// Counters without a line, because they count nothing on the model.
    pub silent: usize,
    /// Intervals between readings; 0 if each set was read once.
    pub intervals: usize,
    /// What the reader must know, in sentences.
    pub notes: Vec<String>,
}

/// A counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterRow {
    /// Its set.
    pub set: String,
    /// Its number.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Its last value by owner.
    pub values: Vec<Option<u64>>,
    /// The sum of them.
    pub sum: Option<u64>,
    /// Counts for 1,000 instructions.
    pub per_thousand: Option<f64>,
    /// What was counted from reading to reading, all owners together.
    pub chart: Vec<f64>,
}

/// Figures of one level that follow from its counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Whose they are.
    pub title: String,
    /// The headings of the columns.
    pub owners: Vec<String>,
    /// The figures.
    pub lines: Vec<Figure>,
    /// What the reader must know, in sentences.
    pub notes: Vec<String>,
}

/// A figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// Its formula, in words.
    pub formula: String,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// Its value by owner; `None` where a counter is missing or the divisor is zero.
    pub values: Vec<Option<f64>>,
    /// Its value from reading to reading, all owners together.
    pub chart: Vec<Option<f64>>,
}
