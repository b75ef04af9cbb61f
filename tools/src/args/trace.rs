//! The command line of `trace`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use per::trace::MOST_TRACES;

use super::RunArguments;
use crate::{
    events::command,
    views::trace::{Form, TraceOptions},
};

/// What is traced by default.
const USUAL: &str = "PER BRANCH";

/// What is traced, and how it is shown.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// A trace: BRANCH, FETCH, STORE, STORE DATA and bytes, or REG and registers or ALL; then RANGE and a range
    /// (everywhere without it); then COUNT, TRACE or STOP (TRACE without it). Up to 8 of them [default: BRANCH]
    #[arg(short, long, value_name = "EVENT", value_parser = command::event, conflicts_with = "exact")]
    pub event: Vec<String>,
    /// Write every instruction, with the registers that it altered, to this file instead
    #[arg(long, value_name = "FILE")]
    pub exact: Option<PathBuf>,
    /// With --exact: the instructions of a-b, a.n or a symbol [default: of the whole guest]
    #[arg(long, value_name = "RANGE", requires = "exact", value_parser = range)]
    pub range: Option<String>,
    /// The form of the lines
    #[arg(long, value_enum, default_value = "text")]
    pub form: Form,
    /// Show the events that an earlier run has kept in this directory, and run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["event", "exact"])]
    pub of: Option<PathBuf>,
    /// The run.
    #[command(flatten)]
    pub run: RunArguments,
}

fn range(text: &str) -> Result<String, String> {
    command::event(&format!("FETCH RANGE {text}")).map(|_| text.to_owned())
}

impl TraceArguments {
    /// The options that these arguments choose.
    pub fn options(&self) -> Result<TraceOptions> {
        let mut run = self.run.options();
        run.events.traced = true;
        let events = match (&self.exact, &self.range) {
            (Some(_), Some(range)) => vec![format!("PER FETCH RANGE {range} TRACE")],
            (Some(_), None) => vec!["PER FETCH TRACE".to_owned()],
            (None, _) if self.event.is_empty() => vec![USUAL.to_owned()],
            (None, _) => self.event.clone(),
        };
        if events.len() > MOST_TRACES {
            bail!(
                "{} traces are too many; there can be {MOST_TRACES} at once",
                events.len()
            );
        }
        run.operator.extend(events);
        Ok(TraceOptions {
            run,
            exact: self.exact.clone(),
            form: self.form,
        })
    }
}

/// Examples of `trace`.
pub const EXAMPLES: &str = "\
RANGE says where the instruction is (BRANCH, FETCH, REG), or which storage it stores into (STORE):
  a-b, a.n, a   hexadecimal virtual addresses: from a to b, n bytes from a on, or only a
  symbol        a symbol of the guest; the last words of its path are enough
  symbol.n      its first n bytes
  first-last    from the first byte of one symbol or address to the last byte of another
A symbol takes precedence over a number with the same letters; a leading 0 makes it a number.

Examples:
  cargo measure trace b_stfl                                    every branch that is taken
  cargo measure trace hash -e 'FETCH RANGE compress256.2 COUNT' how often a routine is called
  cargo measure trace count -e 'STORE RANGE 200.8'              every store into 200-207
  cargo measure trace hash -e 'FETCH RANGE guest_main STOP' \\
    --when-waiting 'SHOW REGISTERS' --when-waiting GO           the registers at a routine
  cargo measure trace b_stfl --exact b_stfl.txt                 every instruction, its results
  cargo measure trace --of millimeter-hash-1 | grep 'stored='   what a run has kept

A line has the CPU, the number of the event on that CPU (a gap is a loss), the address, the
instruction, the events, the traces that it belongs to, and the routine (- if none is known). Then
it says what the instruction did: R1=…, CC=…, stored=ADDRESS.LENGTH, to=ADDRESS and routine of a
branch, interruption=CODE if it was not completed. Lines that begin with // are the machine's
answers. The guest's console is in the run's directory.

Exit codes: those of run; 2 also for a symbol that the guest does not have.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn trace(words: &[&str]) -> Result<TraceOptions, String> {
        let words = ["measure", "trace"].iter().chain(words);
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            Some(Command::Trace(trace)) => trace.options().map_err(|error| error.to_string()),
            other => Err(format!("{other:?}")),
        }
    }

    fn operator(words: &[&str]) -> Vec<String> {
        trace(words).unwrap().run.operator
    }

    #[test]
    fn a_trace_is_a_run_whose_operator_asks_for_events() {
        let options = trace(&[
            "hash",
            "-e",
            "FETCH RANGE main",
            "--event",
            "store data 1 count",
        ]);
        assert!(options.unwrap_err().contains("1 to 8 bytes"));
        let options = trace(&[
            "hash",
            "--cpus",
            "2",
            "-e",
            "FETCH RANGE main",
            "--event",
            "store count",
        ])
        .unwrap();
        assert_eq!(
            options.run.operator,
            ["PER FETCH RANGE main", "PER store count"]
        );
        assert_eq!(
            (&options.run.guest[..], options.run.cpus),
            ("hash", Some(2))
        );
        assert!(options.run.traces());
        assert_eq!(operator(&[]), ["PER BRANCH"]);
        assert_eq!(
            operator(&["--operator", "CLOCK", "-e", "FETCH"]),
            ["CLOCK", "PER FETCH"]
        );
    }

    #[test]
    fn an_exact_trace_is_every_instruction_of_a_range() {
        let options = trace(&["--exact", "file", "--range", "main"]).unwrap();
        assert_eq!(options.run.operator, ["PER FETCH RANGE main TRACE"]);
        assert_eq!(options.exact, Some("file".into()));
        assert_eq!(operator(&["--exact", "file"]), ["PER FETCH TRACE"]);
        for wrong in [
            &["--range", "main"][..],
            &["--exact", "f", "-e", "FETCH"],
            &["--of", "d", "-e", "FETCH"],
            &["-e", "EXECUTE"],
            &["-e", "OFF ALL"],
        ] {
            assert!(trace(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn nine_traces_are_too_many() {
        let words = [["-e", "FETCH"]; 9].concat();
        assert!(trace(&words).unwrap_err().contains("can be 8 at once"));
        assert!(trace(&words[2..]).is_ok());
    }
}
