//! A guest whose own instructions are few, because the machine works for it nearly all the time: the host hears of it
//! all the same, and the operator is heard.

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
    machine::run::run_with,
    numbers::quantities::Sampling,
    options::RunOptions,
};
use millimeter::link::state::Mode;
use tempfile::{NamedTempFile, TempDir};
use tests_qemu::{ipl, suite::test};

/// The guest's number of a service, and what it is.
#[derive(Clone, Copy)]
struct Kind(u64, &'static str);

const READ_SCP_INFO: Kind = Kind(1, "READ SCP INFO");
/// A megabyte, in pieces.
const CIPHER: Kind = Kind(7, "CIPHER MESSAGE");

/// All kinds.
const KINDS: [Kind; 7] = [
    READ_SCP_INFO,
    Kind(2, "CHANNEL SUBSYSTEM CALL"),
    Kind(3, "STORE SYSTEM INFORMATION"),
    Kind(4, "DIAGNOSE 44"),
    Kind(5, "load clear"),
    Kind(6, "channel program"),
    CIPHER,
];

/// How soon the operator must be heard, on a computer that may be busy.
const SOON: Duration = Duration::from_secs(5);

impl Kind {
    fn guest(self) -> NamedTempFile {
        ipl::with_parameters("services", b"the kind of service:    ", &[self.0]).unwrap()
    }

    fn options(self, file: &NamedTempFile, mode: Mode) -> RunOptions {
        let mut options = ipl::options(file.path().to_str().unwrap());
        options.sampling = Sampling::Off;
        options.mode = mode;
        options.devices.network = self.0 == 6;
        options.cryptography = self.0 == CIPHER.0;
        options.limit = Some(Duration::from_secs(60));
        options
    }

    /// The host hears of a guest for longer than it would bear silence.
    fn is_heard_of(self) {
        let file = self.guest();
        let mut options = self.options(&file, Mode::Exact);
        if self.0 == 6 {
            options.mode = Mode::Interactive;
        }
        options.silence = Duration::from_secs(4);
        options.limit = Some(Duration::from_secs(7));
        let outcome = ipl::above(&options).unwrap();
        let story = ipl::story(&outcome);
        assert_eq!(outcome.end, End::TimeLimit, "{}: {story}", self.1);
        assert!(
            outcome.report.record.progress.is_some(),
            "{}: {story}",
            self.1
        );
    }

    /// The operator ends the guest some time after it has begun.
    fn is_ended_by_the_operator(self, mode: Mode) {
        const AFTER: Duration = Duration::from_secs(2);
        let file = self.guest();
        let directory = TempDir::new().unwrap();
        let mut options = self.options(&file, mode);
        options.out = Some(directory.path().to_owned());
        let (sender, input) = mpsc::channel();
        let (said, when) = mpsc::channel();
        thread::spawn(move || {
            thread::sleep(AFTER);
            said.send(Instant::now()).unwrap();
            sender.send(Input::Operator("END".to_owned())).unwrap();
            thread::sleep(2 * SOON);
        });
        let person = Person {
            input: Some(input),
            screen: &mut Screen,
            is_operator: true,
        };
        let outcome = run_with(&options, &Progress::Silent, Some(person)).unwrap();
        let passed = when.recv().unwrap().elapsed();
        let ended = outcome.end.sentence();
        assert!(
            ended.contains("the operator ended") && passed < SOON,
            "{}, {} mode, {passed:?}: {}",
            self.1,
            mode.name(),
            ipl::story(&outcome)
        );
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

#[test]
fn the_host_hears_of_a_guest_that_calls_the_service_processor_without_end() {
    READ_SCP_INFO.is_heard_of();
}

#[test]
fn the_operator_ends_a_guest_that_calls_the_service_processor_without_end() {
    READ_SCP_INFO.is_ended_by_the_operator(Mode::Interactive);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_host_hears_of_a_guest_whatever_service_it_uses_without_end() {
    KINDS.into_iter().for_each(Kind::is_heard_of);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_operator_ends_a_guest_whatever_service_it_uses_without_end() {
    for kind in KINDS {
        for mode in [Mode::Interactive, Mode::RealTime] {
            kind.is_ended_by_the_operator(mode);
        }
    }
}
