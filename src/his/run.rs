//! A collection run: the parameters and the state of HISPROF, the profiler that BEGIN starts.

use super::calendar::{Calendar, FilePrefix, MINUTE};
use super::command::{Begin, Interval};
use super::event::{Events, SampleTypes};
use super::registry::Token;
use arch::tod::Tod;
use core::fmt;
use heapless::String;

/// The name of the profiler that BEGIN starts.
pub const HISPROF: &str = "HISPROF";

/// The longest command that is kept, in bytes: a line of the operator.
pub const LONGEST_COMMAND: usize = 272;

/// Why a run ended early.
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
    /// Its output could not be written.
    NotWritten,
    /// STOP HIS.
    Stopped,
}

impl Cause {
    /// The failure text of HIS025I, if the published text has one.
    #[must_use]
    pub const fn his025i(self) -> Option<&'static str> {
        match self {
            Self::SampleDataLost => Some("SAMPLING BUFFER OVERFLOW OCCURRED"),
            Self::SamplingDeauthorized => Some("SAMPLE FUNCTIONS AUTHORIZATION CONTROL CHANGED"),
            _ => None,
        }
    }
}

/// The project's own words.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SampleDataLost => "sample data was lost and DATALOSS=STOP",
            Self::CounterDataLost => "counter data was lost and DATALOSS=STOP",
            Self::SamplingDeauthorized => "a sample type is no longer authorized",
            Self::CountersDeauthorized => "a counter set is no longer authorized",
            Self::StateChanged => "the state changed and STATECHANGE=STOP",
            Self::NotWritten => "the output could not be written",
            Self::Stopped => "the operator has stopped HIS",
        })
    }
}

/// The state of a run, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It is active.
    Running,
    /// END ended it.
    Ended,
    /// DURATION has passed.
    Elapsed,
    /// The guest has ended.
    GuestEnded,
    /// It ended early.
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
    /// The token of HISPROF, once it is registered.
    pub token: Option<Token>,
    /// When it began.
    pub started: Tod,
    /// When it ended, if it has.
    pub ended: Option<Tod>,
    /// The number of the present set of files.
    pub files: u16,
    /// The number of samples that were lost, for any reason.
    pub lost_samples: u64,
    /// Its state, or how it ended.
    pub completion: Completion,
    /// When the next interval record is due.
    pub(super) interval: Option<Tod>,
    /// Monitor calls that had been dropped when it began.
    pub(super) dropped: u64,
    /// The samples that HISPROF missed and that `lost_samples` includes already.
    pub(super) missed: u64,
}

impl Run {
    /// A run that begins at `now`.
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
            dropped: 0,
            missed: 0,
        };
        run.interval = run.next_interval(now);
        run
    }

    /// Whether it is active.
    #[must_use]
    pub const fn running(&self) -> bool {
        matches!(self.completion, Completion::Running)
    }

    /// The prefix of the names of its files.
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

    /// When the first interval record after `now` is due; `None` if the run records no counters.
    pub(super) fn next_interval(&self, now: Tod) -> Option<Tod> {
        if !self.parameters.counters {
            return None;
        }
        let (span, origin) = match self.parameters.interval {
            Interval::Minutes(minutes) => (u64::from(minutes) * MINUTE, self.started.0),
            Interval::Synchronous => (15 * MINUTE, 0),
        };
        // A run has an interval.
        let passed = now.0.saturating_sub(origin).checked_div(span)?;
        Some(Tod(origin.saturating_add((passed + 1).saturating_mul(span))))
    }
}

/// The command as the files quote it: MODIFY, even if F was typed, and the rest as typed.
fn command(line: &str) -> String<LONGEST_COMMAND> {
    let line = line.trim();
    let rest = line
        .split_once(|c: char| c.is_ascii_whitespace())
        .map_or("", |(_, rest)| rest.trim_start());
    let mut text = String::new();
    let _ = text.push_str("MODIFY ");
    for character in rest.chars() {
        // A longer command is truncated.
        if text.push(character).is_err() {
            break;
        }
    }
    text
}
