//! The command line of `linux`.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use anyhow::{Result, bail};
use clap::Args;
use {link::state::Mode, per::trace::MOST_TRACES};

use crate::{
    args::{
        BelowArguments, LevelArguments, ParameterFile, cpus, definitions, frequency, his_command,
        parameter_file,
    },
    events::command::event,
    linux::{LinuxOptions, Release, ipl_disk::IplDisk},
    numbers::quantities::{Sampling, Storage},
    options::{
        RunOptions, configuration::Configuration, devices::Devices, disk::Disk, emulator::Emulator,
    },
};

/// How often the machine takes a sample by default.
pub(super) const PROFILE: Sampling = Sampling::Every(100_000);

/// Options of every run of Debian's Linux.
#[derive(Clone, Debug, Args)]
pub struct SystemArguments {
    /// Debian's kernel
    #[arg(long, value_enum, default_value = "6.1", conflicts_with = "kernel")]
    pub release: Release,
    /// A kernel of your own: the bzImage that is installed as /boot/vmlinuz
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = cpus())]
    pub cpus: u32,
    /// Storage of the machine, as 512M or 2G; 16G at most are used
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub storage: Storage,
    /// Boot, even if the system is kept as it is when it has started
    #[arg(long)]
    pub fresh: bool,
}

impl SystemArguments {
    /// The options of a system with these options of a run.
    pub fn options(&self, run: RunOptions) -> LinuxOptions {
        LinuxOptions {
            release: self.release,
            kernel: self.kernel.clone(),
            fresh: self.fresh,
            run: RunOptions {
                cpus: Some(self.cpus),
                storage: self.storage,
                ..run
            },
            ..LinuxOptions::default()
        }
    }
}

/// Options of `linux`.
#[derive(Clone, Debug, Args)]
pub struct LinuxArguments {
    /// The system.
    #[command(flatten)]
    pub system: SystemArguments,
    /// An initrd of your own. Its /bin/sh runs the command; without a command its own first process runs
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// A disk on which Linux is installed, with a boot record of the guest's `zipl`. It is the guest's disk /dev/vda, and
    /// kernel, parameters and initrd are those of the record. This terminal is the console, if the parameters have
    /// console=ttysclp0. FILE,ro is read only
    #[arg(long, value_name = "FILE", conflicts_with_all = ["release", "kernel", "initrd", "append", "script", "command", "fresh", "event"])]
    pub ipl_disk: Option<Disk>,
    /// The number of the program in the boot record of --ipl-disk; 0 is the default
    #[arg(long, value_name = "N", requires = "ipl_disk", default_value_t = 0)]
    pub loadparm: usize,
    /// Words to add to the kernel's command line
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub append: Option<String>,
    /// A script for the guest's /bin/sh; the words after -- are its arguments
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Show the whole console, the kernel's messages included
    #[arg(long)]
    pub verbose: bool,
    /// Also profile the whole boot from below, a sample every 100000 cycles, and report
    #[arg(long, conflicts_with = "no_sampling")]
    pub profile: bool,
    /// Profile from below: cycles from one sample to the next, 1000 to 4294967296, or off [default: off, 100000
    /// with --profile]
    #[arg(long, value_name = "CYCLES", conflicts_with = "freq")]
    pub interval: Option<Sampling>,
    /// Profile from below: samples per second of guest time
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub freq: Option<Sampling>,
    /// Take no samples (the default)
    #[arg(long, conflicts_with_all = ["freq", "interval"])]
    pub no_sampling: bool,
    /// What the operator says to HIS before the guest starts, as 'F HIS,B,CTRSET=ALL'
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["freq", "interval", "profile"], value_parser = his_command)]
    pub his: Vec<String>,
    /// A parameter file of HIS: DDNAME=NAME in a command to HIS takes its keywords from FILE
    #[arg(long, value_name = "NAME=FILE", requires = "his", value_parser = parameter_file)]
    pub dd: Vec<ParameterFile>,
    /// Let the host's clock run instead of counting instructions: cycles only, and CPUs side by side
    #[arg(long)]
    pub real_time: bool,
    /// The symbols of the kernel for a profile, as System.map or /proc/kallsyms has them [default: those in the
    /// kernel]
    #[arg(long, value_name = "FILE")]
    pub symbols: Option<PathBuf>,
    /// Trace program events from the start, as 'FETCH RANGE vfs_read' (see trace --help). The kernel then lies where
    /// it is linked (nokaslr), so you can name its symbols. `measure trace --of DIR` shows the events; up to 8
    #[arg(short, long, value_name = "EVENT", value_parser = event)]
    pub event: Vec<String>,
    /// What the operator says before the guest starts, as 'AUTH CPU ALL COUNTERS CRYPTO ON'; may be given several
    /// times. Diagnostic sampling is authorized before that
    #[arg(long, value_name = "COMMAND")]
    pub operator: Vec<String>,
    /// What the operator says when a trace has stopped the guest, or every CPU waits: one of these each time
    #[arg(long, value_name = "COMMAND")]
    pub when_waiting: Vec<String>,
    /// Machines above the machine.
    #[command(flatten)]
    pub levels: LevelArguments,
    /// The emulator below the machine. Below hercules, Linux boots each time, in real time and without devices
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
    /// What is below the machine.
    #[command(flatten)]
    pub below: BelowArguments,
    /// Where the raw files go [default: a fresh millimeter-linux-N]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the report of the machine as a JSON object to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// A link that is silent for this many seconds has failed
    ///
    /// The default is longer than for other guests. The machine shows signs of life by the guest's time, and while
    /// Linux changes its own tables, a second of the machine is hardly any time of the guest.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    pub silence: u64,
    /// End a guest that still runs after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// What the guest finds.
    #[command(flatten, next_help_heading = "What the guest finds")]
    pub configuration: Configuration,
    /// A file for the guest's disk /dev/vda; the next one is for /dev/vdb, and so on. FILE,ro is read only. A
    /// run with devices of the host is exact in instructions but not repeatable
    #[arg(long, value_name = "FILE")]
    pub disk: Vec<Disk>,
    /// A network card, eth0, with the address 10.0.2.15; in its network this computer is 10.0.2.2
    #[arg(long)]
    pub net: bool,
    /// What /bin/sh runs: one word is a line for the shell, several are a program and its arguments. Without
    /// it, a script or an initrd of your own, this terminal is connected to a shell in the guest
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The operator's command that authorizes diagnostic sampling. Programs of Linux that show what can be sampled expect both
/// modes, as an administrator of a logical partition authorizes them.
const DIAGNOSTIC: &str = "AUTH CPU ALL SAMPLING DIAGNOSTIC ON";

impl LinuxArguments {
    /// What the guest is authorized to do, if the model has it.
    fn authorized(&self) -> Vec<String> {
        let has_it = self.configuration.model.0.dsdes != 0;
        has_it.then(|| DIAGNOSTIC.to_owned()).into_iter().collect()
    }

    /// The options that these arguments choose.
    pub fn options(&self) -> Result<LinuxOptions> {
        let devices = Devices {
            disks: self.ipl_disk.iter().chain(&self.disk).cloned().collect(),
            network: self.net,
            more: Vec::new(),
        };
        let mode = if self.real_time || self.emulator == Emulator::Hercules {
            Mode::RealTime
        } else if devices.is_empty() {
            Mode::Exact
        } else {
            Mode::Interactive
        };
        let usual = if self.profile { PROFILE } else { Sampling::Off };
        let sampling = self.freq.or(self.interval).unwrap_or(usual);
        if sampling == Sampling::Off && (self.profile || self.symbols.is_some()) {
            bail!(
                "nothing is profiled, so --interval off and --symbols have no effect; leave them out, or add --profile"
            );
        }
        if self.event.len() > MOST_TRACES {
            bail!(
                "{} traces are too many; there can be {MOST_TRACES} at once",
                self.event.len()
            );
        }
        let run = RunOptions {
            configuration: self.configuration.clone(),
            sampling,
            mode,
            below: self.emulator,
            hercules: self.hercules.clone(),
            out: self.out.clone(),
            operator: [
                self.authorized(),
                definitions(&self.dd),
                self.his.clone(),
                self.event.clone(),
                self.operator.clone(),
            ]
            .concat(),
            when_waiting: self.when_waiting.clone(),
            devices,
            silence: Duration::from_secs(self.silence),
            limit: self.limit.map(Duration::from_secs),
            nested: self.levels.nested,
            ..self.below.options("linux")
        };
        Ok(LinuxOptions {
            initrd: self.initrd.clone(),
            append: self.append.clone(),
            ipl_disk: self.ipl_disk.clone().map(|disk| IplDisk {
                disk,
                program: self.loadparm,
                symbols: self.symbols.clone(),
            }),
            script: self.script.clone(),
            command: self.command.clone(),
            files: BTreeMap::new(),
            verbose: self.verbose,
            symbols: self.symbols.clone(),
            ..self.system.options(run)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn linux(line: &[&str]) -> Result<LinuxOptions, String> {
        let words = ["measure", "linux"].iter().chain(line);
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            Some(Command::Linux(linux)) => linux.options().map_err(|error| error.to_string()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn linux_runs_the_words_after_two_hyphens() {
        let options = linux(&["--", "perf", "stat", "--cpus"]).unwrap();
        assert_eq!(options.command, ["perf", "stat", "--cpus"]);
        assert_eq!(options.release, Release::V6_1);
        assert_eq!(
            (options.run.sampling, options.run.cpus),
            (Sampling::Off, Some(1))
        );
        let options = linux(&[
            "--release",
            "6.12",
            "--freq",
            "1000",
            "--script",
            "/s",
            "--",
            "a",
        ]);
        let options = options.unwrap();
        assert_eq!(options.release, Release::V6_12);
        assert_eq!(options.run.sampling, Sampling::Every(1_000_000));
        assert_eq!(options.script, Some("/s".into()));
    }

    #[test]
    fn without_anything_to_run_there_is_a_shell() {
        assert!(linux(&[]).unwrap().wants_shell());
        assert!(
            linux(&["--real-time", "--cpus", "2"])
                .unwrap()
                .wants_shell()
        );
        for line in [&["--initrd", "/i"][..], &["--script", "/s"], &["--", "ls"]] {
            assert!(!linux(line).unwrap().wants_shell(), "{line:?}");
        }
    }

    #[test]
    fn time_is_counted_in_instructions_unless_the_host_clock_is_chosen() {
        let mode = |line: &[&str]| linux(line).unwrap().run.mode;
        assert_eq!(mode(&["--", "ls"]), Mode::Exact);
        assert_eq!(mode(&["--real-time", "--", "ls"]), Mode::RealTime);
        assert_eq!(mode(&["--below", "hercules", "--", "ls"]), Mode::RealTime);
    }

    #[test]
    fn a_guest_with_devices_of_the_host_does_not_run_in_exact_mode() {
        let options = linux(&["--disk", "/a", "--disk", "/b,ro", "--", "ls"]).unwrap();
        assert_eq!(options.run.mode, Mode::Interactive);
        let disks: Vec<String> = options
            .run
            .devices
            .disks
            .iter()
            .map(Disk::to_string)
            .collect();
        assert_eq!(disks, ["/a", "/b, read only"]);
        let options = linux(&["--net", "--", "ls"]).unwrap();
        assert!(options.run.devices.network && options.run.mode == Mode::Interactive);
        assert_eq!(linux(&["--", "ls"]).unwrap().run.mode, Mode::Exact);
    }

    #[test]
    fn a_profile_from_below_is_taken_if_anything_of_it_is_named() {
        let sampling = |line: &[&str]| {
            let line = [line, &["--", "ls"]].concat();
            linux(&line).map(|options| options.run.sampling)
        };
        assert_eq!(sampling(&[]), Ok(Sampling::Off));
        assert_eq!(sampling(&["--profile"]), Ok(PROFILE));
        let line = ["--profile", "--interval", "5000"];
        assert_eq!(sampling(&line), Ok(Sampling::Every(5000)));
        assert_eq!(sampling(&line[1..]), Ok(Sampling::Every(5000)));
        assert_eq!(sampling(&["--no-sampling"]), Ok(Sampling::Off));
        let options = linux(&["--profile", "--symbols", "/m", "--", "ls"]);
        assert_eq!(options.unwrap().symbols, Some("/m".into()));
        for line in [
            &["--symbols", "/m"][..],
            &["--profile", "--interval", "off"],
        ] {
            assert!(sampling(line).unwrap_err().contains("nothing is profiled"));
        }
    }

    #[test]
    fn the_operator_traces_events_of_linux_before_it_starts() {
        let options = linux(&[
            "-e",
            "FETCH RANGE vfs_read",
            "--when-waiting",
            "GO",
            "--",
            "ls",
        ]);
        let run = options.unwrap().run;
        assert_eq!(run.operator, [DIAGNOSTIC, "PER FETCH RANGE vfs_read"]);
        assert_eq!(run.when_waiting, ["GO"]);
        assert!(run.traces());
        assert!(!linux(&["--", "ls"]).unwrap().run.traces());
        assert!(linux(&["--trace", "--", "ls"]).unwrap().run.traces());
        assert!(
            linux(&["-e", "FROB", "--", "ls"])
                .unwrap_err()
                .contains("BRANCH, FETCH")
        );
    }

    #[test]
    fn the_operator_authorizes_diagnostic_sampling_and_then_says_what_is_given() {
        let options = linux(&[
            "--operator",
            "AUTH CPU ALL SAMPLING DIAGNOSTIC OFF",
            "--",
            "ls",
        ]);
        let off = "AUTH CPU ALL SAMPLING DIAGNOSTIC OFF";
        assert_eq!(options.unwrap().run.operator, [DIAGNOSTIC, off]);
    }

    #[test]
    fn an_installed_linux_has_its_disk_and_no_kernel_of_another() {
        let options = linux(&["--ipl-disk", "/a,ro", "--loadparm", "2", "--disk", "/b"]).unwrap();
        let installed = options.ipl_disk.clone().unwrap();
        assert_eq!((installed.disk.read_only, installed.program), (true, 2));
        let disks: Vec<String> = options
            .run
            .devices
            .disks
            .iter()
            .map(Disk::to_string)
            .collect();
        assert_eq!(disks, ["/a, read only", "/b"]);
        assert_eq!(options.run.mode, Mode::Interactive);
        assert!(!options.wants_shell());
        for line in [
            &["--ipl-disk", "/a", "--kernel", "/k"][..],
            &["--loadparm", "1"],
            &["--ipl-disk", "/a", "--", "ls"],
        ] {
            assert!(linux(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn linux_refuses_what_it_cannot_do_with_the_choices() {
        assert!(
            linux(&["--release", "5.10", "--", "ls"])
                .unwrap_err()
                .contains("6.1, 6.12")
        );
    }
}
