//! Everything that the page shows, without its form.
//!
//! All texts here are plain: [`super::render`] escapes them. Texts that came from a file have gone
//! through [`crate::computer::visible::visible`].

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

impl Share {
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
    /// Its hottest source line, as `file:line`, and the samples there.
    pub source: Option<(String, u64)>,
    /// Its place in [`Page::listings`].
    pub listing: Option<usize>,
}

/// Samples by time, symbol and CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeLine {
    /// Columns of each map.
    pub columns: usize,
    /// The rows from top to bottom, the same for every CPU.
    pub rows: Vec<String>,
    /// Whether the last row is for all symbols without a row of their own.
    pub has_others: bool,
    /// A map for each CPU.
    pub cpus: Vec<Map>,
    /// The time at which the first column begins, and at which the last ends.
    pub span: (f64, f64),
    /// The unit of these times.
    pub unit: String,
    /// Where the time of a sample comes from, in sentences.
    pub notes: Vec<String>,
}

/// The samples of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// The CPU's address.
    pub cpu: u16,
    /// Samples, row after row.
    pub cells: Vec<u32>,
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
    /// Its text.
    pub lines: Vec<ListingLine>,
    /// Samples that are not at an instruction of the text, or at one that is not shown.
    pub elsewhere: u64,
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListingLine {
    /// From here on the text comes from this source line.
    Source(String),
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
