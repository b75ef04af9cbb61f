//! The operator's commands: reads a line of words.
//!
//! Words are separated by blanks, and their case does not matter. The answer to an unknown word lists the words
//! that are allowed in its place, so a person can find a command word by word.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

use arch::bits::bit16;
use core::fmt::{self, Write as _};
use cpumf::{CounterSet, CounterSets};
use per::trace::Trace;

mod change;
mod trace;
mod words;

pub use change::Change;
pub use trace::addresses;
pub use words::{ConsoleWords, LONGEST_WORDS};

/// The answer to HELP.
pub const HELP: &str = "\
HELP          this list
STATUS        what each CPU of the guest is doing
CLOCK         the TOD clock
END           end the guest, and the machine in a disabled wait
AUTH CPU n|ALL COUNTERS BASIC|PROBLEM|CRYPTO|EXTENDED|MT|GROUP ON|OFF
              authorize a counter set of the guest, or take it away
AUTH CPU n|ALL SAMPLING BASIC|DIAGNOSTIC ON|OFF
              the same for a sampling function
ALERT CPU n|ALL SAMPLES
              lose sample data of the guest
ALERT CPU n|ALL COUNTERS BASIC|PROBLEM|CRYPTO|EXTENDED|MT
              lose counter data of the guest
INTERRUPT CPU n|ALL
              press the interrupt key
AUTH MACHINE ..., ALERT MACHINE ...
              the same at the machine's own level, where HIS measures
F HIS,BEGIN|END|SERVICE,...
              begin or end a collection run of HIS, or change how it samples
CLASSES n[,n...]|ALL
              monitor classes that the ZOS counter set of HIS counts
SUBTYPES 1|2|ALL
              subtypes of the SMF records of type 113 that HIS writes, from its next collection run on
PER BRANCH|FETCH|STORE [DATA xx]|REG n[,n]|ALL [RANGE a-b] [COUNT|TRACE|STOP]
              trace events of the guest; addresses are hexadecimal and virtual, a.n is n bytes from a on
PER OFF n|ALL end the trace with this number, or all
PER           show the traces, and how many events each has had
HOLD AT text  stop the guest when it has written this text on its console, as it stands here; HOLD OFF forgets it
COUNT AT text count executions from when the guest has written this text, in a run that can; it is awaited instead of HOLD's
GO            let the guest go on that a trace or a text has stopped
SHOW PSW|REGISTERS|CONTROLS|STORAGE a[-b]
              show the CPU that a trace has stopped, and storage as its addresses designate it
D HIS         show HIS and its collection run
P HIS, S HIS  stop HIS, which ends its collection run and all profilers; start it again
DD NAME TEXT  add a line to the parameter file NAME of HIS (DDNAME=NAME); DD NAME empties it
";

/// CPUs of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// The CPU with this address.
    One(u16),
    /// All CPUs.
    All,
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// An empty line.
    Nothing,
    /// List the commands.
    Help,
    /// Show the state of each CPU.
    Status,
    /// Show the TOD clock.
    Clock,
    /// End the guest.
    End,
    /// Change something at CPUs of the guest.
    Change(Cpus, Change),
    /// Change something at the machine's own level, for all CPUs.
    ChangeBelow(Change),
    /// The ZOS counter set of HIS counts these monitor classes, as control register 8 has them in bits 48-63.
    Classes(u16),
    /// HIS writes SMF records of this subtype only, or of both.
    Subtypes(Option<u8>),
    /// Begin a trace of the guest's program events.
    Trace(Trace),
    /// End the trace with this number, or all.
    EndTraces(Option<u8>),
    /// Show the traces.
    Traces,
    /// Stop the guest when it has written these words on its console; none forgets them.
    HoldAt(Option<ConsoleWords>),
    /// Begin to count executions when the guest has written these words on its console.
    CountAt(ConsoleWords),
    /// Resume the guest that a trace or words on its console have stopped.
    Go,
    /// Show registers or storage of the CPU that a trace has stopped.
    Show(Shown),
}

/// What SHOW shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The PSW.
    Psw,
    /// The general registers.
    Registers,
    /// The control registers.
    Controls,
    /// Storage from the first of these virtual addresses to the last.
    Storage(u64, u64),
}

/// A wrong or missing word, and the words that are allowed in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misunderstood<'a> {
    /// The word, if there is one.
    pub found: Option<&'a str>,
    /// The allowed words; none if the line should have ended.
    pub understood: &'static [&'static str],
}

impl fmt::Display for Misunderstood<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some(word) => {
                // The line may have control characters, and the answer goes to a person's screen.
                let shown = |c: char| if c.is_control() { '?' } else { c };
                word.chars().try_for_each(|c| f.write_char(shown(c)))?;
                f.write_str(" is not understood here; ")?;
            }
            None => write!(f, "a word is missing; ")?,
        }
        match self.understood {
            [] => write!(f, "the command ends before it"),
            [first, rest @ ..] => {
                write!(f, "these are: {first}")?;
                rest.iter().try_for_each(|word| write!(f, ", {word}"))
            }
        }
    }
}

/// The words of the line, in order.
struct Words<'a>(core::iter::Peekable<core::str::SplitAsciiWhitespace<'a>>);

impl<'a> Words<'a> {
    /// The next word, which must be one of these; returns its index.
    fn one_of(&mut self, understood: &'static [&'static str]) -> Result<usize, Misunderstood<'a>> {
        let found = self.0.next();
        let place = found.and_then(|word| {
            understood
                .iter()
                .position(|known| known.eq_ignore_ascii_case(word))
        });
        place.ok_or(Misunderstood { found, understood })
    }

    /// The next word: MACHINE, or CPU with the word after it.
    fn level(&mut self) -> Result<Option<Cpus>, Misunderstood<'a>> {
        match self.one_of(&["CPU", "MACHINE"])? {
            0 => self.addresses().map(Some),
            _ => Ok(None),
        }
    }

    /// The next two words: CPU, and the CPUs.
    fn cpus(&mut self) -> Result<Cpus, Misunderstood<'a>> {
        self.one_of(&["CPU"])?;
        self.addresses()
    }

    /// The next word: the CPUs.
    fn addresses(&mut self) -> Result<Cpus, Misunderstood<'a>> {
        let found = self.0.next();
        match found {
            Some(word) if word.eq_ignore_ascii_case("ALL") => Ok(Cpus::All),
            _ => found
                .and_then(|word| word.parse().ok())
                .map(Cpus::One)
                .ok_or(Misunderstood {
                    found,
                    understood: &["the address of a CPU", "ALL"],
                }),
        }
    }

    /// The next word: monitor classes.
    fn classes(&mut self) -> Result<u16, Misunderstood<'a>> {
        let found = self.0.next();
        let class = |word: &str| {
            let class = word.parse().ok().filter(|&class| class < 16)?;
            Some(bit16(class))
        };
        found
            .and_then(|word| {
                if word.eq_ignore_ascii_case("ALL") {
                    return Some(u16::MAX);
                }
                word.split(',')
                    .try_fold(0, |classes, word| Some(classes | class(word)?))
            })
            .ok_or(Misunderstood {
                found,
                understood: &["classes 0 to 15 with commas between them", "ALL"],
            })
    }

    /// The next word: subtypes of SMF records.
    fn subtypes(&mut self) -> Result<Option<u8>, Misunderstood<'a>> {
        Ok(match self.one_of(&["1", "2", "ALL"])? {
            0 => Some(1),
            1 => Some(2),
            _ => None,
        })
    }

    /// The next word: ON or OFF.
    fn is_on(&mut self) -> Result<bool, Misunderstood<'a>> {
        Ok(self.one_of(&["ON", "OFF"])? == 0)
    }

    /// The end of the line.
    fn end(&mut self) -> Result<(), Misunderstood<'a>> {
        match self.0.next() {
            None => Ok(()),
            found => Err(Misunderstood {
                found,
                understood: &[],
            }),
        }
    }
}

/// The CPU counter sets in the order of their names here.
const SETS: [CounterSet; 5] = [
    CounterSet::Basic,
    CounterSet::ProblemState,
    CounterSet::CryptoActivity,
    CounterSet::Extended,
    CounterSet::MtDiagnostic,
];

/// Reads a line.
///
/// # Errors
/// [`Misunderstood`]: the first word that is wrong, and the allowed words.
pub fn parse(line: &str) -> Result<Command, Misunderstood<'_>> {
    if line.trim().is_empty() {
        return Ok(Command::Nothing);
    }
    let mut words = Words(line.split_ascii_whitespace().peekable());
    let command = match words.one_of(&[
        "HELP",
        "STATUS",
        "CLOCK",
        "END",
        "AUTH",
        "ALERT",
        "INTERRUPT",
        "CLASSES",
        "SUBTYPES",
        "PER",
        "GO",
        "SHOW",
        "HOLD",
        "COUNT",
    ])? {
        0 => Command::Help,
        1 => Command::Status,
        2 => Command::Clock,
        3 => Command::End,
        4 => authorization(&mut words)?,
        5 => loss(&mut words)?,
        6 => Command::Change(words.cpus()?, Change::InterruptKey),
        7 => Command::Classes(words.classes()?),
        8 => Command::Subtypes(words.subtypes()?),
        9 => trace::events(&mut words)?,
        10 => Command::Go,
        11 => Command::Show(trace::shown(&mut words)?),
        12 => return words::held_at(line, &mut words),
        _ => return words::counted_at(line, &mut words),
    };
    words.end()?;
    Ok(command)
}

/// Reads the words after AUTH.
fn authorization<'a>(words: &mut Words<'a>) -> Result<Command, Misunderstood<'a>> {
    let level = words.level()?;
    let change = if words.one_of(&["COUNTERS", "SAMPLING"])? == 0 {
        let known = &["BASIC", "PROBLEM", "CRYPTO", "EXTENDED", "MT", "GROUP"];
        let sets = match SETS.get(words.one_of(known)?) {
            Some(set) => set.bit(),
            None => CounterSets::COPROCESSOR_GROUP,
        };
        Change::Counters(sets, words.is_on()?)
    } else if words.one_of(&["BASIC", "DIAGNOSTIC"])? == 0 {
        Change::BasicSampling(words.is_on()?)
    } else {
        Change::DiagnosticSampling(words.is_on()?)
    };
    Ok(change_at(level, change))
}

const fn change_at(level: Option<Cpus>, change: Change) -> Command {
    match level {
        Some(cpus) => Command::Change(cpus, change),
        None => Command::ChangeBelow(change),
    }
}

/// Reads the words after ALERT.
fn loss<'a>(words: &mut Words<'a>) -> Result<Command, Misunderstood<'a>> {
    let level = words.level()?;
    let change = if words.one_of(&["SAMPLES", "COUNTERS"])? == 0 {
        Change::LoseSampleData
    } else {
        let place = words.one_of(&["BASIC", "PROBLEM", "CRYPTO", "EXTENDED", "MT"])?;
        Change::LoseCounterData(SETS[place])
    };
    Ok(change_at(level, change))
}

#[cfg(test)]
mod tests;
