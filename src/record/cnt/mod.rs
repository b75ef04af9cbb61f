//! The .CNT file: the counters of a run as text, which is message HIS019I.
//!
//! A heading names the run, the losses, the machine and the counters. The values of each CPU follow, four to
//! a line: how far the counters advanced in the run. The z/OS counter set comes last, with values of its own and
//! without names.
//!
//! The sources give the words of the message and not its blanks. The writer has the blanks of the examples;
//! the reader accepts any number of them ([`parse`]). [`rules`] say which lines a whole file has.

use core::fmt::{self, Write};

use super::{CounterValues, Moment, SetType, text::InLine};

pub mod parse;
pub mod rules;
#[cfg(test)]
mod tests;

pub use parse::{Line, Parser};
pub use rules::Rules;

/// The version of the message that is written.
pub const VERSION: u32 = 4;

/// Counter values in a line.
pub const VALUES: usize = 4;

/// The samples that a run lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleLoss {
    /// A measurement alert reported loss of sample data.
    pub alert: bool,
    /// Samples that were discarded because a block was full.
    pub overflow: u64,
}

/// The names of a set's counters.
#[derive(Clone, Copy, Debug)]
pub struct SetNames<'a> {
    /// The set.
    pub set: SetType,
    /// The names, from its first counter on. The file has them in capital letters.
    pub names: &'a [&'a str],
}

/// The counters of a CPU in the run.
#[derive(Clone, Copy, Debug)]
pub struct CpuCounters<'a> {
    /// CPU address.
    pub cpu: u16,
    /// Cycles per microsecond.
    pub speed: u32,
    /// Beginning of the run: TOD clock, bits 0-63.
    pub start: u64,
    /// Its end; `None` for a CPU that was removed meanwhile.
    pub end: Option<u64>,
    /// How far the counters advanced.
    pub sets: &'a [CounterValues<'a>],
}

/// A .CNT file.
#[derive(Clone, Copy, Debug)]
pub struct CounterFile<'a> {
    /// Its own name.
    pub file_name: &'a str,
    /// The command that began the run.
    pub command: &'a str,
    /// The samples that were lost, if the run took samples.
    pub sample_loss: Option<SampleLoss>,
    /// A measurement alert reported loss of counter data.
    pub counter_loss: bool,
    /// A state change ended the file.
    pub state_change: bool,
    /// Machine type and model.
    pub model: &'a str,
    /// Sequence code of the machine.
    pub sequence_code: &'a str,
    /// Counter first and second version number.
    pub versions: [u16; 2],
    /// How far local time is ahead of the clock, in TOD units.
    pub local: i64,
    /// The sets that were collected.
    pub sets: &'a [SetNames<'a>],
    /// The CPUs.
    pub cpus: &'a [CpuCounters<'a>],
}

/// Yes or no.
struct Answer(bool);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "YES" } else { "NO" })
    }
}

impl CounterFile<'_> {
    /// Writes the whole file.
    ///
    /// # Errors
    /// When `out` is full.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "HIS019I EVENT COUNTERS INFORMATION VERSION {VERSION}")?;
        writeln!(out, "FILE NAME: {}", InLine(self.file_name))?;
        writeln!(out, "COMMAND: {}", InLine(self.command))?;
        if let Some(loss) = self.sample_loss {
            writeln!(
                out,
                "LOSS OF SAMPLE DATA ALERT: {}    SAMPLE BUFFER OVERFLOW COUNT: {}",
                Answer(loss.alert),
                loss.overflow
            )?;
        }
        let lost = Answer(self.counter_loss);
        writeln!(out, "LOSS OF COUNTER DATA ALERT: {lost}")?;
        writeln!(out, "STATE CHANGE: {}", Answer(self.state_change))?;
        let (model, sequence) = (InLine(self.model), InLine(self.sequence_code));
        writeln!(out, "MODEL: {model}  SEQCODE: {sequence}")?;
        let [first, second] = self.versions;
        writeln!(
            out,
            "COUNTER VERSION NUMBER 1: {first}   COUNTER VERSION NUMBER 2: {second}"
        )?;
        let is_software = |set: SetType| set == SetType::ZOS;
        for software in [false, true] {
            let mut sets = self
                .sets
                .iter()
                .filter(|set| is_software(set.set) == software)
                .peekable();
            if sets.peek().is_none() {
                continue;
            }
            for set in sets {
                Self::names(set, out)?;
            }
            for cpu in self.cpus {
                self.interval(cpu, out)?;
                Self::heading(cpu, software, out)?;
                let sets = cpu.sets.iter();
                for set in sets.filter(|set| is_software(set.set) == software) {
                    Self::values(set, out)?;
                }
            }
        }
        Ok(())
    }

    fn names(set: &SetNames<'_>, out: &mut impl Write) -> fmt::Result {
        match set.set.name() {
            Some(name) => writeln!(out, "COUNTER SET= {name}")?,
            None => writeln!(out, "COUNTER SET= {}", set.set.0)?,
        }
        writeln!(out, "COUNTER IDENTIFIERS:")?;
        if set.set == SetType::ZOS {
            return writeln!(out, "SOFTWARE COUNTER INFORMATION NOT AVAILABLE");
        }
        let first = usize::from(set.set.first_counter().unwrap_or(0));
        for (number, name) in (first..).zip(set.names) {
            write!(out, "{number:3}: ")?;
            for character in name.chars().filter(|character| !character.is_control()) {
                out.write_char(character.to_ascii_uppercase())?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn interval(&self, cpu: &CpuCounters<'_>, out: &mut impl Write) -> fmt::Result {
        let local = |tod: u64| Moment::from_tod(tod.wrapping_add_signed(self.local));
        let start = cpu.start;
        writeln!(out, "START TIME: {} START TOD: {start:016X}", local(start))?;
        match cpu.end {
            Some(end) => writeln!(out, "END TIME:   {} END TOD:   {end:016X}", local(end)),
            None => writeln!(out, "END TIME:   NOT AVAILABLE"),
        }
    }

    fn heading(cpu: &CpuCounters<'_>, software: bool, out: &mut impl Write) -> fmt::Result {
        let what = if software {
            "EVENT COUNTERS"
        } else {
            "COUNTER VALUES"
        };
        writeln!(
            out,
            "{what} (HEXADECIMAL) FOR CPU {:02X} (CPU SPEED = {} CYCLES/MIC):",
            cpu.cpu, cpu.speed
        )
    }

    fn values(set: &CounterValues<'_>, out: &mut impl Write) -> fmt::Result {
        let start = usize::from(set.set.first_counter().unwrap_or(0));
        let count = set.counters.len();
        for index in (0..count).step_by(VALUES) {
            let end = count.min(index + VALUES);
            let (first, last) = (start + index, start + end - 1);
            match set.set {
                SetType::ZOS => write!(out, "{first:04}-{last:04}:")?,
                _ => write!(out, "{first:3}-{last:3}")?,
            }
            for value in (index..end).filter_map(|index| set.counters.get(index)) {
                write!(out, " {value:016X}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
