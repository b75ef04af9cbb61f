//! The command line of `check`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::{
    args::{ExecArguments, LinuxArguments, RunArguments},
    check::{EVERY, INTERVAL, measured::Subject, tolerance::Tolerance},
    numbers::quantities::Sampling,
};

/// Examples of `check`.
pub const EXAMPLES: &str = "\
Examples:
  cargo measure check sum.toml --update exec target/s390x-unknown-linux-gnu/release/sum 1 2 3
  cargo measure check sum.toml exec target/s390x-unknown-linux-gnu/release/sum 1 2 3
  cargo measure check sum.toml --tolerance 0.1% --junit sum.xml exec target/s390x-unknown-linux-gnu/release/sum 1 2 3
  cargo measure check sum.toml --count exec target/s390x-unknown-linux-gnu/release/sum 1 2 3
  cargo measure check hash.toml --interval 100003 run hash
  cargo measure check boot.toml --interval 10007 linux -- true";

/// Options of `check`.
#[derive(Clone, Debug, Args)]
#[command(subcommand_value_name = "RUN", subcommand_help_heading = "Runs")]
pub struct CheckArguments {
    /// The baseline, a file to keep beside the source
    #[arg(value_name = "BASELINE")]
    pub baseline: PathBuf,
    /// Write the baseline anew, with the tolerances that it has. It may also be new
    #[arg(long)]
    pub update: bool,
    /// How many more instructions the program may take in problem state, and how many more in supervisor state: 0.5%, 1000i
    /// or any [default: those of the baseline, else 0.1% and 1%]
    #[arg(long, value_name = "TOLERANCE")]
    pub tolerance: Option<Tolerance>,
    /// How many more instructions a symbol may have [default: that of the baseline, else that of its state]
    #[arg(long, value_name = "TOLERANCE")]
    pub symbol_tolerance: Option<Tolerance>,
    /// Instructions from one sample to the next: what symbols are measured by. A short interval is fine and slow. A prime
    /// number keeps loops from having all their samples at one place
    #[arg(long, value_name = "CYCLES", default_value_t = INTERVAL, value_parser = interval)]
    pub interval: u64,
    /// Count every instruction of each symbol instead: no change is chance, and a run takes longer
    #[arg(long, conflicts_with = "interval")]
    pub count: bool,
    /// Write the comparison as JUnit's XML to this file as well; - is standard output, without the text
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the comparison as Markdown to this file as well; - is standard output, without the text
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// What is run.
    #[command(subcommand)]
    pub run: Checked,
}

/// What is run.
#[derive(Clone, Debug, Subcommand)]
pub enum Checked {
    /// A program of Linux on s390x, without the boot, with the options of `measure exec`
    Exec(Box<ExecArguments>),
    /// A guest, with the options of `measure run`
    Run(Box<RunArguments>),
    /// A command in Linux with its boot, with the options of `measure linux`
    Linux(Box<LinuxArguments>),
}

fn interval(text: &str) -> Result<u64, String> {
    match text.parse()? {
        Sampling::Every(cycles) => Ok(cycles),
        Sampling::Off => Err("symbols are measured by samples; choose an interval".to_owned()),
    }
}

impl CheckArguments {
    /// Instructions from one sample to the next, or [`EVERY`].
    pub fn resolution(&self) -> u64 {
        if self.count { EVERY } else { self.interval }
    }

    /// What is measured.
    pub fn subject(&self) -> Result<Subject> {
        const TAKEN: &str = "`check` has options of its own for this, before the name of the run: --interval, --junit, --markdown";
        match &self.run {
            Checked::Exec(exec) if exec.json.is_some() || exec.out.is_some() => bail!(TAKEN),
            Checked::Run(run)
                if run.json.is_some()
                    || run.out.is_some()
                    || run.freq.is_some()
                    || run.no_sampling
                    || run.interval != Sampling::default() =>
            {
                bail!(TAKEN)
            }
            Checked::Linux(linux)
                if linux.json.is_some()
                    || linux.out.is_some()
                    || linux.freq.is_some()
                    || linux.no_sampling
                    || linux.profile
                    || linux.interval.is_some() =>
            {
                bail!(TAKEN)
            }
            Checked::Exec(exec) if exec.bare => Ok(Subject::Guest(Box::new(exec.bare_options()?))),
            Checked::Exec(exec) => {
                let options = exec.options(PathBuf::new());
                Ok(Subject::Program(
                    Box::new(exec.program()),
                    Box::new(options),
                ))
            }
            Checked::Run(run) => {
                let options = run.options();
                options.check_is_plain()?;
                if options.form.is_some() {
                    bail!("a baseline is of the usual form of the image; leave --ipl out");
                }
                Ok(Subject::Guest(Box::new(options)))
            }
            Checked::Linux(linux) => {
                if self.count {
                    bail!(
                        "a whole boot takes an hour to count; check a program with --count, by exec"
                    );
                }
                let options = linux.options()?;
                if options.wants_shell() {
                    bail!("a shell waits for a person; give a command behind --, or --script");
                }
                Ok(Subject::Linux(Box::new(options)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn check(line: &str) -> Result<CheckArguments, String> {
        let words = ["measure", "check"].into_iter().chain(line.split(' '));
        match Arguments::try_parse_from(words).map(|arguments| arguments.command) {
            Ok(Some(Command::Check(check))) => Ok(*check),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_baseline_is_followed_by_the_run_with_its_own_options() {
        let line = "b.toml --tolerance 1000i --symbol-tolerance 1% exec --release 6.12 /p --update";
        let arguments = check(line).unwrap();
        assert_eq!(arguments.interval, INTERVAL);
        assert_eq!(arguments.tolerance, Some(Tolerance::Instructions(1000)));
        assert!(!arguments.update, "that is the program's");
        let Ok(Subject::Program(program, _)) = arguments.subject() else {
            panic!("it is a program");
        };
        assert_eq!(program.arguments, ["--update"]);
        let strict = check("b.toml exec --strict /p").unwrap().subject();
        assert!(matches!(strict, Ok(Subject::Program(_, linux)) if linux.run.strict));
        let guest = check("b.toml --update --interval 5003 run hash --cpus 2").unwrap();
        assert!(guest.update && guest.interval == 5003);
        assert!(matches!(guest.subject(), Ok(Subject::Guest(run)) if run.cpus == Some(2)));
        assert!(matches!(
            check("b.toml linux -- true").unwrap().subject(),
            Ok(Subject::Linux(_))
        ));
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        for (line, says) in [
            ("b.toml", "exec"),
            ("b.toml --interval off run hash", "choose an interval"),
            ("b.toml --interval 5 run hash", "from 1000"),
            ("b.toml --tolerance 5 run hash", "0.5% or 1000i"),
            ("b.toml run hash --interval 5000", "before the name"),
            ("b.toml linux --profile -- true", "before the name"),
            ("b.toml exec --json j /p", "before the name"),
            ("b.toml linux", "a shell waits"),
            ("b.toml run hash --nested", "leave it out"),
            ("b.toml run hash --below hercules", "leave it out"),
            ("b.toml run hash --ipl scsi", "leave --ipl out"),
        ] {
            let refusal = check(line).and_then(|check| match check.subject() {
                Ok(subject) => Ok(subject),
                Err(error) => Err(error.to_string()),
            });
            let refusal = refusal.unwrap_err();
            assert!(refusal.contains(says), "{line}: {refusal}");
        }
    }
}
