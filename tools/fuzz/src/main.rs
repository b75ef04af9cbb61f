//! Runs the targets in turn, for a chosen time.

#![forbid(unsafe_code)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitCode, exit},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::Parser;
use fuzz::{
    Target,
    runner::{self, Failure, Run, Watched},
    targets,
};

/// How long a target runs before the next one has its turn.
const TURN: Duration = Duration::from_secs(10);

/// Spoils good input for the readers of Millimeter, and stops at the first failure: a reader that panics,
/// takes more storage than its input allows, or does not end.
///
/// Targets take turns of ten seconds until the time is over. The input of a failure is saved to a file, which
/// --replay reads again. Exit codes: 0 no failure, 1 a failure, 2 it could not run.
#[derive(Debug, Parser)]
#[command(name = "fuzz", after_help = EXAMPLES)]
struct Arguments {
    /// The targets [default: all]
    targets: Vec<String>,
    /// How long
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    minutes: u64,
    /// Another number makes other inputs [default: by the clock]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// The directory for the input of a failure
    #[arg(long, value_name = "DIR", default_value = "target/fuzz")]
    out: PathBuf,
    /// Read this file once with the named target instead
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// List the targets instead
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo run --package fuzz -- --minutes 60
  cargo run --package fuzz -- --minutes 5 smf smf-blocks
  cargo run --package fuzz -- smf --replay target/fuzz/smf-0123456789abcdef";

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(failure)) => {
            eprintln!("{failure}");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The failure in words, if there was one.
fn run(arguments: &Arguments) -> Result<Option<String>> {
    let targets = chosen(&arguments.targets)?;
    if arguments.list {
        for target in targets {
            println!("{:<17} {}", target.name, target.what);
        }
        return Ok(None);
    }
    if let Some(file) = &arguments.replay {
        let [target] = targets[..] else {
            bail!("--replay needs the one target that is to read the file");
        };
        let input = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        return Ok(match runner::check(&target, &input) {
            Ok(answer) => {
                println!("{}: {answer}", target.name);
                None
            }
            Err(failure) => Some(format!("{} {}", target.name, failure.what)),
        });
    }
    // The message of a panic is in the failure.
    std::panic::set_hook(Box::new(|_| {}));
    let seed = arguments.seed.unwrap_or_else(by_the_clock);
    println!(
        "{} targets, {} minutes, --seed {seed}",
        targets.len(),
        arguments.minutes
    );
    match turns(&targets, arguments, seed) {
        Ok(()) => Ok(None),
        Err(failure) => saved(&failure, &arguments.out).map(Some),
    }
}

fn chosen(names: &[String]) -> Result<Vec<Target>> {
    let all = targets::all();
    let known: Vec<&str> = all.iter().map(|target| target.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&&name[..])) {
        bail!("{name} is no target; choose some of {}", known.join(", "));
    }
    let is_chosen =
        |target: &Target| names.is_empty() || names.iter().any(|name| name == target.name);
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn by_the_clock() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn turns(targets: &[Target], arguments: &Arguments, seed: u64) -> Result<(), Failure> {
    let watched = Watched::default();
    watch(watched.clone(), arguments.out.clone());
    let began = Instant::now();
    let end = began + Duration::from_secs(60 * arguments.minutes);
    let mut runs = Vec::new();
    for target in targets {
        let run = Run::new(*target, seed, watched.clone())?;
        runs.push((target.name, run));
    }
    while Instant::now() < end {
        for (name, run) in &mut runs {
            run.until(end.min(Instant::now() + TURN))?;
            let minutes = began.elapsed().as_secs() / 60;
            println!(
                "{minutes:4} min  {name:<17} {:>10} inputs  {:>6} answers",
                run.inputs,
                run.answers()
            );
        }
    }
    Ok(())
}

/// Ends the process when a reader does not end.
fn watch(watched: Watched, out: PathBuf) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            if let Some(failure) = watched.overdue() {
                let text = saved(&failure, &out).unwrap_or_else(|error| format!("{error:#}"));
                eprintln!("{text}");
                exit(1);
            }
        }
    });
}

/// Saves the input; returns what happened and how to repeat it.
fn saved(failure: &Failure, out: &Path) -> Result<String> {
    let Failure { target, what, .. } = failure;
    let path = failure
        .save(out)
        .with_context(|| format!("{target} {what}, and its input cannot be saved"))?;
    let path = path.display();
    Ok(format!(
        "{target} {what}\nsee it again with: cargo run --package fuzz -- {target} --replay {path}"
    ))
}
