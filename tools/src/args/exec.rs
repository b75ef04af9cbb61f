//! The command line of `exec`.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Args;
use link::stack::DEFAULT_FRAMES;

use super::linux::{PROFILE, SystemArguments};
use crate::{
    linux::{LinuxOptions, exec::Program},
    numbers::quantities::{Rtc, Sampling},
    options::{
        DEFAULT_SILENCE, RunOptions,
        count::{Counted, States},
    },
};

/// The date in the guest, so that it is the same in every run.
const DATE: &str = "2026-01-01T00:00:00";

/// Options of `exec`.
#[derive(Clone, Debug, Args)]
pub struct ExecArguments {
    /// The system.
    #[command(flatten)]
    pub system: SystemArguments,
    /// A variable of the program's environment: NAME=VALUE, or NAME for its value here. The others are HOME, PATH, TERM, those
    /// by which Cargo names the package (CARGO_PKG_…, CARGO_MANIFEST_…, CARGO_BIN_EXE_…, CARGO_TARGET_TMPDIR), RUST_BACKTRACE,
    /// RUST_LIB_BACKTRACE, RUST_LOG…, RUST_MIN_STACK, RUST_TEST_… and CRITERION_…
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// A file or directory that the program reads: the guest has it under the same name
    #[arg(long, value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// A shared library that the program needs, if Debian's packages are not to be searched for it
    #[arg(long, value_name = "FILE")]
    pub library: Vec<PathBuf>,
    /// A package of Debian's that has shared libraries which the program needs. Without it a library is looked for in the
    /// package that has its name, as libssl3 has libssl.so.3
    #[arg(long, value_name = "PACKAGE")]
    pub package: Vec<String>,
    /// The date in the guest, in UTC
    #[arg(long, value_name = "TIME", default_value = DATE)]
    pub rtc: Rtc,
    /// Say nothing but what the program says
    #[arg(long, short)]
    pub quiet: bool,
    /// Add a line with the program, its exit code and its instructions as a JSON object to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the raw files of the run go [default: they are not kept]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// End a program that still runs after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// The QEMU to use
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// Execute no sensitive instruction, wherever control goes, as `run --strict`: for a program that attacks the machine
    #[arg(long)]
    pub strict: bool,
    /// Also profile the whole run from below, a sample every 100000 cycles with its call stack, for the report of the folder.
    /// Linux then says where its kernel and programs are, so that routines have names; this takes instructions of the kernel
    #[arg(long, requires = "out")]
    pub profile: bool,
    /// Count every execution of every instruction from the beginning of the command on, or only those of programs or of the
    /// kernel. The report and `export` of the folder show the counts, so name it with --out; add --profile for names. For one
    /// routine, look at a run with --profile again: `zoom DIR --count --count-in NAME`
    #[arg(long, value_name = "STATES", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "all", requires = "out")]
    pub count: Option<States>,
    /// The program is for the bare machine, not for Linux: an ELF or a flat image as `run` takes it
    #[arg(long, conflicts_with_all = ["release", "kernel", "env", "with", "library", "package", "fresh"])]
    pub bare: bool,
    /// A program for Linux on s390x, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_names = ["PROGRAM", "ARGUMENTS"])]
    pub command: Vec<String>,
}

impl ExecArguments {
    /// The program.
    pub fn program(&self) -> Program {
        let (file, arguments) = match &self.command[..] {
            [file, arguments @ ..] => (file.into(), arguments.to_vec()),
            [] => (PathBuf::new(), Vec::new()),
        };
        Program {
            file,
            arguments,
            environment: self.env.clone(),
            with: self.with.clone(),
            libraries: self.library.clone(),
            packages: self.package.clone(),
        }
    }

    /// The options of the run of a program for the bare machine.
    pub fn bare_options(&self) -> Result<RunOptions> {
        let options = self.options(PathBuf::new()).run;
        let program = self.program();
        let file = program.file.to_str().map(str::to_owned);
        let file =
            file.with_context(|| format!("the name {} is not UTF-8", program.file.display()))?;
        Ok(RunOptions {
            guest: file,
            arguments: program.arguments.join(" "),
            cpus: (self.system.cpus > 1).then_some(self.system.cpus),
            // Its stacks need not have a back chain.
            stacks: None,
            silence: DEFAULT_SILENCE,
            out: None,
            ..options
        })
    }

    /// The options of the run, with its raw files in this directory.
    pub fn options(&self, out: PathBuf) -> LinuxOptions {
        self.system.options(RunOptions {
            sampling: if self.profile { PROFILE } else { Sampling::Off },
            stacks: self.profile.then_some(DEFAULT_FRAMES),
            rtc: self.rtc,
            qemu: self.qemu.clone(),
            out: Some(out),
            silence: Duration::from_secs(300),
            limit: self.limit.map(Duration::from_secs),
            strict: self.strict,
            count: self.count.map(|states| Counted {
                states,
                ..Counted::default()
            }),
            ..RunOptions::new("linux")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn exec(line: &[&str]) -> Result<ExecArguments, String> {
        let words = ["measure", "exec"].iter().chain(line);
        match Arguments::try_parse_from(words).map(|arguments| arguments.command) {
            Ok(Some(Command::Exec(exec))) => Ok(*exec),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let arguments = exec(&["--quiet", "/p", "--nocapture", "--", "-x"]).unwrap();
        let program = arguments.program();
        assert_eq!(program.file, PathBuf::from("/p"));
        assert_eq!(program.arguments, ["--nocapture", "--", "-x"]);
        assert!(arguments.quiet);
        assert!(exec(&["--quiet"]).is_err());
    }

    #[test]
    fn a_program_for_the_bare_machine_has_its_arguments_and_no_linux() {
        let arguments = exec(&["--bare", "hash", "-x", "y"]).unwrap();
        let options = arguments.bare_options().unwrap();
        assert_eq!(
            (&options.guest[..], &options.arguments[..]),
            ("hash", "-x y")
        );
        assert_eq!(
            (options.cpus, options.rtc.to_string()),
            (None, DATE.to_owned())
        );
        assert!(exec(&["--bare", "--kernel", "k", "hash"]).is_err());
    }

    #[test]
    fn a_program_of_either_kind_can_be_strict() {
        let linux = |line: &[&str]| exec(line).unwrap().options("/d".into()).run.strict;
        assert!(linux(&["--strict", "/p"]) && !linux(&["/p", "--strict"]));
        let bare = exec(&["--bare", "--strict", "hash"]).unwrap();
        assert!(bare.bare_options().unwrap().strict);
    }

    #[test]
    fn a_program_whose_folder_is_kept_can_be_counted_and_profiled() {
        let options = |line: &[&str]| Ok::<_, String>(exec(line)?.options("/d".into()).run);
        let run = options(&["--count", "--profile", "--out", "/d", "/p"]).unwrap();
        assert_eq!(run.count, Some(Counted::default()));
        assert_eq!((run.sampling, run.stacks), (PROFILE, Some(64)));
        let plain = options(&["/p", "--count", "--profile"]).unwrap();
        assert_eq!(plain.count, None);
        let user = options(&["--count=user", "--out", "/d", "/p"]).unwrap();
        assert_eq!(user.count.unwrap().states, States::User);
        assert_eq!((plain.sampling, plain.stacks), (Sampling::Off, None));
        for option in ["--count", "--profile"] {
            assert!(options(&[option, "/p"]).unwrap_err().contains("--out"));
        }
    }

    #[test]
    fn the_date_is_the_same_in_every_run() {
        let options = exec(&["/p"]).unwrap().options("/d".into());
        assert_eq!(options.run.rtc.to_string(), DATE);
        assert_eq!(options.run.out, Some("/d".into()));
    }
}
