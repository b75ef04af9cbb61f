//! The messages to the operator.
//!
//! The identifiers beginning with MMH are the project's own. HIS025I is the published message, and occurs
//! only with the published failure texts.

use super::calendar::Calendar;
use super::command::{Name, Refused};
use super::event::{Events, SampleTypes, ZOS_COUNTERS};
use super::reason::Reason;
use super::run::{Cause, Completion, Run};
use super::sampling::SamplingControls;
use arch::tod::Tod;
use core::fmt;

/// A message.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// The command is wrong; with the DD name if the command names a parameter file.
    Refused(Refused<'a>, Option<Name>),
    /// MMH101E: a run has been active since this time.
    RunGoesOn(Tod),
    /// MMH102E: no run is active.
    NoRun,
    /// MMH103E: there is no such parameter file.
    NoFile(Name),
    /// MMH104E: event types that cannot be used, and those that can.
    Events {
        /// The event types in the command.
        asked: Events,
        /// What can be used.
        usable: Events,
        /// What can be used after a refresh besides.
        refresh: Events,
    },
    /// MMH105E: a sample type that cannot be used, and those that can.
    SampleTypes {
        /// The sample types in the command.
        asked: SampleTypes,
        /// What can be used.
        usable: SampleTypes,
        /// What can be used after a refresh besides.
        refresh: SampleTypes,
    },
    /// MMH106E: a frequency that the machine does not have, and its least and greatest.
    Frequency(u32, u32, u32),
    /// MMH107E: a number of buffers that a CPU does not have, and the most that it has.
    Buffers(u16, u16),
    /// MMH108E: the service cannot be used, or has refused.
    Service(Reason),
    /// MMH109E: a run began in this second, so the files of both would have the same names.
    SameSecond(Tod),
    /// MMH110I: the run has begun.
    Begun(&'a Run),
    /// MMH111I: the run has ended.
    Ended(&'a Run),
    /// HIS025I or MMH112I: the run ends early.
    Early(Cause),
    /// MMH113I: the run continues with the next set of files.
    NextFiles(&'a Run),
    /// MMH114I: the sampling controls are these.
    Controls(SamplingControls),
    /// MMH115I: the service has been refreshed, and these can be used.
    Refreshed(Events, SampleTypes),
    /// MMH116I: HIS has started.
    Started,
    /// MMH117I: HIS has stopped.
    Stopped,
    /// MMH118E: HIS is active already.
    IsActive,
    /// MMH119E: HIS is inactive.
    IsInactive,
    /// MMH120I: the ended run has not counted so many monitor calls, as their codes have no counter.
    Dropped(u64),
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused, None) => write!(f, "{refused}"),
            Self::Refused(refused, Some(name)) => {
                write!(f, "{refused} (with the parameters of DDNAME={name})")
            }
            Self::RunGoesOn(since) => write!(
                f,
                "MMH101E a collection run has been active since {}; allowed: END, SERVICE",
                Calendar::of(*since)
            ),
            Self::NoRun => {
                f.write_str("MMH102E no collection run is active; allowed: BEGIN, SERVICE")
            }
            Self::NoFile(name) => write!(
                f,
                "MMH103E DDNAME={name} cannot be read; allowed: a parameter file of at most {} bytes",
                super::machine::LONGEST_FILE
            ),
            Self::Events {
                asked,
                usable,
                refresh,
            } => {
                write!(
                    f,
                    "MMH104E CTRSET={asked} is not authorized; allowed: {usable}"
                )?;
                after_refresh(f, refresh, refresh.is_empty())
            }
            Self::SampleTypes {
                asked,
                usable,
                refresh,
            } => {
                f.write_str("MMH105E SAMPTYPE=")?;
                if asked.is_empty() {
                    write!(
                        f,
                        "NONE, which persists, gives no samples; allowed: {usable}, SMP=NO"
                    )?;
                } else {
                    write!(f, "{asked} is not authorized; allowed: {usable}")?;
                }
                after_refresh(f, refresh, refresh.is_empty())
            }
            Self::Frequency(asked, least, most) => write!(
                f,
                "MMH106E SAMPFREQ={asked} is not possible on this machine; allowed: {least} to {most} samples a minute"
            ),
            Self::Buffers(asked, most) => write!(
                f,
                "MMH107E BUFCNT={asked} is not possible on this machine; allowed: 1 to {most} pages for each processor"
            ),
            Self::Service(reason) => {
                write!(f, "MMH108E {reason}, reason code {:04X}", reason.code())
            }
            Self::SameSecond(began) => write!(
                f,
                "MMH109E a collection run began in this second, and its files are {}*; allowed: BEGIN in the next second",
                Calendar::of(*began).file_prefix()
            ),
            Self::Begun(run) => write!(
                f,
                "MMH110I a collection run has begun, its files are {}*",
                run.file_prefix()
            ),
            Self::Ended(run) => {
                let why = match run.completion {
                    Completion::Elapsed => ", DURATION has passed",
                    Completion::GuestEnded => " with the guest",
                    _ => "",
                };
                write!(
                    f,
                    "MMH111I the collection run has ended{why}, {} samples were lost",
                    run.lost_samples
                )
            }
            Self::Early(cause) => match cause.his025i() {
                Some(text) => write!(f, "HIS025I DATA COLLECTION IS PREMATURELY ENDING. {text}"),
                None => write!(f, "MMH112I the collection run ends early: {cause}"),
            },
            Self::NextFiles(run) => write!(
                f,
                "MMH113I the state has changed, the files are now {}{:03}.*",
                run.file_prefix(),
                run.files
            ),
            Self::Controls(controls) => write!(
                f,
                "MMH114I SAMPTYPE={} SAMPFREQ={} BUFCNT={}",
                controls.types, controls.frequency, controls.buffers
            ),
            Self::Refreshed(events, types) => {
                write!(
                    f,
                    "MMH115I refreshed, counter sets: {events}, sample types: {types}"
                )
            }
            Self::Started => f.write_str("MMH116I HIS has started"),
            Self::Stopped => f.write_str("MMH117I HIS has stopped"),
            Self::IsActive => {
                f.write_str("MMH118E HIS is active; allowed: MODIFY HIS, DISPLAY HIS, STOP HIS")
            }
            Self::IsInactive => {
                f.write_str("MMH119E HIS is inactive; allowed: START HIS, DISPLAY HIS")
            }
            Self::Dropped(calls) => write!(
                f,
                "MMH120I {calls} monitor calls were dropped, their codes are not below {ZOS_COUNTERS}"
            ),
        }
    }
}

/// What the service uses from the next refresh on.
fn after_refresh(
    f: &mut fmt::Formatter<'_>,
    more: &dyn fmt::Display,
    is_empty: bool,
) -> fmt::Result {
    if is_empty {
        return Ok(());
    }
    write!(f, "; after MODIFY HIS,SERVICE,REFRESH also {more}")
}
