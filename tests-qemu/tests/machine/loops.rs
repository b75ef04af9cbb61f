//! A CPU that takes interruptions without end, and executes nothing, takes nothing from the other CPUs, the operator
//! and the report.

use std::{
    io::{self, Write},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use measure::{
    computer::{
        person::{Display, Input, Person},
        progress::Progress,
    },
    folder::record::End,
    machine::run::{RunOutcome, run_with},
    numbers::quantities::Sampling,
    options::RunOptions,
};
use millimeter::link::state::{Mode, Reason};
use tempfile::{NamedTempFile, TempDir};
use tests_qemu::{ipl, suite::test};

/// The kinds of loops of the guest.
const KINDS: [Kind; 5] = [
    Kind(1, "external interruptions 1004"),
    Kind(2, "external interruptions 1004"),
    Kind(3, "program interruptions 0080"),
    Kind(4, "program interruptions 0005"),
    Kind(5, "program interruptions 0005"),
];

/// The guest's number of a loop, and what the report calls it.
#[derive(Clone, Copy)]
struct Kind(u64, &'static str);

impl Kind {
    fn guest(self) -> NamedTempFile {
        ipl::with_parameters("looping", b"the kind of loop, 1 - 5:", &[self.0]).unwrap()
    }

    fn options(self, file: &NamedTempFile, cpus: u32, mode: Mode) -> RunOptions {
        let mut options = ipl::options(file.path().to_str().unwrap());
        options.sampling = Sampling::Off;
        options.cpus = Some(cpus);
        options.mode = mode;
        options.limit = Some(Duration::from_secs(60));
        options
    }

    /// The console has what was written before the loop, and the report says which loop it is.
    fn is_reported(self, outcome: &RunOutcome) {
        let Self(number, name) = self;
        let begins = format!("the loop of kind {number} begins");
        let story = ipl::story(outcome);
        assert!(outcome.console.contains(&begins), "kind {number}: {story}");
        let doubts = &outcome.report.doubts;
        let said = format!("CPU 0 takes {name} without end");
        assert!(
            doubts.iter().any(|doubt| doubt.contains(&said)),
            "kind {number}: {doubts:?}\n{story}"
        );
    }
}

#[test]
fn a_cpu_that_takes_interruptions_without_end_leaves_the_other_cpu_its_turns() {
    for kind in KINDS {
        let file = kind.guest();
        let outcome = ipl::above_with_success(&kind.options(&file, 2, Mode::Exact)).unwrap();
        assert!(outcome.console.contains("CPU 1 goes on"));
    }
}

#[test]
fn a_cpu_that_takes_interruptions_without_end_is_reported_and_the_run_goes_on() {
    goes_on(KINDS[2]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_cpu_that_takes_program_interruptions_without_end_is_reported_and_the_run_goes_on() {
    // Each of them works until its limit, so they do side by side.
    thread::scope(|scope| {
        for &kind in &KINDS[3..] {
            scope.spawn(move || goes_on(kind));
        }
    });
}

fn goes_on(kind: Kind) {
    let file = kind.guest();
    let mut options = kind.options(&file, 1, Mode::Exact);
    options.limit = Some(Duration::from_secs(6));
    let outcome = ipl::above(&options).unwrap();
    assert_eq!(outcome.end, End::TimeLimit, "{}", ipl::story(&outcome));
    kind.is_reported(&outcome);
    let progress = outcome.report.record.progress;
    assert!(progress.is_some(), "{}", ipl::story(&outcome));
}

#[test]
fn a_guest_whose_external_new_psw_is_open_to_what_stays_pending_ends_for_this_reason() {
    for mode in [Mode::Exact, Mode::RealTime] {
        for kind in &KINDS[..2] {
            let file = kind.guest();
            let outcome = ipl::above(&kind.options(&file, 1, mode)).unwrap();
            let End::Guest(end) = &outcome.end else {
                panic!("{}", ipl::story(&outcome));
            };
            assert_eq!(end.reason, Reason::ExternalLoop as u8);
            kind.is_reported(&outcome);
        }
    }
}

/// Nobody looks at it.
struct Screen;

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Display for Screen {}

/// The operator ends the guest some time after it has begun.
fn operator_ends(kind: Kind, mode: Mode) {
    let file = kind.guest();
    let directory = TempDir::new().unwrap();
    let mut options = kind.options(&file, 1, mode);
    options.out = Some(directory.path().to_owned());
    let (sender, input) = mpsc::channel();
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(5));
        sender.send(Input::Operator("END".to_owned())).unwrap();
        thread::sleep(Duration::from_secs(20));
    });
    let mut screen = Screen;
    let began = Instant::now();
    let person = Person {
        input: Some(input),
        screen: &mut screen,
        is_operator: true,
    };
    let outcome = run_with(&options, &Progress::Silent, Some(person)).unwrap();
    assert!(
        outcome.end.sentence().contains("the operator ended"),
        "kind {}, {} mode, {:?}: {}",
        kind.0,
        mode.name(),
        began.elapsed(),
        ipl::story(&outcome)
    );
    kind.is_reported(&outcome);
}

#[test]
fn the_operator_ends_a_guest_that_takes_interruptions_without_end() {
    operator_ends(KINDS[3], Mode::Interactive);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_operator_ends_a_guest_that_takes_interruptions_without_end_in_each_mode() {
    let others = [
        (KINDS[3], Mode::RealTime),
        (KINDS[4], Mode::RealTime),
        (KINDS[4], Mode::Interactive),
    ];
    thread::scope(|scope| {
        for (kind, mode) in others {
            scope.spawn(move || operator_ends(kind, mode));
        }
    });
}
