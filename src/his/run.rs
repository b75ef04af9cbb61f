//! A collection run: what HISPROF, the profiler behind BEGIN, has been asked for and how far it is.

use super::calendar::{Calendar, FilePrefix, MINUTE};
use super::command::{Begin, Interval};
use super::event::{Events, SampleTypes};
use super::registry::Token;
use arch::tod::Tod;
use core::fmt;
use heapless::String;

/// The name of the profiler behind BEGIN.
pub const HISPROF: &str = "HISPROF";

/// The longest command that is kept, in bytes: a line of the operator.
pub const LONGEST_COMMAND: usize = 272;

/// Why a run ended before it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// DATALOSS=STOP, and sample data was lost.
    SampleDataLost,
    /// DATALOSS=STOP, and counter data was lost.
    CounterDataLost,
    /// A sample type that it collected is no longer authorized.
    SamplingDeauthorized,
    /// A counter set that it collected is no longer authorized.
    CountersDeauthorized,
    /// STATECHANGE=STOP, and the state has changed.
    StateChanged,
    /// What it collected could not be written.
    NotWritten,
    /// The service was disabled.
    Disabled,
}

impl Cause {
    /// The failure text of HIS025I, where the published text has it.
    #[must_use]
    pub const fn his025i(self) -> Option<&'static str> {
        match self {
            Self::SampleDataLost => Some("SAMPLING BUFFER OVERFLOW OCCURRED"),
            Self::SamplingDeauthorized => Some("SAMPLE FUNCTIONS AUTHORIZATION CONTROL CHANGED"),
            _ => None,
        }
    }
}

/// As the project says it.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SampleDataLost => "sample data was lost and DATALOSS=STOP",
            Self::CounterDataLost => "counter data was lost and DATALOSS=STOP",
            Self::SamplingDeauthorized => "a sample type is no longer authorized",
            Self::CountersDeauthorized => "a counter set is no longer authorized",
            Self::StateChanged => "the state changed and STATECHANGE=STOP",
            Self::NotWritten => "the output could not be written",
            Self::Disabled => "the service was disabled",
        })
    }
}

/// How a run is or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It goes on.
    Running,
    /// END.
    Ended,
    /// DURATION has passed.
    Elapsed,
    /// Something ended it.
    Early(Cause),
}

/// A collection run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The command that began it, from MODIFY on.
    pub command: String<LONGEST_COMMAND>,
    /// Its parameters.
    pub parameters: Begin,
    /// The event types that it records.
    pub events: Events,
    /// The sample types that it writes.
    pub types: SampleTypes,
    /// The token of HISPROF; none before it is registered.
    pub token: Option<Token>,
    /// When it began.
    pub started: Tod,
    /// When it ended, if it has.
    pub ended: Option<Tod>,
    /// The number of the present set of files.
    pub files: u16,
    /// Samples that were lost, on whichever way.
    pub lost_samples: u64,
    /// How it is or ended.
    pub completion: Completion,
    /// When the next interval record is due.
    pub(super) interval: Option<Tod>,
    /// Samples that passed HISPROF by and that are in `lost_samples` already.
    pub(super) missed: u64,
}

impl Run {
    /// A run that begins now.
    pub(super) fn new(line: &str, parameters: Begin, events: Events, now: Tod) -> Self {
        let mut run = Self {
            command: command(line),
            parameters,
            events,
            types: SampleTypes::NONE,
            token: None,
            started: now,
            ended: None,
            files: 0,
            lost_samples: 0,
            completion: Completion::Running,
            interval: None,
            missed: 0,
        };
        run.interval = run.next_interval(now);
        run
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn running(&self) -> bool {
        matches!(self.completion, Completion::Running)
    }

    /// What the names of its files begin with.
    #[must_use]
    pub fn file_prefix(&self) -> FilePrefix {
        Calendar::of(self.started).file_prefix()
    }

    /// When DURATION has passed.
    #[must_use]
    pub fn deadline(&self) -> Option<Tod> {
        let minutes = self.parameters.duration?;
        let span = u64::from(minutes) * MINUTE;
        Some(Tod(self.started.0.saturating_add(span)))
    }

    /// When the first interval record after `now` is due; none if no counters are recorded.
    pub(super) fn next_interval(&self, now: Tod) -> Option<Tod> {
        if !self.parameters.counters {
            return None;
        }
        let (span, origin) = match self.parameters.interval {
            Interval::Minutes(minutes) => (u64::from(minutes) * MINUTE, self.started.0),
            Interval::Synchronous => (15 * MINUTE, 0),
        };
        let passed = now.0.saturating_sub(origin) / span;
        Some(Tod(origin.saturating_add((passed + 1).saturating_mul(span))))
    }
}

/// The command as the files quote it: MODIFY, whatever was typed for it, and the rest as typed.
fn command(line: &str) -> String<LONGEST_COMMAND> {
    let line = line.trim();
    let rest = line
        .split_once(|c: char| c.is_ascii_whitespace())
        .map_or("", |(_, rest)| rest.trim_start());
    let mut text = String::new();
    let _ = text.push_str("MODIFY ");
    for character in rest.chars() {
        // A longer one is cut.
        if text.push(character).is_err() {
            break;
        }
    }
    text
}
