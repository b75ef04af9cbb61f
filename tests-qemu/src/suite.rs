//! The suites: tests that IPL guests, each in a process of its own.
//!
//! A suite is a program without Rust's own harness. Its tests are functions with the attribute [`test`], or
//! [entries](Entry) that it makes itself, and its command line is that of any other test program. What it has that Rust's
//! harness has not:
//!
//! - Each test is a process (`suite/alone.rs`). So the processor's time that it takes is known, with that of every QEMU and Cargo it
//!   starts, and a test that ends its process ends no other.
//! - The longest test begins first, and one that mostly waits leaves its processor to others (`suite/places.rs`). Both come from the
//!   [kept prices](crate::prices).
//! - What the tests need is built before the first one begins, so no test pays for it.
//! - At its end a suite says which tests have become slower.

mod alone;
mod places;

use std::{
    env,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use anyhow::{Result, ensure};
pub use inventory;
use libtest_mimic::{Arguments, Failed, Trial};

use self::{alone::Ended, places::Places};
use crate::{
    command,
    prices::{self, Kept, Price, Recorded, Step},
};
pub use alone::{say, step};
pub use tests_qemu_attribute::test;

/// A function with the attribute.
pub struct Test {
    /// Its path, which begins with the program's name.
    pub path: &'static str,
    /// Whether only `cargo soak` runs it.
    pub is_long: bool,
    /// The function.
    pub perform: fn(),
}

inventory::collect!(Test);

/// A test of a suite.
pub struct Entry {
    /// What it is called on the command line, and in the table of prices.
    pub name: String,
    /// Whether only `cargo soak` runs it.
    pub is_long: bool,
    /// What it does. It fails by a panic.
    pub perform: Box<dyn Fn()>,
}

/// The functions of this program that have the attribute.
pub fn functions() -> Vec<Entry> {
    let mut entries: Vec<Entry> = inventory::iter::<Test>
        .into_iter()
        .map(|test| Entry {
            name: test
                .path
                .split_once("::")
                .map_or(test.path, |(_, name)| name)
                .to_owned(),
            is_long: test.is_long,
            perform: Box::new(test.perform),
        })
        .collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    entries
}

/// What must hold of a whole run, from what its tests [said](say).
pub type Whole = Box<dyn Fn(&[String]) -> Result<()> + Send>;

/// A suite.
pub struct Suite {
    /// The name of its program.
    pub name: &'static str,
    /// Its tests.
    pub entries: Vec<Entry>,
    /// Builds what they need.
    pub prepare: fn() -> Result<()>,
    /// The name of what must hold of a whole run, and how to judge it.
    pub whole: Option<(&'static str, Whole)>,
}

/// What the tests of a run leave.
#[derive(Default)]
struct Left {
    recorded: Vec<Recorded>,
    steps: Vec<Step>,
    said: Vec<String>,
}

impl Suite {
    /// Performs what the command line asks for.
    pub fn run(self) -> ExitCode {
        if let Some(name) = alone::asked() {
            return self.perform(&name);
        }
        match self.run_all() {
            Ok(code) => code,
            Err(error) => {
                eprintln!("{}: {error:#}", self.name);
                ExitCode::FAILURE
            }
        }
    }

    /// In the process of one test.
    fn perform(&self, name: &str) -> ExitCode {
        match self.entries.iter().find(|entry| entry.name == name) {
            Some(entry) => {
                (entry.perform)();
                ExitCode::SUCCESS
            }
            None => {
                eprintln!("{} has no test {name}", self.name);
                ExitCode::FAILURE
            }
        }
    }

    fn run_all(&self) -> Result<ExitCode> {
        let (mut arguments, filters) = arguments(env::args());
        // `cargo soak` leaves out what is for releases.
        let is_tier = arguments.ignored || arguments.skip.is_empty();
        let is_whole = filters.is_empty() && is_tier && !arguments.list;
        let is_wanted = |entry: &&Entry| {
            let names = |filter: &String| match arguments.exact {
                true => entry.name == *filter,
                false => entry.name.contains(&filter[..]),
            };
            filters.is_empty() || filters.iter().any(names)
        };
        let processors = match arguments.test_threads.or_else(threads_of_environment) {
            Some(threads @ 1..) => threads,
            _ => thread::available_parallelism()?.get(),
        };
        let places = Arc::new(Places::new(processors));
        // Those that have no place yet wait in a thread.
        arguments.test_threads = Some(places.most());
        let kept = Kept::read()?;
        let (mut built, mut steps) = (PathBuf::new(), Vec::new());
        if !arguments.list {
            let (began, before) = (Instant::now(), alone::own_seconds());
            (self.prepare)()?;
            built = command::program()?;
            steps.push(Step {
                test: "-".to_owned(),
                name: "builds".to_owned(),
                price: Price {
                    cpu: alone::own_seconds() - before,
                    wall: began.elapsed().as_secs_f64(),
                },
            });
        }
        let left = Arc::new(Mutex::new(Left {
            steps,
            ..Left::default()
        }));
        let mut order: Vec<(&Entry, Option<Price>)> = (self.entries.iter())
            .filter(is_wanted)
            .map(|entry| (entry, kept.of(self.name, &entry.name)))
            .collect();
        // One without a price may be the longest.
        order.sort_by(|(_, one), (_, other)| prices::longest_first(one.as_ref(), other.as_ref()));
        let mut trials = Vec::new();
        for (rank, (entry, price)) in order.into_iter().enumerate() {
            let (name, places, left) = (entry.name.clone(), places.clone(), left.clone());
            let built = built.clone();
            let (suite, is_open) = (self.name, arguments.nocapture);
            let weight = price.map_or(1.0, |price| price.weight());
            let trial = Trial::test(entry.name.clone(), move || {
                let place = places.take(rank, weight);
                let ended = alone::perform(&name, &built)?;
                drop(place);
                ended_into(ended, suite, &name, &left, is_open)
            });
            trials.push(trial.with_ignored_flag(entry.is_long));
        }
        let conclusion = libtest_mimic::run(&arguments, trials);
        let left = std::mem::take(&mut *left.lock().unwrap_or_else(|poison| poison.into_inner()));
        let mut is_right = !conclusion.has_failed();
        if is_whole {
            let is_long = arguments.ignored;
            is_right &= is_long || self.judge(&left.said);
            let tests: Vec<&str> = self.entries.iter().map(|entry| &entry.name[..]).collect();
            let text = prices::settle(
                self.name,
                is_long,
                &tests,
                (&left.recorded, &left.steps),
                &kept,
            )?;
            print!("{text}");
        }
        Ok(match is_right {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    }

    /// Whether what must hold of a whole run does, and says so.
    fn judge(&self, said: &[String]) -> bool {
        let Some((name, whole)) = &self.whole else {
            return true;
        };
        let judged = whole(said);
        match &judged {
            Ok(()) => println!("test {name} ... ok"),
            Err(error) => println!("test {name} ... FAILED\n{error:#}"),
        }
        judged.is_ok()
    }
}

/// Options of a test program whose value is the next word.
const WITH_VALUES: [&str; 6] = [
    "--test-threads",
    "--skip",
    "--format",
    "--color",
    "--logfile",
    "-Z",
];

/// The command line, and the words of which a test's name must have one. The library takes one such word at most, Rust's own
/// harness any number.
fn arguments(words: impl Iterator<Item = String>) -> (Arguments, Vec<String>) {
    let (mut options, mut filters, mut is_value) = (Vec::new(), Vec::new(), false);
    for (place, word) in words.enumerate() {
        if place == 0 || is_value || word.starts_with('-') {
            is_value = !is_value && WITH_VALUES.contains(&&word[..]);
            options.push(word);
        } else {
            filters.push(word);
        }
    }
    (Arguments::from_iter(options), filters)
}

/// How many tests run side by side, if the environment says it as for Rust's own harness.
fn threads_of_environment() -> Option<usize> {
    env::var("RUST_TEST_THREADS").ok()?.parse().ok()
}

fn ended_into(
    ended: Ended,
    suite: &str,
    name: &str,
    left: &Mutex<Left>,
    is_open: bool,
) -> Result<(), Failed> {
    if is_open {
        print!("{}", ended.output);
    }
    let mut left = left
        .lock()
        .map_err(|_| "another test's thread has panicked")?;
    left.recorded.push(Recorded {
        suite: suite.to_owned(),
        name: name.to_owned(),
        price: ended.price,
    });
    for said in ended.said {
        match alone::said_step(name, &said) {
            Some(step) => left.steps.push(step),
            None => left.said.push(said),
        }
    }
    let check = || {
        ensure!(
            ended.status.success(),
            "{} ({})",
            ended.output.trim_end(),
            ended.status
        );
        Ok(())
    };
    check().map_err(|error: anyhow::Error| Failed::from(format!("{error:#}")))
}

#[cfg(test)]
mod tests {
    // Not all of them: the attribute of the suites has the name of Rust's own.
    use super::arguments;

    #[test]
    fn any_number_of_words_choose_tests_and_values_of_options_do_not() {
        let line = "suite again:: --skip b_storm --ignored held:: --test-threads 3";
        let (options, filters) = arguments(line.split(' ').map(str::to_owned));
        assert_eq!(filters, ["again::", "held::"]);
        assert_eq!(
            (options.skip, options.test_threads),
            (vec!["b_storm".to_owned()], Some(3))
        );
        assert!(options.ignored && options.filter.is_none());
    }
}
