//! The command line.

mod check;
mod count;
mod exec;
mod figures;
mod image;
mod linux;
pub mod manual;
mod top;
mod trace;
mod zoom;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use cache::Geometry;
use clap::builder::{PossibleValuesParser, RangedI64ValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use his::command;
use his::parameters::ParameterFiles;
use link::loader::MOST_CPUS;
use link::state::Mode;

use crate::{
    building::forms::Form,
    computer::input_file,
    linux::Release,
    nearest,
    numbers::quantities::{Kept, Rtc, Sampling, StackChoice, Storage},
    options::{
        DEFAULT_CONSOLE_LIMIT, DEFAULT_DATA_LIMIT, DEFAULT_GUEST, EventForm, Events, RunOptions,
        configuration::{Configuration, ModelName},
        count::Begin,
        counter_choice::CounterChoice,
        devices::Devices,
        emulator::Emulator,
        exact_caches,
        judgement::Judgement,
        qemu_arguments::QemuArgument,
    },
    views::export::To,
};

pub use check::{CheckArguments, Checked};
pub use count::CountArguments;
pub use exec::ExecArguments;
pub use figures::FiguresArguments;
pub use image::ImageArguments;
pub use linux::LinuxArguments;
pub use top::{TopArguments, TopCommand};
pub use trace::TraceArguments;
pub use zoom::ZoomArguments;

/// Runs a program above Millimeter in QEMU and shows where its time goes.
///
/// Without a command the bundled workload is measured. Exit codes: 0 success, 3 the guest failed,
/// 2 the tool failed; a guest that names an exit code of its own, by DIAGNOSE 701, gives that one.
#[derive(Debug, Parser)]
#[command(
    name = "measure",
    bin_name = "cargo measure",
    version,
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Install what this computer lacks without asking. The tool installs packages only if it is root, and says first what
    /// is missing and how large it is. On a terminal it asks; elsewhere it goes on by itself
    #[arg(long, global = true, help_heading = "This computer")]
    pub yes: bool,
    /// Options of a run.
    #[command(flatten)]
    pub run: RunArguments,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a guest and report (the default)
    ///
    /// Exit codes: 0 success, 3 the guest failed, 2 the tool or the machine failed. A guest succeeds if it ends in a
    /// disabled wait at FFF or stops all its CPUs, and --expect and --fail-on do not say otherwise. It fails if it ends
    /// in another disabled wait, or waits for ever. A guest that names an exit code of its own, from 0 to 255 by
    /// DIAGNOSE 701, gives that one; run.json tells such a code from one of the tool.
    Run(Box<RunArguments>),
    /// Run a guest with this terminal as its console and the operator's
    Console(Box<RunArguments>),
    /// Boot Linux and run a command in it
    ///
    /// Gets Debian's kernel and tools for s390x with this computer's apt, keeps them in the user's cache
    /// directory, and shows what the command writes. A run with a command in exact mode boots only once: later ones with
    /// the same options go on from the system as it was when it had started. Exit codes: the command's own; 3 the guest
    /// ended before the command did, 2 the tool failed.
    Linux(Box<LinuxArguments>),
    /// Perform one program of Linux on s390x, and count its instructions
    ///
    /// The program's output is on standard output, and its exit code is that of the tool; 128 and a number if a signal
    /// ended it, 127 if it did not begin, 3 if the guest ended before it, 2 if the tool failed. Standard error says how
    /// many instructions it took in problem state and in the kernel, with its children. The same program, arguments and
    /// environment give the same numbers. As Cargo's runner it performs `cargo test`, `cargo bench` and `cargo run`:
    ///
    /// CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="measure exec" cargo test --target s390x-unknown-linux-gnu
    Exec(Box<ExecArguments>),
    /// Compare a run with a baseline, and fail if it takes more instructions
    ///
    /// The baseline is a text file beside the source: totals in problem state and in supervisor state, instructions by
    /// symbol, the model's counters with --exact-caches, and what is tolerated. `--update` writes it. A table says what changed and
    /// which symbols grew. A baseline of another kernel, image, QEMU or command is refused.
    ///
    /// Exit codes: 0 no regression, 1 a regression, 2 the tool failed or the run did.
    #[command(after_help = check::EXAMPLES)]
    Check(Box<CheckArguments>),
    /// Run a guest and show its program events: branches, instructions, stores, altered registers
    ///
    /// Prints a line on standard output for each traced event as it comes, and the counts of all traces at the end.
    /// The guest does not notice: it keeps its own PER and does the same as without a trace. Each instruction in the
    /// range of a trace costs some hundred instructions of the machine, and outside of its pages none. In exact mode
    /// nothing is lost: the guest waits for the console.
    #[command(after_help = trace::EXAMPLES)]
    Trace(Box<TraceArguments>),
    /// Look at a part of an exact run again, with finer samples
    ///
    /// Performs the run in DIR again from its recorded command line, with the same kernel, image and QEMU. In the window the
    /// machine takes finer samples, which cost the guest no time. All that the first run left must come again: each of its
    /// samples at the same instruction, the counters, the console. If something differs, the first difference is named.
    /// The new folder has the finer samples in the form of a run, for `report`, `export` and `diff`.
    ///
    /// Exit codes: 0 it was the same run, 1 it was not, 2 the run cannot be performed again.
    #[command(after_help = zoom::EXAMPLES)]
    Zoom(ZoomArguments),
    /// Report again from the raw files of a run
    ///
    /// With --html the report is one page that needs no network and no other file. Losses and doubts come first, then
    /// the run, states by CPU, samples by time, CPU, program and symbol, a flame graph, the hottest symbols (with source
    /// lines if the guest's file has debug information), the text of the hottest functions with samples by instruction,
    /// counters, and figures made of them. In the page you select a span of time, CPUs and programs, and all that is
    /// made of samples shows these only. With --against it shows the changes since another run. It reads samples as a
    /// stream, so they need not fit into storage. The page has about the same size for ten samples and for ten million.
    ///
    /// A file with counters of a machine has figures instead: what analysts read, with the formula of each and its
    /// source. It may be a dump of SMF records with type 113 among them, z/VM monitor records or a .CNT, each also
    /// packed with gzip. With --figures the directory of a run or of a collection has them as well.
    ///
    /// Exit codes: 0 the report was made, 3 (or the guest's own) it was made and the guest had failed, 2 it could not be
    /// made, or the run did not come to its end.
    #[command(after_help = REPORT_EXAMPLES)]
    Report {
        /// The directory of the run, or with --html of a collection (SYSHISyyyymmdd.hhmmss.…), or a file of counters
        #[arg(value_name = "PATH")]
        dir: PathBuf,
        /// Write the report as a JSON object to this file as well; - is standard output, without the report
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Write the report as a page of HTML to this file instead of printing it; - is standard output
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        html: Option<PathBuf>,
        /// Compare the page with this run or collection, the one before
        #[arg(long, value_name = "PATH", requires = "html")]
        against: Option<PathBuf>,
        /// Show the callers and the callees of this routine instead, from the call stacks of a run with --stacks. A part
        /// of the name is enough if only one routine has it
        #[arg(long, value_name = "SYMBOL", conflicts_with_all = ["html", "zos"])]
        callers: Option<String>,
        /// The guest fills its program parameter as z/OS does: count the samples by home ASN and work unit as well.
        /// Nothing in a sample says so
        #[arg(long, conflicts_with = "html")]
        zos: bool,
        /// Figures of counters.
        #[command(flatten)]
        figures: FiguresArguments,
    },
    /// Watch what a run is measuring, live in the terminal
    ///
    /// Follows the directory of a run while `run`, `console` or `linux` writes it in another terminal, or shows a
    /// run that has ended. Losses and doubts come first; then the states of the CPUs, the hottest symbols
    /// and the counters, which the machine sends when the guest has ended. What is `recent` fades by an eighth with
    /// each refresh that brings samples. Samples come in blocks of up to 126, so a long interval shows late.
    ///
    /// Exit codes: 0 the run was shown, 3 it has ended and its guest failed, 2 it could not be shown.
    #[command(after_help = top::EXAMPLES)]
    Top(TopArguments),
    /// Write the image, with or without a guest, in a form that a machine can IPL
    ///
    /// With a guest, the started machine measures it. Its console is text: what the guest writes, how it ended, and what was
    /// counted. For a report, let `run --ipl` start the form.
    #[command(after_help = image::EXAMPLES)]
    Image(ImageArguments),
    /// Build the image, all bundled guests and the programs for Linux now
    ///
    /// Every command builds what it needs by itself. A command that was installed (`cargo install --locked --path tools`)
    /// keeps what it has built in the user's cache; after this it needs its sources no longer. Prints the directory.
    Build,
    /// Show the length of the machine's paths and its cost in host time beside their budgets
    Bench {
        /// The QEMU to use
        #[arg(long, value_name = "PATH")]
        qemu: Option<PathBuf>,
        /// Pairs of runs for each ratio of host times, or rounds of starts; 0 leaves host time out
        #[arg(long, value_name = "N", default_value_t = 5)]
        pairs: usize,
        /// Measure Linux instead: host times of a boot, a loop, fork and exec, and system calls; the machine's
        /// instructions for them; its traps by instruction
        #[arg(long)]
        linux: bool,
        /// Measure single instructions instead: the host time of each that the machine performs, compared with bare QEMU
        #[arg(long, conflicts_with = "linux")]
        instructions: bool,
        /// Measure the tool itself instead: how fast it decodes .SMP files and SMF records, compared with SHA-256 of the same
        /// bytes
        #[arg(long, conflicts_with_all = ["linux", "instructions", "qemu"])]
        host: bool,
        /// Measure starts instead: the time from the shell to a command in a kept system, to a bundled guest and to the help,
        /// compared with a plain boot
        #[arg(long, conflicts_with_all = ["linux", "instructions", "host"])]
        start: bool,
        /// Debian's kernel
        #[arg(long, value_enum, default_value = "6.1", requires = "linux")]
        release: Release,
        /// Measure only this part of what --linux measures; may be repeated. Host times are compared with those of a boot,
        /// which is timed in any case
        #[arg(long, value_name = "PART", requires = "linux", value_parser = parts())]
        part: Vec<String>,
        /// CPUs of that Linux, 1 to 16
        #[arg(long, value_name = "N", requires = "linux", value_parser = cpus(), default_value_t = 1)]
        cpus: u32,
        /// Let the host's clock run for both sides, and compare host times only
        #[arg(long, requires = "linux")]
        real_time: bool,
    },
    /// Run the behaviour guests and list which statements of the manuals they show
    ///
    /// The books are SA23-2260, the z/Architecture Principles of Operation (SA22-7832) for what the virtual
    /// CPU performs, and the System/370 Principles of Operation where they define program-event
    /// recording. Every statement is listed with its place, what it says, and the guests whose
    /// assertions name it and held in this run. Exit codes: 0 every applicable statement is shown, 3
    /// one is not, 2 the tool failed.
    Conformance {
        /// Write the table as a JSON object to this file as well; - is standard output, without the table
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// The QEMU to use
        #[arg(long, value_name = "PATH")]
        qemu: Option<PathBuf>,
    },
    /// Show every counter of a model, and where its value comes from
    Counters {
        /// The model: z10, z196, zec12, z13, z14, z15 or z16
        #[arg(long, value_name = "MODEL", default_value = "z15")]
        model: ModelName,
    },
    /// Show what is in a file of samples, counters or monitor records, field by field
    ///
    /// The content tells what the file is. It may be a file .SMP, .CNT or .MAP as the z/OS hardware instrumentation
    /// services write them (also in EBCDIC), or sdb-cpuN.bin of a run. It may hold SMF records, each with its RDW, with
    /// or without BDWs around them (all of type 113, the header of others), or z/VM monitor records (all of MRPRCMFC,
    /// the header of others). Fields have the names of the manuals and their offset in the
    /// file. The dump shows everything before the first error, then names the offset and field of the error and ends.
    ///
    /// Exit codes: 0 the whole file was read, 2 the file is wrong somewhere, or cannot be read or recognised.
    #[command(after_help = DUMP_EXAMPLES)]
    Dump {
        /// The file
        file: PathBuf,
        /// Write a JSON object for each record, on a line of its own: kind, offset, and fields with section,
        /// offset, name, value and meaning
        #[arg(long, conflicts_with = "csv")]
        json: bool,
        /// Write a line for each field: number and kind of the record, section, offset, name, value, meaning
        #[arg(long)]
        csv: bool,
        /// The guest fills its program parameter as z/OS does: show home ASN and TCB, or WEB of an SRB, of each sample.
        /// Nothing in a sample says so
        #[arg(long)]
        zos: bool,
    },
    /// Write the samples of a run or of a collection, or exact counts, in the form of another tool
    ///
    /// DIR is a directory that a run wrote, or one with the files SYSHISyyyymmdd.hhmmss.xxx.SMP.cpu of a
    /// collection, its .MAP for the names and its .CNT for the clock. If it holds several collections, write
    /// DIR/SYSHISyyyymmdd.hhmmss. Names are those of the report. Call stacks are
    /// those of a run with --stacks; without, a form that needs them gets the program and the routine in it.
    ///
    /// callgrind, lcov and cobertura have the exact counts of a run with --count instead of samples.
    ///
    /// Samples are read block by block, so there may be any number of them. Only firefox keeps all of them in
    /// storage at once.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export {
        /// The directory
        dir: PathBuf,
        /// The form
        #[arg(long, value_enum, value_name = "FORM")]
        to: To,
        /// Where to write it; - is standard output [default: a file in DIR]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// The guest fills its program parameter as z/OS does: with csv, columns for home ASN and TCB, or WEB of an
        /// SRB. Nothing in a sample says so
        #[arg(long)]
        zos: bool,
    },
    /// Show where the samples and the counters of two runs or collections differ
    ///
    /// A and B are directories as for `export`. Each routine has its share of all samples in A and in B, the
    /// difference in percentage points, and its samples; those that differ most come first. Counters have the
    /// ratio of B to A. The table says if intervals, machines, modes or guests differ.
    Diff {
        /// The first directory
        #[arg(value_name = "A")]
        first: PathBuf,
        /// The second directory
        #[arg(value_name = "B")]
        second: PathBuf,
        /// Write the difference as a JSON object to this file as well; - is standard output, without the table
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Show what is missing on this computer, and the command that fixes it
    Doctor,
    /// Make a release: a static command that carries image and guests, and a Debian package of it
    ///
    /// Builds everything, and writes the command, its manual pages and its completions. The command needs neither Cargo nor
    /// the sources: a computer with QEMU for s390x can run it. It is linked with musl if the target is installed (rustup
    /// target add x86_64-unknown-linux-musl, and Debian's musl-tools), else with the GNU C library. Prints what it made.
    Package {
        /// Where to write it [default: target/package]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Make a Debian package, too
        #[arg(long)]
        deb: bool,
        /// Put image and guests into a copy of this command instead of building one
        #[arg(long, value_name = "FILE")]
        command: Option<PathBuf>,
    },
    /// Print the completions of the command for a shell
    ///
    /// For bash: measure completions bash > ~/.local/share/bash-completion/completions/measure. They are for the command
    /// `measure`; the shell completes `cargo measure` as it completes `cargo`.
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the command's manual page, or write a page for each command
    ///
    /// measure man | man -l - shows the page; with --to the pages are measure.1, measure-run.1 and so on.
    Man {
        /// Write all pages into this directory, and make it if it is not there
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// Examples of `report`.
const REPORT_EXAMPLES: &str = "\
Examples:
  cargo measure report millimeter-workload-1
  cargo measure report millimeter-workload-1 --html workload.html
  cargo measure report millimeter-workload-2 --against millimeter-workload-1 --html change.html
  cargo measure report millimeter-workload-1 --callers compress::work
  cargo measure report smf113.gz --by system,interval,type
  cargo measure report smf113.gz --by cpu --csv figures.csv
  cargo measure report millimeter-hash-1 --figures";

/// Examples of `dump`.
const DUMP_EXAMPLES: &str = "\
Examples:
  cargo measure dump millimeter-workload-1/sdb-cpu0.bin | less
  cargo measure dump --json run.SMF | jq -r '.fields[] | select(.name == \"SMF113_1_CpuId\") | .value'
  cargo measure dump --csv run.MON > run.csv";

/// Examples of `export`.
const EXPORT_EXAMPLES: &str = "\
Examples:
  cargo measure export millimeter-workload-1 --to perf
  perf report -i millimeter-workload-1/perf.data
  cargo measure export millimeter-workload-1 --to folded --out - | flamegraph.pl > workload.svg
  cargo measure export collections/SYSHIS20260301.161406 --to csv --out samples.csv";

/// Options of every run about the computer below the machine.
#[derive(Clone, Debug, Args)]
pub struct BelowArguments {
    /// The date at which the guest starts: now, or UTC as 2026-01-01T00:00:00
    #[arg(long, value_name = "TIME", default_value = "now")]
    pub rtc: Rtc,
    /// The QEMU to use
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// QEMU's name of the CPU below the machine
    #[arg(long, value_name = "MODEL", default_value = "max")]
    pub cpu_model: String,
    /// The most console text of the guest that is kept. What follows is shown, counted and not kept
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_CONSOLE_LIMIT)]
    pub console_limit: Kept,
    /// The most samples, counters, events, logs and files of HIS that are kept, together. What follows is counted and
    /// not kept
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_DATA_LIMIT)]
    pub data_limit: Kept,
    /// Follow the call stack of each sample by the back chain of the s390x ELF ABI, up to DEPTH return addresses (64
    /// without a number, 256 at most). The bundled guests store the back chain; other programs do if they are built
    /// with -mbackchain, or in Rust with -C target-feature=+backchain. For programs of Linux that do not, dwarf copies
    /// their stacks, at most 4 KiB at a sample (dwarf:8 for 8 KiB, which is the most), and unwinds them by .eh_frame
    #[arg(
        long,
        value_name = "DEPTH|dwarf[:KIB]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "64"
    )]
    pub stacks: Option<StackChoice>,
    /// Supply the cryptographic functions of the message-security assist, and let the guest count them
    #[arg(long)]
    pub cryptography: bool,
    /// Execute no sensitive instruction, wherever control goes. Without this the machine believes what a decode of the
    /// text shows, and trusts an EXECUTE after a harmless target. For a guest that attacks the machine; others run
    /// slower by up to a half
    #[arg(long)]
    pub strict: bool,
    /// Exact counts.
    #[command(flatten)]
    pub counts: CountArguments,
    /// When the counting begins: at the start of the guest, at the command of Linux, or when the guest has written this text
    /// on its console [default: command for Linux, else start]
    #[arg(long, value_name = "start|command|TEXT", requires = "count")]
    pub count_from: Option<Begin>,
    /// Look every second of guest time whether the hardware system area is whole, not only at the end. For tests of the
    /// machine
    #[arg(long)]
    pub check_hsa: bool,
    /// Does nothing any more: the guest can record program events (PER) without it
    #[arg(long, hide = true)]
    pub per: bool,
    /// The form of the guest's program-event recording (PER)
    #[arg(long, value_name = "FORM", value_enum)]
    pub per_format: Option<EventForm>,
    /// Let the operator trace program events (PER); the guest does not notice. Implied when the operator begins a trace in
    /// advance
    #[arg(long)]
    pub trace: bool,
}

impl BelowArguments {
    /// The options of a run of this guest that these arguments choose.
    fn options(&self, guest: impl Into<String>) -> RunOptions {
        RunOptions {
            rtc: self.rtc,
            qemu: self.qemu.clone(),
            cpu_model: self.cpu_model.clone(),
            console_limit: self.console_limit,
            data_limit: self.data_limit,
            stacks: self.stacks.map(|stacks| stacks.depth),
            stack_copy: self.stacks.map_or(0, |stacks| stacks.copy),
            cryptography: self.cryptography,
            strict: self.strict,
            count: self.counts.counted(self.count_from.clone()),
            check_hsa: self.check_hsa,
            events: self.events(),
            ..RunOptions::new(guest)
        }
    }

    /// Program-event recording.
    fn events(&self) -> Events {
        Events {
            traced: self.trace,
            form: self.per_format.unwrap_or_default(),
        }
    }
}

impl Arguments {
    /// The run of a guest that is asked for, if one is.
    fn run(&self) -> Option<&RunArguments> {
        match &self.command {
            None => Some(&self.run),
            Some(Command::Run(run) | Command::Console(run)) => Some(run),
            Some(Command::Trace(trace)) => Some(&trace.run),
            Some(Command::Top(top)) => match &top.run {
                Some(TopCommand::Run(run)) => Some(run),
                None => None,
            },
            Some(_) => None,
        }
    }

    /// Whether a person asks which guests there are.
    pub fn lists_guests(&self) -> bool {
        self.run().is_some_and(|run| run.list)
    }

    /// Whether a person gives the option that does nothing any more.
    pub fn has_per(&self) -> bool {
        let below = match &self.command {
            Some(Command::Linux(linux)) => Some(&linux.below),
            Some(Command::Check(check)) => match &check.run {
                Checked::Run(run) => Some(&run.below),
                Checked::Linux(linux) => Some(&linux.below),
                Checked::Exec(_) => None,
            },
            _ => self.run().map(|run| &run.below),
        };
        below.is_some_and(|below| below.per)
    }
}

/// The commands that a first word was perhaps meant to be, in words; empty if it is one, or like none. Such a word is taken
/// as the name of a guest.
pub fn meant_command(word: &str) -> String {
    let command = Arguments::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    if names.contains(&word) {
        return String::new();
    }
    match &nearest::nearest(word, names)[..] {
        [] => String::new(),
        near => format!("if {word} is to be a command: {}", near.join(", ")),
    }
}

/// Machines between the outermost one and the guest.
#[derive(Clone, Debug, Args)]
pub struct LevelArguments {
    /// Run the guest above a machine that is itself a guest of the machine, or above DEPTH such machines, one above the
    /// other (1 without a number, 3 at most). Each machine measures the one above it, and the outermost one counts its
    /// paths, beside their budgets
    #[arg(
        long,
        value_name = "DEPTH",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = 0,
        default_missing_value = "1",
        hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(0..=3)
    )]
    pub nested: u32,
}

/// Options of a run.
#[derive(Clone, Debug, Args)]
pub struct RunArguments {
    /// The name of a bundled guest, an ELF file, or a flat image with an IPL PSW at 0
    #[arg(default_value = DEFAULT_GUEST)]
    pub guest: String,
    /// Show the bundled guests by kind, and run none
    #[arg(long)]
    pub list: bool,
    /// CPUs of the guest, 1 to 16 [default: as many as it needs]
    #[arg(long, value_name = "N", value_parser = cpus())]
    pub cpus: Option<u32>,
    /// Storage of the machine, as 512M or 2G; 16G at most are used
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub storage: Storage,
    /// Cycles from one sample to the next, 1000 to 4294967296, or off
    #[arg(
        long,
        value_name = "CYCLES",
        default_value = "1000000",
        conflicts_with = "freq"
    )]
    pub interval: Sampling,
    /// Samples per second of guest time
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub freq: Option<Sampling>,
    /// Take no samples
    #[arg(long, conflicts_with_all = ["freq", "interval"])]
    pub no_sampling: bool,
    /// Let the host's clock run instead of counting instructions
    #[arg(long)]
    pub real_time: bool,
    /// Take cycles and instructions of the guest from the CPU-measurement counter facility of the machine below, which must
    /// have it, and let its clock run: QEMU has none, but --nested puts a machine there that has
    #[arg(long, conflicts_with = "real_time")]
    pub native: bool,
    /// Put every instruction through a model of first-level caches. The cache counters of the basic set (2-5)
    /// and, with --model z10, of the problem-state set (34-37) count what happens in it. GEOMETRY is default, or
    /// i=SIZE/WAYS/LINE/PENALTY for the instruction cache, d= and the same for the data cache, with a
    /// comma between them, as i=96K/6/256,d=128K/8/256/12. PENALTY is the cycles of a directory write (8 if it is
    /// left out); no cycle count includes them. A cache that is left out has its default:
    /// i=128K/8/256/8,d=128K/8/256/8. Not with --real-time
    #[arg(long, value_name = "GEOMETRY", value_parser = exact_caches::geometry)]
    pub exact_caches: Option<Geometry>,
    /// A device for the guest, in QEMU's words, as '-device virtio-rng-ccw'; may be given several times. The guest sees
    /// block, network, console and entropy devices of virtio-ccw. A -drive is a raw file that is there already. A run
    /// with devices is exact in instructions but not repeatable
    #[arg(long, value_name = "'OPTION VALUE'", allow_hyphen_values = true)]
    pub qemu_arg: Vec<QemuArgument>,
    /// The emulator below the machine. Below hercules, runs are in real time, without devices and program events
    #[arg(
        long = "below",
        value_name = "EMULATOR",
        value_enum,
        default_value = "qemu"
    )]
    pub emulator: Emulator,
    /// The Hercules to use [default: the environment's MILLIMETER_HERCULES, else hercules in the PATH]
    #[arg(long, value_name = "PATH")]
    pub hercules: Option<PathBuf>,
    /// The form of the image that is IPLed, with the guest in it: elf, bios or scsi in QEMU, ins, card or dasd in Hercules
    /// [default: an ELF and files beside it in QEMU, ins in Hercules]
    #[arg(long, value_enum, value_name = "FORM", hide_possible_values = true)]
    pub ipl: Option<Form>,
    /// Machines above the machine.
    #[command(flatten)]
    pub levels: LevelArguments,
    /// What is below the machine.
    #[command(flatten)]
    pub below: BelowArguments,
    /// Counter sets of the machine's own measurement: none, or some of basic, problem, crypto, extended,
    /// mt and group with commas between them. Without --cryptography, crypto and group count the functions that the
    /// CPU below has, and the machine then performs them. [default: all that have a source in the run and cost
    /// nothing: basic,problem,extended; crypto,group with --cryptography, mt with --threads 2]
    #[arg(long, value_name = "SETS")]
    pub counters: Option<CounterChoice>,
    /// Where the raw files go [default: a fresh millimeter-GUEST-N]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the report as a JSON object to this file as well; - is standard output, without the report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// What the operator says before the guest starts, as 'AUTH CPU ALL SAMPLING DIAGNOSTIC ON'; may
    /// be given several times
    #[arg(long, value_name = "COMMAND")]
    pub operator: Vec<String>,
    /// What the operator says when a trace has stopped the guest, or every CPU waits: one of these each time
    #[arg(long, value_name = "COMMAND")]
    pub when_waiting: Vec<String>,
    /// What the operator says to HIS before the guest starts, as 'F HIS,B,CTRSET=ALL': MODIFY HIS begins and ends
    /// collection runs, D HIS shows them. HIS then gets the samples, and the run itself takes none
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["freq", "interval", "native"], value_parser = his_command)]
    pub his: Vec<String>,
    /// A parameter file of HIS: DDNAME=NAME in a command to HIS takes its keywords from FILE. May be given several
    /// times
    #[arg(long, value_name = "NAME=FILE", requires = "his", value_parser = parameter_file)]
    pub dd: Vec<ParameterFile>,
    /// A link that is silent for this many seconds has failed
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub silence: u64,
    /// What decides whether the guest succeeded.
    #[command(flatten)]
    pub judgement: Judgement,
    /// What the guest finds.
    #[command(flatten, next_help_heading = "What the guest finds")]
    pub configuration: Configuration,
    /// Arguments of the guest. They are placed as QEMU's -append places them for -kernel: at 10480, for a program that
    /// starts at 10000 as Linux does
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<String>,
}

/// A parameter file of HIS: the operator's commands that define it.
#[derive(Clone, Debug)]
pub struct ParameterFile(Vec<String>);

/// The operator's commands that define these files.
fn definitions(files: &[ParameterFile]) -> Vec<String> {
    files.iter().flat_map(|file| file.0.clone()).collect()
}

fn parameter_file(text: &str) -> Result<ParameterFile, String> {
    let Some((name, path)) = text.split_once('=') else {
        return Err(format!("{text} has no =; write it as NAME=FILE"));
    };
    let lines = input_file::read_text(Path::new(path))
        .map_err(|error| format!("cannot read {path}: {error}"))?;
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    let commands: Vec<String> = std::iter::once(format!("DD {name}"))
        .chain(lines.map(|line| format!("DD {name} {}", line.trim())))
        .collect();
    let mut files = ParameterFiles::new();
    for line in &commands {
        files.define(line).map_err(|wrong| wrong.to_string())?;
    }
    Ok(ParameterFile(commands))
}

/// The parts of `bench --linux`.
fn parts() -> PossibleValuesParser {
    PossibleValuesParser::new(crate::bench::linux::names())
}

fn his_command(text: &str) -> Result<String, String> {
    match command::is_command(text).then(|| command::parse(text)) {
        Some(Ok(_)) => Ok(text.to_owned()),
        Some(Err(refused)) => Err(refused.to_string()),
        None => Err(
            "a command for HIS begins with F or MODIFY, D or DISPLAY, S or START, P or STOP"
                .to_owned(),
        ),
    }
}

/// CPUs of a guest.
fn cpus() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MOST_CPUS))
}

fn frequency(text: &str) -> Result<Sampling, String> {
    let hertz = text
        .parse()
        .map_err(|_| format!("{text} is not a number of samples per second; write one as 1000"))?;
    Sampling::at_frequency(hertz)
}

impl RunArguments {
    /// The options that these arguments choose.
    pub fn options(&self) -> RunOptions {
        let devices = Devices {
            more: self.qemu_arg.clone(),
            ..Devices::default()
        };
        let mut options = RunOptions {
            arguments: self.arguments.join(" "),
            cpus: self.cpus,
            storage: self.storage,
            configuration: self.configuration.clone(),
            sampling: self.freq.unwrap_or(self.interval),
            mode: if self.native {
                Mode::Native
            } else if self.real_time || self.emulator == Emulator::Hercules {
                Mode::RealTime
            } else if devices.is_empty() {
                Mode::Exact
            } else {
                Mode::Interactive
            },
            devices,
            hercules: self.hercules.clone(),
            below: self.emulator,
            form: self.ipl,
            out: self.out.clone(),
            counters: self.counters,
            nested: self.levels.nested,
            exact_caches: self.exact_caches,
            operator: [
                self.operator.clone(),
                definitions(&self.dd),
                self.his.clone(),
            ]
            .concat(),
            when_waiting: self.when_waiting.clone(),
            silence: Duration::from_secs(self.silence),
            judgement: self.judgement.clone(),
            ..self.below.options(self.guest.clone())
        };
        if self.no_sampling || options.asks_his() {
            options.sampling = Sampling::Off;
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::configuration::{Level, Secure};

    fn run(line: &str) -> Result<RunOptions, String> {
        let words = std::iter::once("measure").chain(line.split_whitespace());
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            None => Ok(arguments.run.options()),
            Some(Command::Run(run)) => Ok(run.options()),
            Some(other) => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn without_a_command_the_workload_runs() {
        let options = run("").unwrap();
        assert_eq!((&options.guest[..], options.cpus), (DEFAULT_GUEST, None));
        assert_eq!(options.sampling, Sampling::Every(1_000_000));
        assert_eq!(run("--cpus 2").unwrap().cpus, Some(2));
    }

    #[test]
    fn machines_above_the_machine_are_counted_and_the_next_word_is_the_guest() {
        let mode = |line: &str| run(line).map(|options| options.mode);
        assert_eq!(mode("run hash --nested --native"), Ok(Mode::Native));
        assert!(mode("run hash --real-time --native").is_err());
        let nested = |line: &str| run(line).map(|options| (options.nested, options.guest));
        assert_eq!(nested("run --nested hash"), Ok((1, "hash".to_owned())));
        assert_eq!(nested("run hash --nested=3"), Ok((3, "hash".to_owned())));
        assert_eq!(nested("run hash"), Ok((0, "hash".to_owned())));
        assert!(nested("run hash --nested=4").is_err());
    }

    #[test]
    fn a_misspelt_word_is_answered_with_the_nearest_one() {
        for (line, nearest) in [
            ("run --intervall 5000", "'--interval'"),
            ("report x --csvv y", "'--csv'"),
            ("report x --by sytem", "'system'"),
            ("export x --to foldd", "'folded'"),
            ("linux --release 6.2", "6.12"),
            ("run --model zce12", "the nearest is zec12"),
            ("report x --model z71", "the nearest is z17"),
            ("report x --rni-weights z1=1,1,1,1,1", "the nearest are z1"),
            ("counters --model z14x", "the nearest is z14"),
            ("run --counters bsaic", "the nearest is basic"),
            ("trace -e BRNACH", "the nearest is BRANCH"),
            ("linux -e FECTH", "the nearest is FETCH"),
        ] {
            let refusal = run(line).unwrap_err();
            assert!(refusal.contains(nearest), "{line}: {refusal}");
        }
        assert_eq!(
            meant_command("reprot"),
            "if reprot is to be a command: report, export"
        );
        for word in ["report", "hash", "/x.elf", "--cpus"] {
            assert_eq!(meant_command(word), "", "{word}");
        }
    }

    #[test]
    fn yes_and_list_belong_to_every_command_that_needs_them() {
        let parse = |line: &str| {
            let words = std::iter::once("measure").chain(line.split_whitespace());
            Arguments::try_parse_from(words).unwrap()
        };
        for line in [
            "--yes",
            "run --yes",
            "exec --yes prog",
            "linux --yes",
            "bench --yes",
        ] {
            assert!(parse(line).yes, "{line}");
        }
        // It is the program's own.
        assert!(!parse("exec prog --yes").yes);
        for line in [
            "--list",
            "run --list",
            "console --list",
            "trace --list",
            "top run --list",
        ] {
            assert!(parse(line).lists_guests(), "{line}");
        }
        assert!(!parse("run hash").lists_guests());
    }

    #[test]
    fn every_option_of_a_run_arrives() {
        let line = "run /g.elf --cpus 4 --storage 1G --interval 10000 --real-time --rtc 2026-01-01T00:00:00 \
                    --qemu /q --out /o --json /j --silence 5 --cpu-model z14";
        let options = run(line).unwrap();
        assert_eq!(
            (&options.guest[..], options.cpus, options.storage),
            ("/g.elf", Some(4), Storage(1 << 30))
        );
        assert_eq!(
            (options.sampling, options.mode),
            (Sampling::Every(10_000), Mode::RealTime)
        );
        assert_eq!(options.rtc.to_string(), "2026-01-01T00:00:00");
        assert_eq!(
            (options.silence.as_secs(), &options.cpu_model[..]),
            (5, "z14")
        );
        assert_eq!(options.configuration, Configuration::default());
        assert_eq!(
            run("run --freq 1000").unwrap().sampling,
            Sampling::Every(1_000_000)
        );
        assert_eq!(run("run --no-sampling").unwrap().sampling, Sampling::Off);
        assert_eq!(
            run("run --counters basic,extended").unwrap().counters,
            Some(CounterChoice(3))
        );
        let caches = run("run --exact-caches i=96K/6/256").unwrap().exact_caches;
        assert_eq!(caches.unwrap().to_string(), "i=96K/6/256/8,d=128K/8/256/8");
        assert_eq!(run("run --interval off").unwrap().sampling, Sampling::Off);
        let judgement = run("run --expect PASS --fail-on ^FAIL").unwrap().judgement;
        assert_eq!(judgement.expect, ["PASS"]);
        assert_eq!(judgement.fail_on[0].as_str(), "^FAIL");
        let options = run("run /g.elf --cpus 2 -- -smp 2").unwrap();
        assert_eq!((&options.arguments[..], options.cpus), ("-smp 2", Some(2)));
        assert_eq!(options.mode, Mode::Exact);
    }

    #[test]
    fn options_of_what_the_guest_finds_arrive() {
        let options = run("run --model ZEC12 --level vm --host-parameter 0xC0FFEE --dedicated");
        let found = options.unwrap().configuration;
        assert_eq!(found.model.0.csvn, 3);
        assert_eq!(found.level(), Level::Vm);
        assert_eq!(
            (found.host_parameter, found.dedicated),
            (Some(0xC0_FFEE), true)
        );
        // The name of a guest after --secure is not its value.
        let options = run("run --threads 2 --secure count").unwrap();
        assert_eq!(options.guest, "count");
        assert_eq!(options.configuration.secure, Some(Secure::Limited));
        assert_eq!(options.configuration.threads, 2);
        // Nor after --stacks.
        let options = run("run --stacks count").unwrap();
        assert_eq!((&options.guest[..], options.stacks), ("count", Some(64)));
        assert_eq!(run("run --stacks=16").unwrap().stacks, Some(16));
        let options = run("run --stacks=dwarf").unwrap();
        assert_eq!((options.stacks, options.stack_copy), (Some(64), 4096));
        assert_eq!(run("run --stacks=dwarf:8").unwrap().stack_copy, 8192);
        let options = run("run --secure=full").unwrap();
        assert_eq!(options.configuration.secure, Some(Secure::Full));
    }

    #[test]
    fn a_guest_with_devices_does_not_run_in_exact_mode() {
        let line = ["measure", "run", "--qemu-arg=-device virtio-rng-ccw"];
        let Some(Command::Run(run)) = Arguments::try_parse_from(line).unwrap().command else {
            panic!("it is a run");
        };
        let options = run.options();
        assert_eq!(options.mode, Mode::Interactive);
        let words = ["-device", "virtio-rng-ccw"].map(str::to_owned);
        assert_eq!(options.devices.arguments(), words);
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        for (line, range) in [
            ("run --cpus 17", "1..=16"),
            ("run --cpus 0", "1..=16"),
            ("run --threads 3", "1..=2"),
            ("run --model z9", "z10, z196, zec12, z13, z14, z15, z16"),
            ("run --level host", "lpar (a logical partition) or vm"),
            ("run --stacks=257", "1 to 256"),
            ("run --stacks=dwarf:9", "1 to 8"),
            ("run --stacks=0", "1 to 256"),
            ("run --secure=no", "--secure=limited or --secure=full"),
            ("run --host-parameter xyz", "16 hexadecimal digits"),
            ("run --interval 999", "from 1000 to 4294967296"),
            ("run --freq 0", "from 1 to 1000000"),
            ("run --storage 1M", "64M at least"),
            ("run --counters cache", "basic, problem, crypto, extended"),
            (
                "run --exact-caches big",
                "i=128K/8/256,d=128K/8/256/8, or default",
            ),
            (
                "run --exact-caches i=96K/8/256",
                "a size of 2K times 1, 2, 4",
            ),
            ("run --rtc tomorrow", "2026-01-01T00:00:00"),
            ("run --interval 5000 --freq 5", "cannot be used with"),
        ] {
            let refusal = run(line).unwrap_err();
            assert!(refusal.contains(range), "{line}: {refusal}");
        }
    }
}
