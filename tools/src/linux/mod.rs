//! Linux above the machine, and a command or a shell in it.
//!
//! - [`packages`]: Debian's kernel and tools, by this computer's apt ([`sources`]), kept in the [`cache`].
//! - [`programs`]: the programs that the guest gets; [`initramfs`]: its first file system.
//! - [`modules`]: the modules that the kernel loads for the devices of the host.
//! - [`ipl_disk`]: a Linux that `zipl` has installed on a disk.
//! - [`exec`]: one program in Linux, and its instructions; [`libraries`]: what it is linked with.
//! - [`kernel`]: where kernel, initrd and parameters go. No parameter names a facility: the kernel
//!   finds them as on any machine.
//! - [`screen`]: the part of the console that is shown, and how the command ended. Lines of the guest's first process
//!   mark both ([`crate::symbols::markers`]).
//! - [`names`]: the kernel's routines, from its image ([`unpack`], [`crate::symbols::kallsyms`]).
//! - [`started`]: systems that are kept as they are when they have started; [`identity`]: which of them a run has.
//! - [`native`]: the same Linux without the machine.

pub mod cache;
pub mod exec;
pub mod identity;
pub mod initramfs;
pub mod ipl_disk;
pub mod kernel;
pub mod libraries;
pub mod modules;
pub mod names;
pub mod native;
pub mod packages;
pub mod programs;
pub mod screen;
pub mod sources;
pub mod started;
pub mod unpack;

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use link::state::Mode;

use crate::{
    building::build,
    computer::{
        input_file, interrupt,
        person::Person,
        progress::Progress,
        terminal::{self, Raw},
    },
    folder,
    linux::{
        cache::Cache,
        initramfs::{Base, GuestFile, Initrd, Work},
        ipl_disk::IplDisk,
        kernel::Boot,
        screen::{Instructions, Screen},
        sources::Origin,
    },
    machine::{
        guest::Guest,
        hercules::Hercules,
        nested,
        qemu::Qemu,
        run::{self, RunOutcome},
    },
    numbers::quantities::Storage,
    options::{RunOptions, count, emulator::Emulator},
    symbols::{SymbolTable, signed::Nonce},
};

/// The console that the machine offers.
const CONSOLE: &str = "console=ttysclp0";

/// The exit code if the guest ended before its command did.
const GUEST_FAILED: u8 = 3;

/// How many lines of the console go into the message about a guest that failed.
const QUOTED_LINES: usize = 15;

/// A release of Debian's kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Release {
    /// The one that Debian 12 came with.
    #[default]
    #[value(name = "6.1")]
    V6_1,
    /// The one of its backports.
    #[value(name = "6.12")]
    V6_12,
    /// The newest of the release that Debian prepares, when it is fetched.
    #[value(name = "newest")]
    Newest,
}

impl Release {
    /// What of Debian has it.
    pub fn origin(self) -> Origin {
        match self {
            Self::V6_1 => Origin::PROGRAMS,
            Self::V6_12 => Origin::BACKPORTS,
            Self::Newest => Origin::NEWEST,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
            Self::Newest => "newest",
        })
    }
}

/// Everything that decides a run of Linux.
#[derive(Clone, Debug, Default)]
pub struct LinuxOptions {
    /// Which of Debian's kernels.
    pub release: Release,
    /// Another kernel.
    pub kernel: Option<PathBuf>,
    /// An archive that takes the place of Debian's tools.
    pub initrd: Option<PathBuf>,
    /// More of the command line.
    pub append: Option<String>,
    /// A disk that Linux is installed on, which takes the place of kernel, archive and command line.
    pub ipl_disk: Option<IplDisk>,
    /// A script to run.
    pub script: Option<PathBuf>,
    /// A command to run, or the script's arguments.
    pub command: Vec<String>,
    /// Files that the command needs, by their names from the root on.
    pub files: BTreeMap<String, GuestFile>,
    /// Whether the whole console is shown.
    pub verbose: bool,
    /// Whether the system boots, even if it is kept as it is when it has started.
    pub fresh: bool,
    /// A file with the kernel's symbols, instead of those in its image.
    pub symbols: Option<PathBuf>,
    /// The options of every run. The guest that they name is ignored.
    pub run: RunOptions,
}

/// The outcome of a run of Linux.
#[derive(Clone, Debug)]
pub struct LinuxOutcome {
    /// The outcome of the run itself.
    pub run: RunOutcome,
    /// The exit code of the command, if it came to its end.
    pub code: Option<u8>,
    /// How many instructions the command took, if they were counted.
    pub counts: Option<Instructions>,
    /// Whether there was a command, or a shell.
    pub has_work: bool,
    /// Whether somebody typed.
    pub is_interactive: bool,
    /// Whether the raw files are there when the command has ended.
    pub keeps_files: bool,
}

impl LinuxOptions {
    /// Whether a person types in a shell: there is no command and no script, and Debian's initrd has a shell.
    pub fn wants_shell(&self) -> bool {
        self.script.is_none()
            && self.command.is_empty()
            && self.initrd.is_none()
            && self.ipl_disk.is_none()
    }
}

impl LinuxOutcome {
    /// The outcome of Linux itself, above all machines.
    fn guest(&self) -> &RunOutcome {
        self.run.of_guest()
    }

    /// The exit code of the tool: that of the command, if both command and guest came to their ends.
    pub fn exit_code(&self) -> u8 {
        match (self.guest().end.exit_code(), self.code) {
            (0, Some(code)) => code,
            (0, None) if self.has_work => GUEST_FAILED,
            (0, None) => 0,
            // An exit code that the kernel named is not the command's.
            _ if self.guest().end.is_of_guest() => GUEST_FAILED,
            (end, _) => end,
        }
    }

    /// The message about a run that failed. The exit code of a command is not a failure of the run.
    pub fn complaint(&self) -> Option<String> {
        let guest = self.guest();
        let mut text = match (guest.end.exit_code(), self.code) {
            (0, Some(_)) => return None,
            (0, None) if self.has_work => {
                "the guest stopped before the command had come to its end".to_owned()
            }
            (0, None) => return None,
            _ => guest.end.sentence(),
        };
        let lines: Vec<&str> = guest.console.trim_end().lines().collect();
        // A person who types has seen them.
        if !lines.is_empty() && !self.is_interactive {
            let quoted = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n");
            let file = guest.report.directory.join(folder::CONSOLE);
            let all = match self.keeps_files {
                true => format!(" (all of it is in {})", file.display()),
                false => String::new(),
            };
            text.push_str(&format!(
                "\nThe last lines of the guest's console{all}:\n{quoted}"
            ));
        }
        Some(text)
    }
}

/// What is booted.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The kernel's file.
    pub kernel: PathBuf,
    /// What lies below the work in its first file system.
    base: Base,
    /// Its command line.
    pub command_line: String,
    /// What the guest does, if its first process is the tool's own.
    work: Option<Work>,
    /// With what that process signs what it says.
    pub nonce: Option<Nonce>,
}

impl Prepared {
    /// The first file system.
    pub fn initrd(&self) -> Result<Initrd> {
        match &self.work {
            Some(work) => initramfs::with_work(self.base.archive()?, work, None),
            None => Ok(Initrd::whole(self.base.archive()?)),
        }
    }

    /// The archives with the programs and with the command's files.
    fn archives(&self) -> Result<Vec<Vec<u8>>> {
        let mut archives = vec![self.base.archive()?];
        if let Some(work) = &self.work {
            archives.push(work.order()?);
        }
        Ok(archives)
    }

    /// The guest with this first file system.
    fn guest(&self, initrd: &Initrd, storage: Storage) -> Result<Guest> {
        let boot = Boot {
            kernel: &self.kernel,
            initrd,
            command_line: &self.command_line,
            storage,
        };
        boot.guest()
    }

    /// A guest with the names of this one, and with this first file system.
    fn with(&self, initrd: &Initrd, named: &Guest, storage: Storage) -> Result<Guest> {
        Ok(Guest {
            symbols: named.symbols.clone(),
            names: named.names.clone(),
            ..self.guest(initrd, storage)?
        })
    }
}

/// Gets and makes what is booted.
pub fn prepare(options: &LinuxOptions, progress: &Progress) -> Result<Prepared> {
    let script = options.script.as_ref().map(|file| {
        input_file::read_awaited(file)
            .with_context(|| format!("cannot read the script {}", file.display()))
    });
    let script = script.transpose()?;
    let wants_shell = options.wants_shell();
    let has_work = script.is_some() || !options.command.is_empty() || wants_shell;
    let devices = &options.run.devices;
    let (kernel, modules) = match &options.kernel {
        // Its drivers are built in.
        Some(file) => {
            input_file::open(file)
                .with_context(|| format!("cannot read the kernel {}", file.display()))?;
            (file.clone(), Vec::new())
        }
        None => {
            let kernel = packages::kernel(&Cache::of_user()?, options.release, progress)?;
            (kernel.image, modules::of(&kernel.modules, devices))
        }
    };
    let base = match &options.initrd {
        Some(file) => {
            let data = input_file::read_once(file)
                .with_context(|| format!("cannot read the initrd {}", file.display()))?;
            initramfs::check(file, &data)?;
            Base::Own(data)
        }
        None => Base::Programs(packages::programs(&Cache::of_user()?, progress)?),
    };
    let mut command_line = CONSOLE.to_owned();
    let mut work = None;
    let mut nonce = None;
    if has_work {
        let first = options.run.again.as_ref();
        let sign = match first.and_then(|again| again.nonce.clone()) {
            Some(nonce) => nonce,
            None => Nonce::new()?,
        };
        let mut new = if wants_shell {
            Work::shell(terminal::size(), options.verbose)
        } else {
            Work::new(&options.command, script, options.verbose)
        };
        new.files.clone_from(&options.files);
        new.network = devices.network;
        new.nonce = sign.text().to_owned();
        new.profile = options.run.takes_samples();
        if new.profile && options.run.stacks.is_some() && !wants_shell {
            let file = build::build_programs(progress)?.join("mappings");
            let program =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            new.mappings = Some(program);
        }
        // An archive of the user's own may have no program that unpacks another one.
        new.is_order = !wants_shell && options.initrd.is_none();
        for (name, file) in modules {
            let data = fs::read(&file)
                .with_context(|| format!("cannot read the module {}", file.display()))?;
            new.modules.insert(name, data);
        }
        work = Some(new);
        nonce = Some(sign);
        command_line.push_str(&format!(" rdinit={}", initramfs::INIT));
    }
    if options.run.traces() {
        command_line.push_str(&format!(" {}", names::NO_KASLR));
    }
    if let Some(more) = &options.append {
        command_line.push_str(&format!(" {more}"));
    }
    Ok(Prepared {
        kernel,
        base,
        command_line,
        work,
        nonce,
    })
}

/// The options with what is counted of such a run.
fn counted(options: &LinuxOptions) -> Result<LinuxOptions> {
    let mut options = options.clone();
    if let Some(counted) = &options.run.count {
        let can_be_held = started::can_be_held(&options);
        options.run.count = Some(count::of_linux(
            counted,
            options.wants_shell(),
            can_be_held,
        )?);
    }
    Ok(options)
}

/// The emulator below the machine.
enum Below {
    Qemu(Qemu),
    Hercules(Hercules),
}

/// Boots Linux, or goes on with one that has started, and runs the command in it; `out` shows what it writes. An error
/// means that nothing could be started.
pub fn run(
    options: &LinuxOptions,
    progress: &Progress,
    out: &mut dyn Write,
) -> Result<LinuxOutcome> {
    nested::check(&options.run)?;
    let options = &counted(options)?;
    if options.run.nested != 0 && options.wants_shell() {
        bail!("a run with --nested has no shell for a person; add a command behind --");
    }
    let below = match options.run.below {
        Emulator::Qemu => Below::Qemu(run::ready(&options.run, progress)?),
        Emulator::Hercules => Below::Hercules(run::ready_in_hercules(&options.run, progress)?),
    };
    if let (Below::Qemu(qemu), Some(disk)) = (&below, &options.ipl_disk) {
        return run_installed(disk, options, qemu, progress, out);
    }
    let mut prepared = prepare(options, progress)?;
    let has_work = prepared.work.is_some();
    // A guest that is kept has its first file system already.
    let mut guest = prepared.guest(&Initrd::default(), options.run.storage)?;
    if options.run.has_addresses() {
        let file = options.symbols.as_deref();
        guest.symbols = kernel_names(&prepared.kernel, file, progress)?;
        if options.run.traces() {
            (guest.symbols, guest.names) = names::traced(&prepared.kernel, file, guest.symbols);
        }
    }
    let mut started = None;
    if let Below::Qemu(qemu) = &below
        && started::is_wanted(options)
        && has_work
    {
        match started::system(&prepared, &guest, options, qemu, progress) {
            Ok((system, nonce)) => {
                prepared.nonce = Some(nonce);
                started = Some(system);
            }
            Err(error) if interrupt::requested() => return Err(error),
            // What is wrong shows when it boots by itself.
            Err(error) => progress.note(&format!(
                "this run boots, because no kept system can be used: {error:#}"
            )),
        }
    }
    if started.is_none() {
        let initrd = prepared.initrd()?;
        guest = prepared.with(&initrd, &guest, options.run.storage)?;
    }
    guest.nonce.clone_from(&prepared.nonce);
    if options.run.stacks.is_some() {
        guest.archives = prepared.archives()?;
    }
    let wants_shell = options.wants_shell();
    // An initrd's own first process writes no markers, and a person who waits for a shell sees the kernel's messages.
    let mut screen = Screen::new(out, options.verbose || !has_work || wants_shell);
    let mut run_options = options.run.clone();
    if let Some(nonce) = &prepared.nonce
        && started::can_be_held(options)
    {
        run_options.operator.push(started::hold(nonce));
    }
    let mut raw = None;
    let mut input = None;
    if wants_shell {
        raw = connect(&mut run_options, progress);
        input = Some(terminal::typed());
    }
    let person = Some(Person {
        input,
        is_operator: false,
        screen: &mut screen,
    });
    let run = match (&below, started) {
        (Below::Qemu(qemu), None) if run_options.nested != 0 => {
            run::run_nested(qemu, guest, &run_options, progress, person)
        }
        (Below::Qemu(qemu), Some(started)) => {
            run::run_from(started, qemu, &guest, &run_options, progress, person)
        }
        (Below::Qemu(qemu), None) => {
            run::run_guest(qemu, &guest, &run_options, progress, person, [])
        }
        (Below::Hercules(hercules), _) => {
            run::run_guest_in_hercules(hercules, &guest, &run_options, progress, person)
        }
    };
    drop(raw);
    Ok(LinuxOutcome {
        run: run?,
        code: screen.code(),
        counts: screen.counts(),
        has_work,
        is_interactive: wants_shell,
        keeps_files: options.run.keeps_files,
    })
}

/// Boots what is installed on a disk, with this terminal as its console.
fn run_installed(
    disk: &IplDisk,
    options: &LinuxOptions,
    qemu: &Qemu,
    progress: &Progress,
    out: &mut dyn Write,
) -> Result<LinuxOutcome> {
    let guest = ipl_disk::guest(disk, options.run.storage, progress)?;
    let mut screen = Screen::new(out, true);
    let mut run_options = options.run.clone();
    let raw = connect(&mut run_options, progress);
    let person = Some(Person {
        input: Some(terminal::typed()),
        is_operator: false,
        screen: &mut screen,
    });
    let run = run::run_guest(qemu, &guest, &run_options, progress, person, []);
    drop(raw);
    Ok(LinuxOutcome {
        run: run?,
        code: None,
        counts: None,
        has_work: false,
        is_interactive: true,
        keeps_files: options.run.keeps_files,
    })
}

/// Connects this terminal to the console of a guest in which a person types.
fn connect(options: &mut RunOptions, progress: &Progress) -> Option<Raw> {
    progress.note(&format!(
        "{}\n{}",
        interactive(options.mode),
        terminal::HELP
    ));
    if options.mode == Mode::Exact {
        options.mode = Mode::Interactive;
    }
    let raw = Raw::enter();
    if raw.is_some() {
        // A person may be silent for as long as they like, and so may a guest that waits for them.
        options.silence = Duration::MAX;
    }
    raw
}

/// A note for a run in which somebody types.
fn interactive(mode: Mode) -> &'static str {
    match mode {
        Mode::RealTime | Mode::Native => {
            "This run is interactive and in real time: it is not repeatable, and instructions cannot be counted."
        }
        Mode::Exact | Mode::Interactive => {
            "This run is interactive: exact in instructions, but not repeatable."
        }
    }
}

/// The kernel's routines. A kernel without names can still be profiled, but a file of symbols must be readable.
fn kernel_names(kernel: &Path, file: Option<&Path>, progress: &Progress) -> Result<SymbolTable> {
    let image = input_file::read(kernel)
        .with_context(|| format!("cannot read the kernel {}", kernel.display()))?;
    match names::of_image(&image, file) {
        Err(error) if file.is_none() => {
            progress.note(&format!(
                "the routines of {} have no names: {error:#}",
                kernel.display()
            ));
            Ok(SymbolTable::default())
        }
        names => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_or_a_first_file_system_that_may_have_no_end_is_refused_at_once() {
        let device = || Some(PathBuf::from("/dev/full"));
        let kernel = LinuxOptions {
            kernel: device(),
            ..LinuxOptions::default()
        };
        // Any regular file is a kernel until it is booted.
        let own = tempfile::NamedTempFile::new().unwrap();
        let initrd = LinuxOptions {
            kernel: Some(own.path().to_owned()),
            initrd: device(),
            ..LinuxOptions::default()
        };
        for (options, what) in [(kernel, "kernel"), (initrd, "initrd")] {
            let refused = prepare(&options, &Progress::Silent).map(drop).unwrap_err();
            let refused = format!("{refused:#}");
            for word in [what, "/dev/full", "a device", "copy"] {
                assert!(refused.contains(word), "{word}: {refused}");
            }
        }
    }
}
