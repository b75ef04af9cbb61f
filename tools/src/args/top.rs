//! The command line of `top`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::RunArguments;

/// What `top` watches, and how.
#[derive(Debug, Args)]
pub struct TopArguments {
    /// A run that begins now.
    #[command(subcommand)]
    pub run: Option<TopCommand>,
    /// The directory of a run, or of a collection (DIR/SYSHISyyyymmdd.hhmmss of several)
    /// [default: the newest millimeter-… here]
    pub dir: Option<PathBuf>,
    /// Print the present state once, as text (the default if standard output is not a terminal)
    #[arg(long)]
    pub once: bool,
    /// Seconds from one refresh to the next, 0.1 to 3600
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = delay, global = true)]
    pub delay: Duration,
}

/// What `top` can begin itself.
#[derive(Debug, Subcommand)]
pub enum TopCommand {
    /// Measure a guest as `cargo measure run` does and watch it; leaving the view ends the run
    Run(Box<RunArguments>),
}

fn delay(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let seconds = seconds.filter(|seconds| (0.1..=3600.0).contains(seconds));
    let wrong = || format!("{text} is not a number of seconds from 0.1 to 3600");
    seconds.map(Duration::from_secs_f64).ok_or_else(wrong)
}

/// Examples of `top`.
pub const EXAMPLES: &str = "\
Examples:
  cargo measure top                          the newest run here, live or as it ended
  cargo measure top millimeter-hash-1        this one
  cargo measure top --delay 0.5 run hash --cpus 1 --interval 100000
  cargo measure top --once | head -40        a look as text, for a log";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn top(line: &str) -> Result<TopArguments, String> {
        let words = ["measure", "top"]
            .into_iter()
            .chain(line.split_whitespace());
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            Some(Command::Top(top)) => Ok(top),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_folder_a_look_and_a_run_are_told_apart() {
        let arguments = top("").unwrap();
        assert!(arguments.dir.is_none() && arguments.run.is_none() && !arguments.once);
        assert_eq!(arguments.delay, Duration::from_secs(1));
        let arguments = top("--once runs/1 -d 0.5").unwrap();
        assert_eq!(arguments.dir, Some("runs/1".into()));
        assert!(arguments.once);
        assert_eq!(arguments.delay, Duration::from_millis(500));
        let arguments = top("run hash --cpus 2 --delay 2").unwrap();
        let Some(TopCommand::Run(run)) = arguments.run else {
            panic!("{:?}", arguments.dir);
        };
        let options = run.options();
        assert_eq!((&options.guest[..], options.cpus), ("hash", Some(2)));
        assert_eq!(arguments.delay, Duration::from_secs(2));
    }

    #[test]
    fn an_invalid_delay_is_refused_with_the_range() {
        for text in ["0", "-1", "NaN", "inf", "3601", "x"] {
            let refusal = top(&format!("--delay={text}")).unwrap_err();
            assert!(refusal.contains("0.1 to 3600"), "{refusal}");
        }
    }
}
