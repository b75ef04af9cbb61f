//! The trap without the instruction: what every interruption costs before and after it.
//!
//! A guest sees by its clock how long a whole trap takes, but not its parts. So the guest `trap` runs a second time
//! with every instruction of the image in QEMU's log. The log is cut where a program interruption enters. The most
//! frequent path is that of the guest's one instruction. By the image's debug information it is divided: [`FAST_PATH`],
//! which the compiler puts into its callers, and the routines that it calls fetch the text, decode and perform the
//! instruction. The rest is entry, stamps, pending test and exit.
//!
//! The log is read from a pipe while QEMU writes it, and is not kept.

use std::{
    collections::HashSet, fmt, fs, io::BufReader, ops::Range, os::fd::AsRawFd, path::PathBuf,
    process, thread,
};

use anyhow::{Context, Result, anyhow, bail};

use crate::{
    building::build,
    computer::{progress::Progress, temporary::Temporary},
    machine::{
        failure::ImageSymbols,
        run::{RunOutcome, run},
    },
    numbers::quantities::{LEAST_STORAGE, Sampling, Storage},
    options::{RunOptions, execution_log::ExecutionLog},
    symbols::{Symbol, SymbolTable, debug::DebugInformation},
};

mod paths;

use paths::{Paths, paths};

/// The guest that executes one instruction over and over.
pub const GUEST: &str = "trap";

/// The routine that fetches, decodes and performs a common instruction in the usual case, generic
/// arguments apart; the names of its parts begin so, too.
pub const FAST_PATH: &str = "millicode::fast_path::perform";

/// Where program interruptions enter.
const ENTRY: &str = "trap_program";

/// The beginning of the names of all entries.
const ENTRIES: &str = "trap_";

/// What comes before: the CPU's own copy of the entry's first instructions, which is outside of the image and so of the log.
/// That they are so many is held by the test that compares the path with what the guest sees by its clock.
const COPY: &str = "(the CPU's copy of the entry)";
const INSTRUCTIONS_OF_COPY: u64 = 6;

/// The name for addresses outside all routines.
const NO_ROUTINE: &str = "(no routine of the image)";

/// One routine's share of the path of an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The routine.
    pub routine: String,
    /// Whether it is [`FAST_PATH`] or works for it.
    pub performs: bool,
    /// Instructions.
    pub instructions: u64,
}

/// The path of one interruption through the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Its parts, in the order in which they are first entered.
    pub parts: Vec<Part>,
}

impl Trap {
    /// All its instructions.
    pub fn whole(&self) -> u64 {
        self.parts.iter().map(|part| part.instructions).sum()
    }

    /// Its instructions outside [`FAST_PATH`].
    pub fn outside(&self) -> u64 {
        let outside = self.parts.iter().filter(|part| !part.performs);
        outside.map(|part| part.instructions).sum()
    }

    fn add(&mut self, routine: &str, performs: bool) {
        let known = self
            .parts
            .iter_mut()
            .find(|part| part.routine == routine && part.performs == performs);
        match known {
            Some(part) => part.instructions += 1,
            None => self.parts.push(Part {
                routine: routine.to_owned(),
                performs,
                instructions: 1,
            }),
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            let what = if part.performs { "performs" } else { "" };
            writeln!(f, "{:6}  {what:8}  {}", part.instructions, part.routine)?;
        }
        let (whole, outside) = (self.whole(), self.outside());
        write!(f, "{whole:6}  in all, {outside} of them do not perform")
    }
}

fn is_fast_path(name: &str) -> bool {
    name.contains(FAST_PATH)
}

/// Runs the guest twice, to learn where the image stands and to log it there.
pub fn measure(options: &RunOptions, progress: &Progress) -> Result<Trap> {
    let file = build::build_image(progress)?;
    let elf =
        fs::read(&file).with_context(|| format!("cannot read the image {}", file.display()))?;
    let image = ImageSymbols::new(&elf)?;
    let parsed = object::File::parse(&elf[..]).context("the image is not an ELF file")?;
    let debug = DebugInformation::read(&parsed, "the image")
        .context("the path `trap` is divided by the image's debug information")?;
    let step = progress.step("logging the instructions of a trap");
    let mut options = options.clone();
    options.guest = GUEST.to_owned();
    options.cpus = Some(1);
    options.sampling = Sampling::Off;
    // The length of the log depends on the IPL, and that on the storage to prepare.
    options.storage = Storage(LEAST_STORAGE);
    options.execution_log = None;
    let place = place(&quiet_run(&options)?)?;
    let code = Code::new(image.symbols(), place.wrapping_sub(image.base()))?;
    let (reader, writer) = std::io::pipe().context("cannot create a pipe for QEMU's log")?;
    options.execution_log = Some(ExecutionLog {
        // QEMU opens the pipe by this name, as long as this process holds it.
        file: PathBuf::from(format!("/proc/{}/fd/{}", process::id(), writer.as_raw_fd())),
        addresses: code.range.clone(),
    });
    let entries = code.entries.clone();
    let entry = code.entry;
    let reading = thread::spawn(move || paths(BufReader::new(reader), entry, &entries));
    let outcome = quiet_run(&options);
    drop(writer);
    let paths = reading
        .join()
        .map_err(|_| anyhow!("the reader of QEMU's log has failed"))?;
    // A reader that fails also ends QEMU's run, so its reason is the one to report.
    let paths = paths?;
    let performs = |address| is_in_fast_path(&debug, address);
    let mut trap = code.trap(&paths, times(&outcome?.console)?, performs)?;
    trap.parts.insert(
        0,
        Part {
            routine: COPY.to_owned(),
            performs: false,
            instructions: INSTRUCTIONS_OF_COPY,
        },
    );
    step.done("logged the instructions of a trap");
    Ok(trap)
}

fn quiet_run(options: &RunOptions) -> Result<RunOutcome> {
    let directory = Temporary::new()?;
    let mut options = options.clone();
    options.out = Some(directory.path().to_owned());
    let outcome = run(&options, &Progress::Silent)?;
    if outcome.end.exit_code() != 0 {
        bail!("{}\n{}", outcome.end.sentence(), outcome.console);
    }
    Ok(outcome)
}

/// The address of the image: the beginning of the HSA.
fn place(outcome: &RunOutcome) -> Result<u64> {
    let started = outcome.report.record.started.as_ref();
    Ok(started
        .context("the machine has not said where its HSA begins; this is a defect of the machine")?
        .guest_storage_end)
}

/// How often the guest says that it executed the instruction.
fn times(console: &str) -> Result<u64> {
    console
        .lines()
        .find_map(|line| line.strip_prefix("times ")?.parse().ok())
        .with_context(|| {
            format!("the guest {GUEST} did not print a line `times NUMBER`, but:\n{console}")
        })
}

/// Whether the instruction at an address of the ELF is part of [`FAST_PATH`].
fn is_in_fast_path(debug: &DebugInformation<'_>, address: u64) -> bool {
    let mut names = debug.frames(address).filter_map(|frame| frame.function());
    names.any(|name| is_fast_path(&name))
}

/// The image's code at the place where it runs.
struct Code<'a> {
    symbols: &'a SymbolTable,
    /// The distance from an address in the ELF to the one in storage.
    moved: u64,
    range: Range<u64>,
    entry: u64,
    entries: HashSet<u64>,
}

impl<'a> Code<'a> {
    fn new(symbols: &'a SymbolTable, moved: u64) -> Result<Self> {
        let at = |symbol: &Symbol| symbol.start.wrapping_add(moved);
        let all = symbols.symbols();
        let (Some(first), Some(last), Some(entry)) = (
            all.first(),
            all.last(),
            all.iter().find(|symbol| symbol.name == ENTRY),
        ) else {
            bail!(
                "the image has no symbol {ENTRY}, where program interruptions enter; name its successor in {}",
                file!()
            );
        };
        let entries = all.iter().filter(|symbol| symbol.name.starts_with(ENTRIES));
        Ok(Self {
            symbols,
            moved,
            range: at(first)..last.end.wrapping_add(moved),
            entry: at(entry),
            entries: entries.map(at).collect(),
        })
    }

    /// The path that most traps take.
    fn trap(&self, paths: &Paths, times: u64, performs: impl Fn(u64) -> bool) -> Result<Trap> {
        let Some((path, count)) = paths.iter().max_by_key(|(_, count)| **count) else {
            bail!(
                "QEMU's log shows no program interruption at {:X}, where the image's {ENTRY} stands; is that QEMU one of 7.2 to 10.0? Name another with --qemu PATH",
                self.entry
            );
        };
        if *count <= times / 2 {
            bail!(
                "of the {times} traps of the guest {GUEST} no more than {count} take the same path, so none is the usual one; this is a defect of the machine, whose paths should be warm after a few traps"
            );
        }
        let mut trap = Trap { parts: Vec::new() };
        // The routines that have been entered and have not returned; whether each was called by the fast path.
        let mut entered: Vec<(&str, bool)> = Vec::new();
        let mut performed = false;
        for address in path {
            let address = address.wrapping_sub(self.moved);
            let symbol = self.symbols.find(address);
            let name = symbol.map_or(NO_ROUTINE, |symbol| &symbol.name);
            match entered.iter().position(|(known, _)| *known == name) {
                Some(place) => entered.truncate(place + 1),
                None => entered.push((name, performed)),
            }
            let called = entered.last().is_some_and(|(_, called)| *called);
            performed = called || performs(address);
            trap.add(name, performed);
        }
        if performed {
            bail!(
                "{FAST_PATH} does not return to {ENTRY} in the usual trap of the guest {GUEST}, so the path `trap` cannot be told from the rest; let it return before the exit:\n{trap}"
            );
        }
        if trap.outside() == trap.whole() {
            bail!(
                "the usual trap of the guest {GUEST} does not go through {FAST_PATH}, so the path `trap` cannot be told from the rest; make STORE CPU ADDRESS one of its instructions again:\n{trap}"
            );
        }
        Ok(trap)
    }
}

#[cfg(test)]
mod tests;
