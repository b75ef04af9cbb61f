//! Reads the operator's commands START, STOP, MODIFY and DISPLAY HIS.
//!
//! A command is read whole before it is carried out, so an error in any operand changes nothing. The answer
//! names the keyword, the value and the allowed values.
//!
//! A parameter file (DDNAME) has operands as the command does, on any number of lines; a line that begins
//! with an asterisk is a comment. An operand of the command takes precedence over one of the file. That
//! precedence and the comments are the project's own.

mod begin;
mod keyword;
mod operands;
mod refused;
#[cfg(test)]
mod tests;
mod value;

pub use begin::{Begin, LONGEST_PATH, LONGEST_TITLE};
pub use keyword::Keyword;
pub use refused::{Refused, Shown};
pub use value::{CounterChoice, DataLoss, Interval, MOST_LISTED, Name, OnStateChange, name};

use super::sampling::SamplingParameters;
use begin::take_sampling;
use keyword::{Given, OF_BEGIN, OF_BEGIN_FILE, OF_SERVICE, OF_SERVICE_FILE};
use operands::{Operand, operands};

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
// There is nothing to box it with, and there is one at a time.
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// MODIFY HIS,BEGIN: begin a collection run.
    Begin(Begin),
    /// MODIFY HIS,END: end it.
    End,
    /// MODIFY HIS,SERVICE: new sampling controls for all profilers.
    Service {
        /// The controls in the command.
        sampling: SamplingParameters,
        /// DDNAME: the parameter file with further controls.
        dd_name: Option<Name>,
    },
    /// MODIFY HIS,SERVICE,REFRESH: use what has been authorized since.
    Refresh,
    /// DISPLAY HIS.
    Display,
    /// START HIS: start HIS, after STOP HIS.
    Start,
    /// STOP HIS: end the collection run, and stop HIS.
    Stop,
}

impl Command {
    /// The parameter file that the command names.
    #[must_use]
    pub const fn dd_name(&self) -> Option<&Name> {
        match self {
            Self::Begin(begin) => begin.dd_name.as_ref(),
            Self::Service { dd_name, .. } => dd_name.as_ref(),
            Self::End | Self::Refresh | Self::Display | Self::Start | Self::Stop => None,
        }
    }
}

/// Whether a line begins with the verb of a command to HIS, valid or not.
#[must_use]
pub fn is_command(line: &str) -> bool {
    let verb = line.split_ascii_whitespace().next().unwrap_or("");
    Verb::spelled(verb).is_some()
}

/// The first word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Modify,
    Display,
    Start,
    Stop,
}

impl Verb {
    /// Every spelling, each verb's two in the order of the verbs.
    const SPELLINGS: &[&str] = &["MODIFY", "F", "DISPLAY", "D", "START", "S", "STOP", "P"];

    fn spelled(word: &str) -> Option<Self> {
        let mut known = Self::SPELLINGS.iter();
        let place = known.position(|known| known.eq_ignore_ascii_case(word))?;
        [Self::Modify, Self::Display, Self::Start, Self::Stop]
            .get(place / 2)
            .copied()
    }
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Reads a command.
///
/// # Errors
/// [`Refused`]: the first error.
pub fn parse(line: &str) -> Result<Command, Refused<'_>> {
    read(line, None)
}

/// Reads a command together with the text of the parameter file that it names.
///
/// # Errors
/// [`Refused`]: the first error in the file, or in the two together.
pub fn parse_with_file<'a>(line: &'a str, file: &'a str) -> Result<Command, Refused<'a>> {
    read(line, Some(file))
}

fn read<'a>(line: &'a str, file: Option<&'a str>) -> Result<Command, Refused<'a>> {
    let line = line.trim();
    let (verb, rest) = line
        .split_once(|c: char| c.is_ascii_whitespace())
        .unwrap_or((line, ""));
    let Some(verb) = Verb::spelled(verb) else {
        return Err(Refused::Word {
            found: (!verb.is_empty()).then_some(verb),
            known: Verb::SPELLINGS,
        });
    };
    let mut words = operands(rest);
    match words.next().transpose()? {
        Some(his) if his.keyword.eq_ignore_ascii_case("HIS") && his.value.is_none() => {}
        other => {
            return Err(Refused::Word {
                found: other.map(|operand| operand.keyword),
                known: &["HIS"],
            });
        }
    }
    let alone = match verb {
        Verb::Modify => None,
        Verb::Display => return display(words),
        Verb::Start => Some(Command::Start),
        Verb::Stop => Some(Command::Stop),
    };
    if let Some(command) = alone {
        Operands::new(&[]).all(words, |_, _| Ok(()))?;
        return Ok(command);
    }
    let request = words.next().transpose()?;
    let known = &["BEGIN", "B", "END", "SERVICE"];
    match request {
        Some(Operand {
            keyword,
            value: None,
        }) if is_one_of(keyword, known) => match keyword.as_bytes()[0] {
            b'B' | b'b' => read_begin(words, file),
            b'E' | b'e' => {
                Operands::new(&[]).all(words, |_, _| Ok(()))?;
                Ok(Command::End)
            }
            _ => read_service(words, file),
        },
        other => Err(Refused::Word {
            found: other.map(|operand| operand.keyword),
            known,
        }),
    }
}

/// The operand of DISPLAY HIS: L=, a display area. The machine has one.
fn display<'a>(
    mut words: impl Iterator<Item = Result<Operand<'a>, Refused<'a>>>,
) -> Result<Command, Refused<'a>> {
    let area = words.next().transpose()?;
    let more = words.next().transpose()?;
    let found = match (area, more) {
        (None, _) => return Ok(Command::Display),
        (Some(area), None) if area.keyword.eq_ignore_ascii_case("L") && area.value.is_some() => {
            return Ok(Command::Display);
        }
        (Some(_), Some(more)) => more.keyword,
        (Some(area), None) => area.keyword,
    };
    Err(Refused::Word {
        found: Some(found),
        known: &["L=area"],
    })
}

fn read_begin<'a>(
    words: impl Iterator<Item = Result<Operand<'a>, Refused<'a>>>,
    file: Option<&'a str>,
) -> Result<Command, Refused<'a>> {
    let mut begin = Begin::default();
    let mut of_file = Operands::new(OF_BEGIN_FILE);
    of_file.all(lines(file), |keyword, operand| begin.take(keyword, operand))?;
    let mut own = Operands::new(OF_BEGIN);
    own.all(words, |keyword, operand| begin.take(keyword, operand))?;
    let begin = begin.settle(own.given.union(of_file.given))?;
    Ok(Command::Begin(begin))
}

fn read_service<'a>(
    words: impl Iterator<Item = Result<Operand<'a>, Refused<'a>>>,
    file: Option<&'a str>,
) -> Result<Command, Refused<'a>> {
    let mut sampling = SamplingParameters::default();
    let mut dd_name = None;
    let mut take = |keyword, operand: Operand<'a>| {
        let refused = Refused::Value {
            keyword,
            value: operand.value,
        };
        let taken = match (keyword, operand.value) {
            (Keyword::Refresh, value) => value.is_none().then_some(()),
            (Keyword::DdName, Some(value)) => {
                dd_name = name(value, false);
                dd_name.is_some().then_some(())
            }
            (keyword, Some(value)) => take_sampling(&mut sampling, keyword, value),
            (_, None) => None,
        };
        taken.ok_or(refused)
    };
    Operands::new(OF_SERVICE_FILE).all(lines(file), &mut take)?;
    let mut own = Operands::new(OF_SERVICE);
    own.all(words, &mut take)?;
    if own.given.has(Keyword::Refresh) {
        return match own.given.besides(Keyword::Refresh) {
            Some(other) => Err(Refused::Excluded(other.name(), "REFRESH")),
            None => Ok(Command::Refresh),
        };
    }
    Ok(Command::Service { sampling, dd_name })
}

/// Operands of one place, each at most once.
struct Operands {
    known: &'static [Keyword],
    given: Given,
}

impl Operands {
    fn new(known: &'static [Keyword]) -> Self {
        let given = Given::default();
        Self { known, given }
    }

    fn all<'a>(
        &mut self,
        operands: impl Iterator<Item = Result<Operand<'a>, Refused<'a>>>,
        mut take: impl FnMut(Keyword, Operand<'a>) -> Result<(), Refused<'a>>,
    ) -> Result<(), Refused<'a>> {
        for operand in operands {
            let operand = operand?;
            let keyword = Keyword::spelled(operand.keyword)
                .filter(|keyword| self.known.contains(keyword))
                .ok_or(Refused::Keyword {
                    found: operand.keyword,
                    known: self.known,
                })?;
            if !self.given.note(keyword) {
                return Err(Refused::Twice(keyword));
            }
            take(keyword, operand)?;
        }
        Ok(())
    }
}

/// The operands of a parameter file.
fn lines(file: Option<&str>) -> impl Iterator<Item = Result<Operand<'_>, Refused<'_>>> {
    file.unwrap_or("")
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('*'))
        .flat_map(|line| operands(line.strip_suffix(',').unwrap_or(line)))
}
