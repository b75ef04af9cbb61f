//! What a run took: instructions in all and by symbol, in problem state and in supervisor state apart.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    ops::Range,
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use cpumf::{CounterSet, sampling::block::BasicEntry};
use link::{data::Level, state::Mode};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{EVERY, programs::Routines};
use crate::{
    building::build,
    computer::{input_file, progress::Progress},
    counts::Counts,
    formats::counters::counter_name,
    linux::{self, LinuxOptions, cache::Cache, exec::Program, packages, screen::Instructions},
    machine::{qemu::Qemu, run},
    numbers::{
        hexadecimal,
        quantities::{Rtc, Sampling},
    },
    options::{RunOptions, count::Counted},
    profile::{Profile, model},
    report::Report,
    symbols::{linux::LinuxNames, names::Names},
};

/// The clock of every run that is compared with another one begins here, unless the person says when.
const DATE: &str = "2026-01-01T00:00:00";

/// The names of the kernel's threads, which work for every process and are not counted with one.
const KERNEL_THREAD: &str = "kworker/";

/// Bytes of a process's name that the kernel keeps.
const LONGEST_NAME: usize = 15;

/// The counters that the model of caches counts.
const MODELLED: Range<u16> = 2..6;

/// The counters of instructions: in all, and in problem state.
const INSTRUCTIONS: u16 = 1;
const USER_INSTRUCTIONS: u16 = 33;

/// What is measured.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A guest.
    Guest(Box<RunOptions>),
    /// A command in Linux, with the boot.
    Linux(Box<LinuxOptions>),
    /// A program in Linux, without the boot.
    Program(Box<Program>, Box<LinuxOptions>),
}

/// One of the two states of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Problem state: the program itself.
    User,
    /// Supervisor state: the kernel.
    Kernel,
}

impl State {
    /// Both.
    pub const ALL: [Self; 2] = [Self::User, Self::Kernel];

    /// That of a sample.
    fn of(entry: &BasicEntry) -> Self {
        match entry.problem_state() {
            true => Self::User,
            false => Self::Kernel,
        }
    }

    /// Its name in the baseline and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
        }
    }
}

/// Instructions in one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// In all: counted.
    pub total: u64,
    /// By symbol.
    pub symbols: BTreeMap<String, Share>,
}

/// What a symbol took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub struct Share {
    /// Instructions: counted, or samples times their interval.
    pub instructions: u64,
    /// Zero if they were counted; else in how many pieces these samples came: sequences that no sample of anything else interrupts. One piece cannot be wrong by more
    /// than a sample, and many short ones are a matter of chance.
    pub pieces: u64,
}

/// As the file has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Counted(u64),
    Sampled([u64; 2]),
}

impl From<Written> for Share {
    fn from(written: Written) -> Self {
        match written {
            Written::Counted(instructions) => [instructions, 0].into(),
            Written::Sampled(both) => both.into(),
        }
    }
}

impl From<[u64; 2]> for Share {
    fn from([instructions, pieces]: [u64; 2]) -> Self {
        Self {
            instructions,
            pieces,
        }
    }
}

/// What a run took, and under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// What was run, as a command line.
    pub command: String,
    /// Everything else that decides the numbers, by name.
    pub conditions: BTreeMap<String, String>,
    /// Instructions from one sample to the next, or [`EVERY`].
    pub interval: u64,
    /// Instructions that could not be counted, where every one was to be: it is not known in which symbol they were.
    pub unmatched: u64,
    /// In problem state.
    pub user: Taken,
    /// In supervisor state.
    pub kernel: Taken,
    /// Counters of the model of caches, if there is one.
    pub counters: BTreeMap<String, u64>,
}

impl Measured {
    /// What was taken in this state.
    pub const fn taken(&self, state: State) -> &Taken {
        match state {
            State::User => &self.user,
            State::Kernel => &self.kernel,
        }
    }

    pub(super) fn taken_mut(&mut self, state: State) -> &mut Taken {
        match state {
            State::User => &mut self.user,
            State::Kernel => &mut self.kernel,
        }
    }

    /// Counts what has a name: instructions, or samples.
    fn count(
        &mut self,
        profile: &Profile,
        name: impl Fn(&BasicEntry) -> Option<String>,
    ) -> Result<()> {
        if self.interval == EVERY {
            self.count_instructions(profile, name)
        } else {
            self.count_samples(profile, name)
        }
    }

    fn count_instructions(
        &mut self,
        profile: &Profile,
        name: impl Fn(&BasicEntry) -> Option<String>,
    ) -> Result<()> {
        let record = profile.record.as_ref();
        let record = record.context("the run has left no record")?;
        let counts = Counts::read(&profile.directory, record)?;
        let counts =
            counts.context("the run was to count all executions, and no counts arrived")?;
        for (instruction, executed) in &counts.executed {
            let entry = instruction.sample();
            if let Some(name) = name(&entry) {
                let symbols = &mut self.taken_mut(State::of(&entry)).symbols;
                symbols.entry(name).or_default().instructions += executed.instructions;
            }
        }
        self.unmatched = counts.unmatched();
        Ok(())
    }

    fn count_samples(
        &mut self,
        profile: &Profile,
        name: impl Fn(&BasicEntry) -> Option<String>,
    ) -> Result<()> {
        let interval = self.interval;
        let mut samples = profile.samples();
        let mut before = None;
        for sample in samples.by_ref() {
            let sample = sample?;
            let entry = sample.entry;
            let state = State::of(&entry);
            let name = if entry.wait() { None } else { name(&entry) };
            let here = name.map(|name| (sample.cpu, state, name));
            if let Some((_, _, name)) = &here {
                let symbols = &mut self.taken_mut(state).symbols;
                let share = symbols.entry(name.clone()).or_default();
                share.instructions += interval;
                share.pieces += u64::from(here != before);
            }
            before = here;
        }
        let found = samples.found();
        let not_kept = profile
            .record
            .as_ref()
            .map_or(0, |record| record.link.not_kept.frames);
        ensure!(
            found.malformed == 0 && found.overflow == 0 && not_kept == 0,
            "not all samples arrived: {} samples are lost, {} blocks are damaged, {not_kept} were not kept; give the run room (TMPDIR names a directory on another disk, --data-limit its share), or choose a longer --interval",
            found.overflow,
            found.malformed,
        );
        Ok(())
    }
}

/// A run that is about to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Measuring<'a> {
    /// What is run.
    pub subject: &'a Subject,
    /// Instructions from one sample to the next, or [`EVERY`].
    pub interval: u64,
    /// Where the raw files go.
    pub directory: &'a Path,
}

impl Measuring<'_> {
    /// Runs the subject. `accept` gets the command and the conditions before that, and may refuse them.
    pub fn measure(
        &self,
        progress: &Progress,
        accept: impl FnOnce(&Measured) -> Result<()>,
    ) -> Result<Measured> {
        let Self {
            subject,
            interval,
            directory,
        } = *self;
        let (mut options, command) = match subject {
            Subject::Guest(run) => ((**run).clone(), guest_command(run)),
            Subject::Linux(linux) => (linux.run.clone(), linux_command(linux)),
            Subject::Program(program, linux) => (linux.run.clone(), program_command(program)),
        };
        ensure!(
            options.mode == Mode::Exact,
            "only a run in exact mode has the same numbers each time; leave out --real-time and the devices of the host"
        );
        ensure!(
            !options.asks_his(),
            "HIS would take the samples that `check` needs; leave out its commands"
        );
        if interval == EVERY {
            // Samples are needed for the names alone.
            options.count = Some(Counted::default());
            options.sampling = Sampling::default();
        } else {
            options.sampling = Sampling::Every(interval);
        }
        if options.rtc == Rtc::Now {
            options.rtc = DATE.parse().unwrap_or(Rtc::Now);
        }
        options.out = Some(directory.to_owned());
        options.keeps_files = false;
        let mut measured = Measured {
            command,
            interval,
            ..Measured::default()
        };
        measured.conditions = conditions(subject, &options, progress)?;
        accept(&measured)?;
        match subject {
            Subject::Guest(_) => self.guest(&options, &mut measured, progress)?,
            Subject::Linux(linux) => {
                let linux = LinuxOptions {
                    run: options,
                    ..(**linux).clone()
                };
                self.linux(&linux, &mut measured, progress)?;
            }
            Subject::Program(program, linux) => {
                let linux = LinuxOptions {
                    run: options,
                    ..(**linux).clone()
                };
                self.program(program, linux, &mut measured, progress)?;
            }
        }
        Ok(measured)
    }

    fn guest(
        &self,
        options: &RunOptions,
        measured: &mut Measured,
        progress: &Progress,
    ) -> Result<()> {
        let outcome = run::run(options, progress)?;
        ensure!(
            outcome.end.exit_code() == 0,
            "{}, so its numbers are not compared",
            outcome.end.sentence()
        );
        of_counters(measured, &outcome.report)?;
        self.whole_run(measured)
    }

    fn linux(
        &self,
        options: &LinuxOptions,
        measured: &mut Measured,
        progress: &Progress,
    ) -> Result<()> {
        let outcome = ended(linux::run(options, progress, &mut io::sink())?)?;
        of_counters(measured, &outcome.run.report)?;
        self.whole_run(measured)
    }

    /// All samples of a run, by the names that its report has.
    fn whole_run(&self, measured: &mut Measured) -> Result<()> {
        let profile = Profile::open(self.directory)?;
        measured.count(&profile, |entry| {
            Some(profile.names.line(entry).symbol.into_owned())
        })
    }

    fn program(
        &self,
        program: &Program,
        options: LinuxOptions,
        measured: &mut Measured,
        progress: &Progress,
    ) -> Result<()> {
        let options = program.options(options, progress)?;
        let mut output = Vec::new();
        let outcome = linux::run(&options, progress, &mut output)?;
        let outcome = ended(outcome).inspect_err(|_| {
            // What the program says about it.
            let _ = io::stderr().write_all(&output);
        })?;
        let counted = outcome.counts.context(
            "the guest's kernel does not count instructions; choose another one with --kernel or --release",
        )?;
        measured.user.total = counted.user;
        measured.kernel.total = counted.kernel;
        of_program(measured, program, self.directory)
    }
}

/// A command in Linux that has succeeded.
fn ended(outcome: linux::LinuxOutcome) -> Result<linux::LinuxOutcome> {
    if let Some(complaint) = outcome.complaint() {
        bail!("{complaint}");
    }
    let code = outcome.exit_code();
    ensure!(
        code == 0,
        "the command ended with the exit code {code}, so its numbers are not compared"
    );
    Ok(outcome)
}

/// A counter of a run: the sum over its CPUs.
fn counter(report: &Report, set: CounterSet, number: u16) -> Option<u64> {
    let code = u16::from(set.code());
    let sets = report
        .counters
        .iter()
        .filter(|values| values.level == Level::Machine && values.set == code && values.authorized);
    let mut values = sets.filter_map(|values| {
        let place = usize::from(number.checked_sub(values.first)?);
        values.values.get(place).copied()
    });
    let first = values.next()?;
    Some(values.fold(first, u64::wrapping_add))
}

/// The instructions of a whole run, if they were counted.
pub fn totals(report: &Report) -> Option<Instructions> {
    let all = counter(report, CounterSet::Basic, INSTRUCTIONS)?;
    let user = counter(report, CounterSet::ProblemState, USER_INSTRUCTIONS)?;
    Some(Instructions {
        user,
        kernel: all.saturating_sub(user),
    })
}

/// The totals of a whole run, and the counters of the model of caches.
fn of_counters(measured: &mut Measured, report: &Report) -> Result<()> {
    let totals = totals(report).context(
        "`check` needs the basic and the problem-state counter set; leave out --counters",
    )?;
    measured.user.total = totals.user;
    measured.kernel.total = totals.kernel;
    if report.record.exact_caches.is_some() {
        let started = report.record.started.as_ref();
        let model = model(started.map_or("", |started| &started.machine_type));
        let counters = MODELLED.filter_map(|number| {
            let value = counter(report, CounterSet::Basic, number)?;
            Some((counter_name(model, number), value))
        });
        measured.counters = counters.collect();
    }
    Ok(())
}

/// The samples of a program's processes.
fn of_program(measured: &mut Measured, program: &Program, directory: &Path) -> Result<()> {
    let routines = Routines::read(&program.file)?;
    let profile = Profile::open(directory)?;
    let Names::Linux(names) = &profile.names else {
        bail!("the guest is not Linux");
    };
    let processes = processes(names, &program.file);
    ensure!(
        !processes.is_empty(),
        "the guest did not say which process was the program's"
    );
    measured.count(&profile, |entry| {
        let (pid, _) = names.owner(entry.guest_program_parameter.get());
        let is_same = *processes.get(&pid)?;
        Some(match (entry.problem_state(), is_same) {
            (true, true) => routines.name(entry.instruction_address.get()).to_owned(),
            (true, false) => format!("({})", names.line(entry).0),
            (false, _) => names.line(entry).0.into_owned(),
        })
    })
}

/// The program's processes by their numbers, and whether each performs the program's file. A thread has the name of the one that
/// began it, so one that a thread with a name of its own began counts as another program.
fn processes(names: &LinuxNames, file: &Path) -> BTreeMap<u32, bool> {
    let name = file_name(file);
    let in_kernel = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    let in_kernel = in_kernel.take_while(|at| *at <= LONGEST_NAME).last();
    let in_kernel = &name[..in_kernel.unwrap_or(0)];
    let since = names.since(&name);
    since
        .filter(|(_, other)| !other.starts_with(KERNEL_THREAD))
        .map(|(pid, other)| (pid, other == name || other == in_kernel))
        .collect()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The name of a program without the digits by which Cargo tells its builds apart.
fn stable_name(path: &Path) -> String {
    let name = file_name(path);
    match name.rsplit_once('-') {
        Some((stem, digits))
            if digits.len() == 16 && digits.bytes().all(|c| c.is_ascii_hexdigit()) =>
        {
            stem.to_owned()
        }
        _ => name,
    }
}

fn program_command(program: &Program) -> String {
    let name = stable_name(&program.file);
    let words = ["exec".to_owned(), name].into_iter();
    let words: Vec<String> = words.chain(program.arguments.iter().cloned()).collect();
    words.join(" ")
}

fn guest_command(run: &RunOptions) -> String {
    let name = stable_name(Path::new(&run.guest));
    let words = ["run", &name, &run.arguments];
    words.join(" ").trim_end().to_owned()
}

fn linux_command(linux: &LinuxOptions) -> String {
    let script = linux.script.as_deref().map(file_name);
    let words = ["linux".to_owned()].into_iter().chain(script);
    let words: Vec<String> = words.chain(linux.command.iter().cloned()).collect();
    words.join(" ")
}

/// Everything but the subject that decides the numbers.
fn conditions(
    subject: &Subject,
    options: &RunOptions,
    progress: &Progress,
) -> Result<BTreeMap<String, String>> {
    let mut conditions = BTreeMap::new();
    let mut note = |name: &str, value: String| conditions.insert(name.to_owned(), value);
    let qemu = run::ready(options, progress)?;
    note("qemu", version(&qemu));
    note("image", digest(&build::build_image(progress)?)?);
    let words = [
        options.configuration.words(),
        vec![
            format!("{} of storage", options.storage),
            format!("CPU model {}", options.cpu_model),
            format!("date {}", options.rtc),
        ],
        options
            .cpus
            .map(|cpus| format!("CPUs: {cpus}"))
            .into_iter()
            .collect(),
        options
            .exact_caches
            .map(|geometry| format!("caches {geometry}"))
            .into_iter()
            .collect(),
        [
            (options.cryptography, "cryptography"),
            (options.strict, "strict"),
        ]
        .iter()
        .filter(|(is_chosen, _)| *is_chosen)
        .map(|(_, word)| (*word).to_owned())
        .collect(),
        options.operator.clone(),
    ];
    note("options", words.concat().join(", "));
    let linux = match subject {
        Subject::Guest(_) => None,
        Subject::Linux(linux) | Subject::Program(_, linux) => Some(linux),
    };
    if let Subject::Program(program, _) = subject {
        note("environment", program.deciding_variables()?);
    }
    if let Some(linux) = linux {
        let kernel = match &linux.kernel {
            Some(file) => digest(file)?,
            None => {
                let kernel = packages::kernel(&Cache::of_user()?, linux.release, progress)?;
                format!("Debian {}, {}", linux.release, digest(&kernel.image)?)
            }
        };
        note("kernel", kernel);
        if let Some(more) = &linux.append {
            note("append", more.clone());
        }
        if let Some(initrd) = &linux.initrd {
            note("initrd", digest(initrd)?);
        }
    }
    Ok(conditions)
}

fn version(qemu: &Qemu) -> String {
    let (major, minor, patch) = qemu.version;
    format!("{major}.{minor}.{patch}")
}

/// The beginning of the SHA-256 of a file.
fn digest(file: &Path) -> Result<String> {
    let data = input_file::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(hexadecimal(&Sha256::digest(&data)[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_keeps_its_name_when_cargo_builds_it_anew() {
        let name = |path: &str| stable_name(Path::new(path));
        assert_eq!(name("target/deps/sum-0123456789abcdef"), "sum");
        assert_eq!(name("target/release/sum-it"), "sum-it");
        assert_eq!(name("sum"), "sum");
    }
}
