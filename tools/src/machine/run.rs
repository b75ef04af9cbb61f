//! A whole run: build, stage, IPL, collect, report.
//!
//! The command line and the test harness both come through here, so what is tested is what people
//! run.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use link::{loader::LoaderBlock, service::Request, state::Mode};
use sha2::{Digest, Sha256};

use crate::{
    building::{
        build,
        forms::{self, Carried, Form},
        install, lacks, version,
    },
    computer::{
        input_file, interrupt,
        person::{Input, Person},
        progress::Progress,
    },
    events::command,
    folder::{
        self, Claimed,
        record::{End, RunRecord},
    },
    machine::{
        collect::{Above, Collector},
        doctor,
        failure::ImageSymbols,
        guest::Guest,
        hercules::{self, Hercules, Launch},
        log::{self, LogReader, Table},
        monitor::Socket,
        nested::{self, Level},
        objects, parameter_area,
        profiler::{Profiler, Profilers},
        qemu::{Heard, KeptStorage, Qemu, Running, Setup},
        session::{self, Host},
        slot::Slot,
        snapshot::{self, Continued, Starting},
        stage::{self, Stage, Staging},
    },
    numbers::hexadecimal,
    numbers::quantities::{GUEST_STORAGE_LIMIT, Rtc, Sampling, Storage},
    options::{
        RunOptions,
        count::{self, Counted},
        emulator::Emulator,
        judgement::Judgement,
    },
    report::Report,
    symbols::places::PlaceNames,
};

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// How it ended.
    pub end: End,
    /// Samples, counters and totals.
    pub report: Report,
    /// What the guest wrote on its console.
    pub console: String,
    /// What the operator and the machine said to each other.
    pub operator: String,
    /// The machine's log, a message a line.
    pub log: Vec<String>,
    /// What the machine said before the link was open.
    pub boot: String,
    /// When QEMU began.
    pub began: Instant,
    /// How long QEMU ran.
    pub wall: Duration,
    /// What the guest has seen of its own guest, if it is a machine.
    pub above: Option<Box<RunOutcome>>,
}

impl RunOutcome {
    /// The outcome of the run's guest, above all machines.
    pub fn of_guest(&self) -> &Self {
        self.above.as_deref().map_or(self, Self::of_guest)
    }
}

/// Runs a guest above the machine. An error means that nothing could be started; everything that
/// happens afterwards is in [`RunOutcome::end`].
pub fn run(options: &RunOptions, progress: &Progress) -> Result<RunOutcome> {
    run_with(options, progress, None)
}

/// As [`run`], with a person at the console.
pub fn run_with(
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'_>>,
) -> Result<RunOutcome> {
    Guest::check(&options.guest)?;
    nested::check(options)?;
    count::check_guest(options)?;
    if options.below == Emulator::Hercules {
        return run_in_hercules(options, progress, person);
    }
    let qemu = ready(options, progress)?;
    let guest = guest(options, progress)?;
    if options.nested != 0 {
        return run_nested(&qemu, guest, options, progress, person);
    }
    run_guest(&qemu, &guest, options, progress, person, [])
}

/// Runs a guest that has been found above machines that are guests of the machine. A person sees its console.
pub fn run_nested(
    qemu: &Qemu,
    guest: Guest,
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'_>>,
) -> Result<RunOutcome> {
    nested::check(options)?;
    if person.as_ref().is_some_and(|person| person.input.is_some()) {
        bail!(
            "nothing can be typed to a guest above machines above the machine; leave --nested out, or give a command"
        );
    }
    let options = resolved(&dated(options), &guest.names)?;
    let image = build::build_image(progress)?;
    let levels = nested::levels(guest, &image, &options)?;
    let Some((outermost, above)) = levels.split_first() else {
        bail!("a run has at least one level");
    };
    let mut prepared = Prepared::staged(&outermost.guest, &outermost.options, &[], progress)?;
    prepared.above = above;
    let claimed = folder::directory(options.out.as_deref(), &above[above.len() - 1].guest.name)?;
    let profilers = Profilers::default();
    let below = Below::Qemu(qemu);
    prepared.conduct(&below, None, progress, person, profilers, Some(claimed))
}

/// Runs a guest in Hercules.
fn run_in_hercules(
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'_>>,
) -> Result<RunOutcome> {
    let hercules = ready_in_hercules(options, progress)?;
    let guest = guest(options, progress)?;
    run_guest_in_hercules(&hercules, &guest, options, progress, person)
}

/// As [`ready`], for a run in Hercules.
pub fn ready_in_hercules(options: &RunOptions, progress: &Progress) -> Result<Hercules> {
    options.check()?;
    hercules::check(options)?;
    let chosen = options.hercules.as_deref();
    install::provide(|| lacks::in_hercules(chosen), progress)?;
    Hercules::locate(chosen)
}

/// As [`run_guest`], in Hercules.
pub fn run_guest_in_hercules(
    hercules: &Hercules,
    guest: &Guest,
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'_>>,
) -> Result<RunOutcome> {
    let prepared = Prepared::staged(guest, options, &[], progress)?;
    let profilers = Profilers::default();
    prepared.conduct(
        &Below::Hercules(hercules),
        None,
        progress,
        person,
        profilers,
        None,
    )
}

/// As [`run`], with profilers on the host: they and the collection runs of HIS get the samples.
pub fn run_with_profilers(
    options: &RunOptions,
    progress: &Progress,
    profilers: impl IntoIterator<Item = Box<dyn Profiler>>,
) -> Result<RunOutcome> {
    let options = &RunOptions {
        sampling: Sampling::Off,
        ..options.clone()
    };
    Guest::check(&options.guest)?;
    let qemu = ready(options, progress)?;
    let guest = guest(options, progress)?;
    run_guest(&qemu, &guest, options, progress, None, profilers)
}

/// The guest of a run. Before a bundled one the image is built, because `core` is compiled with the first of them, and
/// only the image has other work for a second processor meanwhile.
pub fn guest(options: &RunOptions, progress: &Progress) -> Result<Guest> {
    if build::is_bundled(&options.guest) {
        build::build_image(progress)?;
    }
    let mut guest = Guest::find(&options.guest, progress)?;
    if !options.arguments.is_empty() {
        parameter_area::set_arguments(&mut guest, &options.arguments)?;
    }
    Ok(guest)
}

/// Checks before anything slow begins: the options go together, this computer has what a run needs, and its QEMU
/// works.
pub fn ready(options: &RunOptions, progress: &Progress) -> Result<Qemu> {
    options.check()?;
    doctor::provide(options.qemu.as_deref(), progress)?;
    Qemu::locate(options.qemu.as_deref())
}

/// The options with the addresses of the names in the operator's trace commands, and of what is to be counted.
pub fn resolved(options: &RunOptions, names: &PlaceNames) -> Result<RunOptions> {
    let mut options = options.clone();
    let script = options.script.iter_mut().filter_map(|input| match input {
        Input::Operator(line) => Some(line),
        Input::Console(_) => None,
    });
    let commands = options.operator.iter_mut().chain(&mut options.when_waiting);
    for line in commands.chain(script) {
        *line = command::resolved(line, names)?.line;
    }
    if let Some(count) = &mut options.count {
        count.find(names)?;
    }
    Ok(options)
}

/// Claims the directory of a run: for those who must know it before the run begins.
pub fn claim(options: &RunOptions, guest: &Guest) -> Result<Claimed> {
    folder::directory(options.out.as_deref(), &guest.name)
}

/// Runs a guest that has been found.
pub fn run_guest<'a>(
    qemu: &Qemu,
    guest: &Guest,
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'a>>,
    profilers: impl IntoIterator<Item = Box<dyn Profiler>>,
) -> Result<RunOutcome> {
    run_claimed(qemu, guest, options, progress, person, profilers, None)
}

/// As [`run_guest`], in a directory that is claimed already. It is given back when the run has ended; without one the
/// run claims it itself, after everything that can be wrong with the options has been found.
pub fn run_claimed<'a>(
    qemu: &Qemu,
    guest: &Guest,
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'a>>,
    profilers: impl IntoIterator<Item = Box<dyn Profiler>>,
    claimed: Option<Claimed>,
) -> Result<RunOutcome> {
    options.check_is_plain()?;
    let (profilers, staged) = Profilers::new(profilers)?;
    let options = &dated(options);
    let prepared = Prepared::staged(guest, options, &staged, progress)?;
    prepared.conduct(
        &Below::Qemu(qemu),
        None,
        progress,
        person,
        profilers,
        claimed,
    )
}

/// An exact run that does not choose a date begins at the present second of this computer's clock, and its record has that
/// date, so that it can be repeated.
fn dated(options: &RunOptions) -> RunOptions {
    let mut options = options.clone();
    let is_exact = match options.mode {
        Mode::Exact => true,
        // Its outermost machine is.
        Mode::Native => options.nested != 0,
        Mode::Interactive | Mode::RealTime => false,
    };
    if is_exact && options.rtc == Rtc::Now {
        options.rtc = Rtc::this_second();
    }
    options
}

/// The identities of what decides an exact run beside its options.
///
/// A guest that goes on from a snapshot has its first file system from there. With a date it does the same as one that
/// boots, but what it was loaded with is not here.
fn parts(qemu: &Qemu, guest: &Guest, image: &[u8], is_continued: bool) -> BTreeMap<String, String> {
    let digest = |bytes: &[u8]| hexadecimal(&Sha256::digest(bytes));
    let length = fs::metadata(&qemu.path).map_or(0, |data| data.len());
    let mut parts = BTreeMap::from([
        ("the image of the machine".to_owned(), digest(image)),
        ("QEMU".to_owned(), format!("{qemu}, {length} bytes")),
    ]);
    if guest.is_linux
        && let Ok(kernel) = input_file::read(&guest.file)
    {
        parts.insert("the kernel".to_owned(), digest(&kernel));
    }
    for piece in guest.pieces.iter().filter(|_| !is_continued) {
        let name = match (guest.is_linux, piece.destination) {
            (true, 0) => "the kernel as it is loaded, with its parameters".to_owned(),
            (true, _) => "the first file system, with the command and its files".to_owned(),
            (false, at) => format!("what the guest has at {at:X}"),
        };
        parts.insert(name, digest(&piece.bytes));
    }
    parts
}

/// As [`run_guest`], from a snapshot of the guest. The options are those that it was made with; of the guest nothing is
/// loaded.
pub fn run_from(
    continued: Continued,
    qemu: &Qemu,
    guest: &Guest,
    options: &RunOptions,
    progress: &Progress,
    person: Option<Person<'_>>,
) -> Result<RunOutcome> {
    let options = resolved(options, &guest.names)?;
    let prepared = Prepared::new(guest, options, progress)?;
    let profilers = Profilers::default();
    let below = Below::Qemu(qemu);
    prepared.conduct(&below, Some(continued), progress, person, profilers, None)
}

/// Starts a guest, and keeps it in this directory as it is when it says that it has started.
pub fn keep_started(
    qemu: &Qemu,
    guest: &Guest,
    options: &RunOptions,
    (slot, sign): (&Slot, &str),
    directory: &Path,
    progress: &Progress,
) -> Result<()> {
    let prepared = Prepared::staged(guest, options, &[], progress)?;
    let monitor = prepared.staging.monitor();
    let storage = snapshot::storage_file(directory);
    let setup = prepared.setup(qemu, monitor.as_ref(), Some(KeptStorage::New(&storage)));
    let mut step = progress.step(&format!("starting {} in {qemu}", guest.name));
    let starting = Starting {
        slot,
        sign,
        monitor: Socket::required(monitor.as_ref())?,
        silence: options.silence,
    };
    let machine = Running::start(&qemu.path, &setup.arguments())?;
    starting.keep(machine, directory, &mut step)?;
    step.done(&format!("{} has started and is kept", guest.name));
    Ok(())
}

/// The emulator that a run is in.
enum Below<'a> {
    Qemu(&'a Qemu),
    Hercules(&'a Hercules),
}

impl fmt::Display for Below<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Qemu(qemu) => qemu.fmt(f),
            Self::Hercules(hercules) => hercules.fmt(f),
        }
    }
}

/// A guest that is about to run.
struct Prepared<'a> {
    guest: &'a Guest,
    options: RunOptions,
    cpus: u32,
    staging: Staging,
    image: PathBuf,
    elf: Vec<u8>,
    /// The levels above the guest, if it is a machine.
    above: &'a [Level],
}

/// What decides a run, beside the bytes of the image and of the guest and the program QEMU itself. Options that are not
/// in here decide only what the host does, such as how much of it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deciding {
    /// What the machine is told. It has the lengths of the guest's pieces, too.
    pub block: LoaderBlock,
    /// QEMU's options, without the names of files.
    pub arguments: Vec<String>,
}

/// Where a guest is staged in this QEMU.
fn place(qemu: &Qemu, options: &RunOptions) -> Stage {
    if qemu.leaves_the_end_of_storage_alone() {
        Stage::of(options)
    } else {
        Stage::AboveGuest
    }
}

/// What decides a run of this guest with these options.
pub fn deciding(qemu: &Qemu, guest: &Guest, options: &RunOptions) -> Result<Deciding> {
    let options = resolved(options, &guest.names)?;
    let block = stage::plan(guest, &options, &[], place(qemu, &options))?.block;
    let setup = setup(qemu, &options, block.cpus.get(), Path::new(""));
    Ok(Deciding {
        arguments: setup.arguments(),
        block,
    })
}

/// What decides QEMU's command line, before anything is staged.
fn setup<'a>(qemu: &Qemu, options: &'a RunOptions, cpus: u32, image: &'a Path) -> Setup<'a> {
    Setup {
        mode: options.mode,
        cpus,
        storage: count::storage_below(options, cpus),
        // A clock that counts instructions passes over the time until the guest starts.
        rtc: match options.mode {
            Mode::RealTime | Mode::Native => options.rtc,
            Mode::Exact | Mode::Interactive => options.rtc.before_ipl(),
        },
        cpu_model: &options.cpu_model,
        form: Form::Elf,
        file: image,
        staging: Vec::new(),
        devices: options.devices.arguments(),
        version: qemu.version,
        sandbox: qemu.has_sandbox,
        log: options.execution_log.as_ref(),
        kept: None,
    }
}

/// What the records of all levels of a run have in common.
struct Common {
    below: String,
    arguments: Vec<String>,
    parts: BTreeMap<String, String>,
}

impl Common {
    /// The record of a guest that has not begun.
    fn record(&self, guest: &Guest, options: &RunOptions, cpus: u32) -> RunRecord {
        RunRecord {
            version: version::RELEASE.to_owned(),
            build: version::build(),
            guest: guest.name.clone(),
            guest_file: guest.file.clone(),
            is_linux: guest.is_linux,
            mode: options.mode.name().to_owned(),
            cpus,
            storage: options.storage.0,
            interval: options.sampling.cycles(),
            configuration: [options.configuration.words(), options.devices.words()].concat(),
            exact_caches: options.exact_caches.map(|geometry| geometry.to_string()),
            count_executions: options.count.is_some(),
            counted_part: options.count.as_ref().and_then(Counted::words),
            counted_ranges: (options.count.iter().flat_map(|count| &count.ranges))
                .map(|range| [*range.start(), *range.end()])
                .collect(),
            rtc: options.rtc.to_string(),
            qemu: self.below.clone(),
            arguments: self.arguments.clone(),
            asked: options.asked.clone(),
            parts: self.parts.clone(),
            nonce: guest.nonce.as_ref().map(|nonce| nonce.text().to_owned()),
            begin: options.rtc.seconds().map_or(0, stage::begin),
            loads: 1,
            ..RunRecord::default()
        }
    }
}

impl<'a> Prepared<'a> {
    /// A guest whose bytes are staged.
    fn staged(
        guest: &'a Guest,
        options: &RunOptions,
        profilers: &[Request],
        progress: &Progress,
    ) -> Result<Self> {
        let options = resolved(options, &guest.names)?;
        let stage = match options.below {
            Emulator::Qemu => place(&Qemu::locate(options.qemu.as_deref())?, &options),
            _ => Stage::of(&options),
        };
        let plan = stage::plan(guest, &options, profilers, stage)?;
        let mut prepared = Self::new(guest, options, progress)?;
        prepared.staging.write(&plan)?;
        Ok(prepared)
    }

    /// A guest of which nothing is staged yet, with options in which names are resolved.
    fn new(guest: &'a Guest, options: RunOptions, progress: &Progress) -> Result<Self> {
        let cpus = options.cpus_for(&guest.name, guest.cpus)?;
        if options.mode == Mode::RealTime && cpus > 1 && options.asks_his() {
            bail!(
                "HIS does its work while no CPU runs, and in real time {cpus} CPUs run at the same time; choose --cpus 1, or a run in QEMU without --real-time"
            );
        }
        let image = build::build_image(progress)?;
        let staging = Staging::new()?;
        let elf = fs::read(&image)
            .with_context(|| format!("cannot read the image {}", image.display()))?;
        if options.storage.0 > GUEST_STORAGE_LIMIT {
            progress.note(&format!(
                "of {} of storage the guest can use {}; the rest serves the machine only",
                options.storage,
                Storage(GUEST_STORAGE_LIMIT)
            ));
        }
        if !options.devices.is_empty() {
            progress.note(
                "the times at which the host's devices answer vary: the run is exact in instructions, but not repeatable",
            );
        }
        Ok(Self {
            guest,
            options,
            cpus,
            staging,
            image,
            elf,
            above: &[],
        })
    }

    /// What decides QEMU's command line.
    fn setup<'s>(
        &'s self,
        qemu: &Qemu,
        monitor: Option<&Socket>,
        kept: Option<KeptStorage<'s>>,
    ) -> Setup<'s> {
        let staged = match kept {
            // It is in storage already.
            Some(KeptStorage::Continued(_)) => Vec::new(),
            Some(KeptStorage::New(_)) | None => self.staging.arguments(),
        };
        Setup {
            staging: staged
                .into_iter()
                .chain(monitor.into_iter().flat_map(Socket::arguments))
                .collect(),
            kept,
            ..setup(qemu, &self.options, self.cpus, &self.image)
        }
    }

    /// Writes a form of the image with the guest beside what is staged.
    fn write(&self, form: Form) -> Result<(Form, PathBuf)> {
        let carried = Carried {
            guest: self.guest.name.clone(),
            storage: self.options.storage.0,
            cpus: self.cpus,
            parts: self.staging.parts()?,
        };
        let file = forms::write(form, &self.image, &carried, self.staging.directory())?;
        Ok((form, file))
    }

    /// What collects from the levels above a guest, each in a folder of the one below.
    fn collect_above<'t>(
        &self,
        directory: &Path,
        levels: &[Level],
        common: &Common,
        table: Option<&'t Table>,
    ) -> Result<Option<Above<'t>>> {
        let Some((level, above)) = levels.split_first() else {
            return Ok(None);
        };
        let Level { guest, options } = level;
        let directory = directory.join(folder::ABOVE);
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let common = Common {
            below: format!("Millimeter in {}", common.below),
            arguments: common.arguments.clone(),
            parts: common.parts.clone(),
        };
        let image = ImageSymbols::new(&self.elf)?;
        let symbols = [image.symbols().clone(), guest.symbols.clone()];
        let record = common.record(guest, options, self.cpus);
        let reader = LogReader::new(table);
        let text = guest.symbols.to_text();
        let mut collector = Collector::create(&directory, record, &text, image, reader)?;
        prepare_collector(&mut collector, guest, options)?;
        collector.above = self.collect_above(&directory, above, &common, table)?;
        Ok(Some(Above::new(collector, symbols)))
    }

    /// Runs the guest, from IPL or on from a snapshot.
    fn conduct<'p>(
        self,
        below: &Below<'_>,
        continued: Option<Continued>,
        progress: &Progress,
        person: Option<Person<'p>>,
        profilers: Profilers,
        claimed: Option<Claimed>,
    ) -> Result<RunOutcome> {
        let (guest, options) = (self.guest, &self.options);
        let table = log::table(&self.image, &self.elf)?;
        let monitor = match below {
            Below::Qemu(_) => self.staging.monitor(),
            Below::Hercules(_) => None,
        };
        let storage = continued.as_ref().map(Continued::storage);
        let kept = storage.as_deref().map(KeptStorage::Continued);
        let launch = match below {
            Below::Qemu(qemu) => {
                let setup = self.setup(qemu, monitor.as_ref(), kept);
                let form = options.form.map(|form| self.write(form)).transpose()?;
                let setup = match &form {
                    Some((form, file)) => Setup {
                        form: *form,
                        file,
                        // It is in the form.
                        staging: monitor.iter().flat_map(Socket::arguments).collect(),
                        ..setup
                    },
                    None => setup,
                };
                Launch {
                    program: qemu.path.clone(),
                    arguments: setup.arguments(),
                }
            }
            Below::Hercules(hercules) => {
                self.write(options.form.unwrap_or(Form::Ins))?;
                hercules.launch(self.staging.directory())?
            }
        };
        let parts = match (options.mode, below) {
            (Mode::Exact, Below::Qemu(qemu)) => parts(qemu, guest, &self.elf, continued.is_some()),
            _ => BTreeMap::new(),
        };
        if let Some(again) = &options.again {
            again.check(&parts)?;
        }
        let claimed = claimed.map_or_else(|| claim(options, guest), Ok)?;
        let directory = &claimed.path;
        let common = Common {
            below: below.to_string(),
            arguments: launch.arguments.clone(),
            parts,
        };
        let record = common.record(guest, options, self.cpus);
        let mut collector = Collector::create(
            directory,
            record,
            &guest.symbols.to_text(),
            ImageSymbols::new(&self.elf)?,
            LogReader::new(table.as_ref()),
        )?;
        collector.above = self.collect_above(directory, self.above, &common, table.as_ref())?;
        prepare_collector(&mut collector, guest, options)?;
        let what = match options.sampling {
            Sampling::Off => format!("running {}", guest.name),
            Sampling::Every(_) => format!("measuring {}", guest.name),
        };
        let has_operator = person.as_ref().is_some_and(|person| person.is_operator);
        let (live, echo) = match person {
            Some(person) => (person.input, Some(person.screen)),
            None => (None, None),
        };
        let progress = match live {
            Some(_) => &Progress::Silent,
            None => progress,
        };
        let files = match options.keeps_files {
            true => format!(", raw files in {}", directory.display()),
            false => String::new(),
        };
        let mut step = progress.step(&format!("{what} in {below}{files}"));
        let host = Host {
            script: options.script.iter().cloned().collect(),
            pause: options.pause,
            live,
            has_operator,
            echo,
            names: &guest.names,
            profilers,
            monitor,
            silence: options.silence,
            limit: options.limit,
            keeps_files: options.keeps_files,
        };
        let began = Instant::now();
        let mut machine = match below {
            Below::Qemu(_) => Running::start(&launch.program, &launch.arguments)?,
            Below::Hercules(_) => Running::start_hercules(&launch.program, &launch.arguments)?,
        };
        let sent = match &continued {
            Some(continued) => {
                let monitor = Socket::required(host.monitor.as_ref())?;
                let went_on = monitor.resume(&continued.state);
                went_on.with_context(|| went_wrong(&mut machine))?;
                &continued.sent[..]
            }
            None => &[],
        };
        session::drive(&mut machine, &mut collector, host, sent, &mut step);
        let wall = began.elapsed();
        drop(machine);
        // On a full disk the names of the beginning stay.
        let _ = collector.settle_symbols();
        end_above(&mut collector);
        let mut ends = Vec::new();
        judge_levels(&mut collector, directory, &options.judgement, &mut ends);
        let end = collector.record.end.clone();
        if end.is_of_guest() {
            step.done(&end.sentence());
        }
        drop(collector);
        let mut directory_of = directory.to_path_buf();
        keep_objects(&directory_of, guest, options, progress);
        for Level { guest, options } in self.above {
            directory_of.push(folder::ABOVE);
            keep_objects(&directory_of, guest, options, progress);
        }
        outcome(directory, &ends, began, wall)
    }
}

/// Tells what collects from a machine about its guest.
fn prepare_collector(
    collector: &mut Collector<'_>,
    guest: &Guest,
    options: &RunOptions,
) -> Result<()> {
    if options.stacks.is_some() {
        collector.keep_places(&guest.places())?;
    }
    for line in options.operator.iter().chain(&options.when_waiting) {
        collector.commanded(line);
    }
    collector.limit(options.console_limit, options.data_limit);
    if let Some(nonce) = &guest.nonce {
        collector.believe_only(nonce);
    }
    Ok(())
}

/// Keeps the programs of Linux for the names in its call stacks.
fn keep_objects(directory: &Path, guest: &Guest, options: &RunOptions, progress: &Progress) {
    if options.stacks.is_none() || !guest.is_linux {
        return;
    }
    // What was measured is there all the same.
    if let Err(error) = objects::keep(directory, &guest.archives) {
        progress.note(&format!(
            "the programs of the guest have no names: {error:#}"
        ));
    }
}

/// What a QEMU that did not continue a snapshot says.
fn went_wrong(machine: &mut Running) -> String {
    machine.kill();
    // It has been told to end.
    let _ = machine.finish(Duration::ZERO);
    let complaints = machine.complaints();
    format!("QEMU does not continue the started system: {complaints}")
}

/// Says how the guests above ended, if they have not said it themselves, and completes their files.
fn end_above(collector: &mut Collector<'_>) {
    let end = match &collector.record.end {
        End::Guest(_) | End::Console { .. } | End::Running | End::Machine { .. } => End::Tool {
            text: "the machine below ended before it had said how its guest did".to_owned(),
        },
        end => end.clone(),
    };
    let Some(above) = &mut collector.above else {
        return;
    };
    let above = &mut above.collector;
    if above.record.end == End::Running {
        above.record.end = end;
    }
    end_above(above);
    // On a full disk the record of the beginning stays.
    let _ = above.finish();
    let _ = above.write_record();
}

/// Judges the last guest of all, and notes how the guest of each level ended.
fn judge_levels(
    collector: &mut Collector<'_>,
    directory: &Path,
    judgement: &Judgement,
    ends: &mut Vec<End>,
) {
    let place = ends.len();
    ends.push(End::Running);
    match &mut collector.above {
        Some(above) => {
            let directory = directory.join(folder::ABOVE);
            judge_levels(&mut above.collector, &directory, judgement, ends);
        }
        None => judge(collector, directory, judgement),
    }
    ends[place] = collector.record.end.clone();
}

/// A guest that ended with success has failed if its console says so.
fn judge(collector: &mut Collector<'_>, directory: &Path, judgement: &Judgement) {
    let record = &mut collector.record;
    if judgement.is_empty() || record.end.exit_code() != 0 {
        return;
    }
    let console = text(directory, folder::CONSOLE);
    if let Err(why) = judgement.pass(&console, record.link.not_kept.console_bytes) {
        record.end = End::Console {
            text: why.to_string(),
        };
        // On a full disk the record says how the guest ended, and the caller still has the judgement.
        let _ = collector.write_record();
    }
}

/// A file of the directory, as text.
fn text(directory: &Path, name: &str) -> String {
    let bytes = fs::read(directory.join(name)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads back what a run left, with the end of the guest of each level.
fn outcome(directory: &Path, ends: &[End], began: Instant, wall: Duration) -> Result<RunOutcome> {
    let Some((end, above)) = ends.split_first() else {
        bail!("a run has at least one level");
    };
    let end = end.clone();
    let above = match above {
        [] => None,
        ends => {
            let directory = directory.join(folder::ABOVE);
            Some(Box::new(outcome(&directory, ends, began, wall)?))
        }
    };
    let text = |name| text(directory, name);
    let report = match Report::read(directory) {
        Ok(mut report) => {
            // On a full disk the written record still says that the run goes on.
            report.record.end = end.clone();
            report
        }
        // Without a report the caller gets the reason why the run ended.
        Err(error) if matches!(end, End::Guest(_) | End::Console { .. }) => return Err(error),
        Err(_) => bail!(end.sentence()),
    };
    Ok(RunOutcome {
        end,
        report,
        console: text(folder::CONSOLE),
        operator: text(folder::OPERATOR),
        log: text(folder::LOG).lines().map(str::to_owned).collect(),
        boot: text(folder::BOOT),
        began,
        wall,
        above,
    })
}

/// A run on bare QEMU, without the machine.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// A bundled guest's name, or an ELF file.
    pub guest: String,
    /// The guest's arguments; none if empty.
    pub arguments: String,
    /// QEMU's arguments for devices.
    pub devices: Vec<String>,
    /// CPUs.
    pub cpus: u32,
    /// Storage.
    pub storage: Storage,
    /// Whether the clock counts instructions.
    pub icount: bool,
    /// The QEMU to use; by default the one that [`Qemu::locate`] finds.
    pub qemu: Option<PathBuf>,
    /// A run that lasts longer is ended.
    pub limit: Duration,
}

impl NativeOptions {
    /// A run of this guest with nothing chosen: one CPU, instructions counted, two minutes at most.
    pub fn new(guest: impl Into<String>) -> Self {
        Self {
            guest: guest.into(),
            arguments: String::new(),
            devices: Vec::new(),
            cpus: 1,
            storage: Storage(512 << 20),
            icount: true,
            qemu: None,
            limit: Duration::from_secs(120),
        }
    }
}

/// The outcome of a run on bare QEMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeOutcome {
    /// What the guest wrote on its console.
    pub console: String,
    /// QEMU's exit code: 0 after a disabled wait at FFF, 1 after any other. `None` if it was ended.
    pub exit_code: Option<i32>,
    /// What QEMU said on standard error.
    pub complaints: String,
    /// How long QEMU ran.
    pub wall: Duration,
}

/// Runs a guest on bare QEMU.
pub fn run_native(options: &NativeOptions, progress: &Progress) -> Result<NativeOutcome> {
    doctor::provide(options.qemu.as_deref(), progress)?;
    let qemu = Qemu::locate(options.qemu.as_deref())?;
    let guest = Guest::find(&options.guest, progress)?;
    let mode = if options.icount {
        Mode::Exact
    } else {
        Mode::RealTime
    };
    let setup = Setup {
        mode,
        cpus: options.cpus,
        storage: options.storage,
        rtc: Rtc::Now,
        cpu_model: "max",
        form: Form::Elf,
        file: &guest.file,
        staging: match &options.arguments[..] {
            "" => Vec::new(),
            arguments => vec!["-append".to_owned(), arguments.to_owned()],
        },
        devices: options.devices.clone(),
        version: qemu.version,
        sandbox: qemu.has_sandbox,
        log: None,
        kept: None,
    };
    let began = Instant::now();
    let mut machine = Running::start(&qemu.path, &setup.arguments())?;
    let mut console = Vec::new();
    let exit_code = loop {
        match machine.hear(Duration::from_millis(20)) {
            Heard::Bytes(bytes) => console.extend(bytes),
            Heard::Silence => {}
            Heard::End => break machine.finish(Duration::from_secs(5))?.code(),
        }
        if began.elapsed() > options.limit || interrupt::requested() {
            machine.kill();
            let _ = machine.finish(Duration::ZERO)?;
            break None;
        }
    };
    let wall = began.elapsed();
    Ok(NativeOutcome {
        console: String::from_utf8_lossy(&console).into_owned(),
        exit_code,
        complaints: machine.complaints(),
        wall,
    })
}
