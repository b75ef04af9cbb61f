//! The answer to DISPLAY HIS: message HIS015I.
//!
//! The order of the lines and the words are those of the published layout, which gives blanks only
//! approximately. The project has chosen what the layout leaves open:
//!
//! * The machine has no address spaces, so the identifier after the name HIS is 0000.
//! * COMPLETION STATUS is IN PROGRESS, SUCCESSFUL, or the reason why the run ended early.
//! * AUTHORIZED is what the service can use: what was authorized at its start or at the last refresh, and has not been
//!   taken away since. MODIFY HIS judges by the same.
//! * The meaning of the columns S and F is not published. Here S shows whether the profiler gets samples,
//!   and F whether it has missed any: Y or N.

use super::calendar::Calendar;
use super::command::{Begin, DataLoss, Interval, OnStateChange};
use super::event::{Events, SampleTypes};
use super::machine::Machine;
use super::registry::{Profiler, Registry};
use super::run::{Completion, Run};
use super::sampling::Setting;
use arch::tod::Tod;
use core::fmt;

/// The data that DISPLAY HIS shows.
#[derive(Clone, Copy, Debug)]
pub struct Display<'a> {
    /// The time of the command.
    pub now: Tod,
    /// Counter first and second version number.
    pub versions: [u16; 2],
    /// The service.
    pub registry: &'a Registry,
    /// The latest run, if there has been one.
    pub run: Option<&'a Run>,
}

impl<'a> Display<'a> {
    /// The data at time `now`.
    pub fn of(
        now: Tod,
        machine: &dyn Machine,
        registry: &'a Registry,
        run: Option<&'a Run>,
    ) -> Self {
        let events = machine.events();
        Self {
            now,
            versions: [events.cfvn, events.csvn],
            registry,
            run,
        }
    }

    fn write_run(&self, f: &mut fmt::Formatter<'_>, run: &Run) -> fmt::Result {
        writeln!(f, "COMMAND: {}", run.command)?;
        write!(f, "START TIME: {}", Calendar::of(run.started))?;
        match run.ended {
            Some(ended) => writeln!(f, "   END TIME: {}", Calendar::of(ended))?,
            None => writeln!(f, "   END TIME:")?,
        }
        match run.completion {
            Completion::Running => writeln!(f, "COMPLETION STATUS: IN PROGRESS")?,
            Completion::Ended | Completion::Elapsed | Completion::GuestEnded => {
                writeln!(f, "COMPLETION STATUS: SUCCESSFUL")?
            }
            Completion::Early(cause) => match cause.his025i() {
                Some(text) => writeln!(f, "COMPLETION STATUS: {text}")?,
                None => writeln!(f, "COMPLETION STATUS: {cause}")?,
            },
        }
        writeln!(f, "FILE PREFIX: {}", run.file_prefix())?;
        writeln!(f, "LOST SAMPLES: {}", run.lost_samples)?;
        let [first, second] = self.versions;
        writeln!(
            f,
            "COUNTER VERSION NUMBER 1: {first}   COUNTER VERSION NUMBER 2: {second}"
        )?;
        writeln!(f, "COMMAND PARAMETER VALUES USED:")?;
        write_parameters(f, run)
    }

    fn write_service(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registry = self.registry;
        if !registry.enabled() {
            return writeln!(f, "HISSERV STATUS: INACTIVE");
        }
        let controls = registry.controls();
        writeln!(f, "HISSERV STATUS: ACTIVE")?;
        writeln!(f, " EVENT")?;
        writeln!(f, "  AUTHORIZED= {}", registry.usable())?;
        writeln!(f, "  ENABLED= {}", registry.counting())?;
        writeln!(f, " SAMPLE")?;
        writeln!(f, "  AUTHORIZED= {}", registry.usable_types())?;
        writeln!(f, "  ENABLED= {}", registry.sampled())?;
        writeln!(f, "  BUFCNT= {} (PAGES/PROCESSOR)", controls.buffers)?;
        writeln!(f, "  SAMPFREQ= {} (SAMPLES/MINUTE)", controls.frequency)?;
        writeln!(f, " PROFILER")?;
        writeln!(
            f,
            "  {:<8}  {:<19}  {:<16}  {:<7}  S F",
            "NAME", "START", "QUERY", "SAMPLE"
        )?;
        registry
            .profilers()
            .try_for_each(|profiler| write_profiler(f, profiler))
    }
}

/// The message, with a line feed after every line.
impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Calendar::of(self.now).time_of_day();
        writeln!(f, "HIS015I {time} DISPLAY HIS")?;
        let active = self.run.is_some_and(Run::running);
        writeln!(f, "HIS 0000 {}", if active { "ACTIVE" } else { "IDLE" })?;
        if let Some(run) = self.run {
            self.write_run(f, run)?;
        }
        self.write_service(f)
    }
}

fn write_parameters(f: &mut fmt::Formatter<'_>, run: &Run) -> fmt::Result {
    let begin = &run.parameters;
    let dd_name = begin.dd_name.as_deref().unwrap_or("");
    writeln!(
        f,
        " TITLE= {}  PATH= {}  DDNAME= {dd_name}",
        begin.title, begin.path
    )?;
    match begin.duration {
        Some(minutes) => write!(f, " DURATION= {minutes} (MINUTES)")?,
        None => write!(f, " DURATION= NOLIMIT")?,
    }
    let data_loss = match begin.data_loss {
        DataLoss::Ignore => "IGNORE",
        DataLoss::Stop => "STOP",
    };
    let state_change = match begin.state_change {
        OnStateChange::Save => "SAVE",
        OnStateChange::Stop => "STOP",
        OnStateChange::Ignore => "IGNORE",
    };
    writeln!(f, "  DATALOSS= {data_loss}  STATECHANGE= {state_change}")?;
    write_sampling(f, begin)?;
    write_counters(f, begin, run.events)?;
    write_map(f, begin)
}

fn write_sampling(f: &mut fmt::Formatter<'_>, begin: &Begin) -> fmt::Result {
    let sampling = &begin.sampling;
    write!(f, " SMP={}  BUFCNT= ", yes(begin.samples))?;
    write_setting(f, sampling.buffers, " (PAGES/PROCESSOR)")?;
    write!(f, "  SAMPTYPE= ")?;
    write_setting::<SampleTypes>(f, sampling.types, "")?;
    write!(f, "  SAMPFREQ= ")?;
    write_setting(f, sampling.frequency, " (SAMPLES/MINUTE)")?;
    writeln!(f)
}

fn write_setting<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    setting: Setting<T>,
    unit: &str,
) -> fmt::Result {
    match setting {
        Setting::Default => f.write_str("DEFAULT"),
        Setting::Persist => f.write_str("PERSIST"),
        Setting::Value(value) => write!(f, "{value}{unit}"),
    }
}

fn write_counters(f: &mut fmt::Formatter<'_>, begin: &Begin, events: Events) -> fmt::Result {
    write!(f, " CNT={}", yes(begin.counters))?;
    if begin.counters {
        write!(f, "  COUNTER SET= {events}  CNTINTVAL= ")?;
        match begin.interval {
            Interval::Minutes(minutes) => write!(f, "{minutes}")?,
            Interval::Synchronous => f.write_str("SYNC")?,
        }
        write!(f, "  CNTFILE={}", yes(begin.counter_file))?;
    }
    writeln!(f)
}

fn write_map(f: &mut fmt::Formatter<'_>, begin: &Begin) -> fmt::Result {
    write!(f, " MAP={}", yes(begin.map))?;
    if begin.map {
        write!(f, "  MAPASID= ")?;
        if begin.map_address_spaces.is_empty() {
            f.write_str("ALL")?;
        }
        for (place, number) in begin.map_address_spaces.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}{number:04X}")?;
        }
        write!(f, "  MAPJOB= ")?;
        for (place, name) in begin.map_jobs.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}{name}")?;
        }
    }
    writeln!(f)
}

fn write_profiler(f: &mut fmt::Formatter<'_>, profiler: &Profiler) -> fmt::Result {
    let between = profiler.between_queries();
    let seconds = between / 1_000_000;
    writeln!(
        f,
        "  {:<8}  {}  +{:02}:{:02}:{:02}:{:06}  +{:06}  {} {}",
        profiler.registration.name,
        Calendar::of(profiler.started),
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        between % 1_000_000,
        profiler.per_block(),
        letter(profiler.registration.samples),
        letter(profiler.missed > 0),
    )
}

const fn yes(it_is: bool) -> &'static str {
    if it_is { "YES" } else { "NO" }
}

const fn letter(it_is: bool) -> char {
    if it_is { 'Y' } else { 'N' }
}
