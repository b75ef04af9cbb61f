//! Profilers in the machine, on the host and in the guest, all at once.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use measure::{
    computer::{person::Input, progress::Progress},
    machine::{
        profiler::{Call, LIMIT, Profiler, Registration, Requests},
        run::{RunOutcome, run_with_profilers},
    },
    numbers::quantities::Sampling,
    options::RunOptions,
};
use millimeter::his::{
    answer::Kind,
    event::{Event, Events},
    exit::{Handling, Reasons, Status},
    registry::WINDOW,
};
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

/// Samples that a block of 4 KiB holds.
const A_BLOCK: u64 = 126;

/// A profiler that records the calls it gets.
#[derive(Default)]
struct Taker {
    name: &'static str,
    acknowledges: bool,
    /// How many of its blocks it releases each time the guest waits.
    pending: usize,
    samples: u64,
    blocks: u64,
    missed: u64,
    told: usize,
    stopped: Option<u64>,
    statuses: Vec<Status>,
    counted: Vec<u64>,
}

impl Profiler for Taker {
    fn registration(&self) -> Registration {
        Registration {
            name: self.name.to_owned(),
            events: Event::Basic.bit(),
            samples: true,
            acknowledges: self.acknowledges,
        }
    }

    fn call(&mut self, call: &Call<'_>, service: &mut Requests<'_>) -> Handling {
        match call {
            Call::Samples(samples) => {
                self.samples += u64::from(samples.samples);
                self.blocks += 1;
                self.missed += samples.missed;
                self.pending += 1;
                return Handling::Pending;
            }
            Call::State(change) if change.reasons.any_of(Reasons::SAMPLE_DATA_LOST) => {
                self.told += 1;
            }
            Call::Status(status) => self.statuses.push(*status),
            Call::Waiting => {
                for _ in 0..std::mem::take(&mut self.pending) {
                    service.done();
                }
                service.query(Kind::EventData, None);
            }
            Call::Answer(answer) => {
                assert_eq!(answer.reason, None);
                let cpus = answer.cpus();
                self.counted.push(cpus[0].counter(1).unwrap());
                // The fourth phase is the last one.
                if self.counted.len() == 4 {
                    service.stop().unwrap();
                }
            }
            Call::Stopped { missed } => self.stopped = Some(*missed),
            Call::Started(warning) => assert_eq!(*warning, None),
            Call::Refused(reason) => panic!("{reason}"),
            Call::State(_) => {}
        }
        Handling::Done
    }
}

/// A run with a collection, a profiler in the guest, and these two on the host.
fn profiled(directory: &TempDir, quick: Taker, slow: Taker) -> (RunOutcome, Taker, Taker) {
    let [quick, slow] = [quick, slow].map(|taker| Arc::new(Mutex::new(taker)));
    let outcome = run(directory, [boxed(&quick), boxed(&slow)]);
    assert!(!outcome.operator.contains("failed"), "{}", outcome.operator);
    let [quick, slow] = [quick, slow].map(|taker| std::mem::take(&mut *taker.lock().unwrap()));
    (outcome, quick, slow)
}

fn boxed(profiler: &Arc<Mutex<impl Profiler>>) -> Box<dyn Profiler> {
    Box::new(Arc::clone(profiler))
}

/// A run with a collection, a profiler in the guest, and these on the host.
fn run(directory: &TempDir, profilers: [Box<dyn Profiler>; 2]) -> RunOutcome {
    let press = Input::Operator("INTERRUPT CPU 0".to_owned());
    let options = RunOptions {
        sampling: Sampling::Off,
        out: Some(directory.path().to_owned()),
        operator: vec!["F HIS,B,CTRSET=BASIC,SAMPFREQ=30000000".to_owned()],
        script: vec![press; 4],
        ..ipl::options("profiles")
    };
    let outcome = run_with_profilers(&options, &Progress::Silent, profilers).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    assert_eq!(outcome.report.doubts, Vec::<String>::new());
    outcome
}

fn takers() -> (Taker, Taker) {
    let quick = Taker {
        name: "QUICK",
        ..Taker::default()
    };
    let slow = Taker {
        name: "SLOW",
        acknowledges: true,
        ..Taker::default()
    };
    (quick, slow)
}

#[test]
fn a_slow_profiler_loses_samples_and_learns_how_many_and_the_others_lose_none() {
    let directory = TempDir::new().unwrap();
    let (quick, slow) = takers();
    let (outcome, quick, slow) = profiled(&directory, quick, slow);

    // HISPROF, in the machine.
    let [prefix] = &outcome.report.record.collections[..] else {
        panic!("{:?}", outcome.operator);
    };
    let samples = directory.path().join(format!("{prefix}000.SMP.00"));
    let blocks = std::fs::metadata(samples).unwrap().len() / 4096;
    assert_eq!(outcome.report.lost(), 0);

    // On the host: the quick one releases a block as soon as the link has carried it.
    assert!(quick.blocks > 4 * WINDOW as u64, "{}", quick.blocks);
    assert_eq!((quick.missed, quick.told, quick.stopped), (0, 0, Some(0)));
    assert!(quick.blocks <= blocks, "{} of {blocks}", quick.blocks);

    // The slow one releases blocks when the guest waits, and gets no more than the window before that. It gets the
    // last block when it stops.
    assert_eq!(slow.blocks, 4 * WINDOW as u64 + 1);
    assert!(slow.told >= 3, "{}", slow.told);
    let missed = slow.stopped.unwrap();
    assert_eq!(slow.samples + missed, quick.samples);
    assert!(missed > A_BLOCK && missed >= slow.missed);

    // Both have counted the same, and both have seen the profiling state of the service.
    assert_eq!(quick.counted, slow.counted);
    assert!(
        quick
            .counted
            .is_sorted_by(|one, next| one + 3_000_000 <= *next)
    );

    // In the guest: its own count lies between its two queries.
    let console = &outcome.console;
    let phases: Vec<_> = console.lines().filter_map(phase).collect();
    assert_eq!(phases.len(), 4, "{console}");
    for (own, below) in phases {
        assert!(
            own >= 3_000_000 && (own..own + 300).contains(&below),
            "{own}, {below}"
        );
    }
    assert!(console.ends_with("profiled\n"), "{console}");
}

/// `phase N: M instructions, below K`.
fn phase(line: &str) -> Option<(u64, u64)> {
    let (_, numbers) = line.strip_prefix("phase ")?.split_once(": ")?;
    let (own, below) = numbers.split_once(" instructions, below ")?;
    Some((own.parse().ok()?, below.parse().ok()?))
}

#[test]
fn profilers_on_the_host_hear_the_same_in_every_run() {
    let heard = || {
        let directory = TempDir::new().unwrap();
        let (quick, slow) = takers();
        let (_, quick, slow) = profiled(&directory, quick, slow);
        let of = |one: Taker| {
            (
                one.samples,
                one.blocks,
                one.missed,
                one.stopped,
                one.counted,
            )
        };
        (of(quick), of(slow))
    };
    assert_eq!(heard(), heard());
}

/// A profiler that fails at its first block: by a panic, or by never returning.
struct Failing(fn(), Duration);

impl Profiler for Failing {
    fn registration(&self) -> Registration {
        Registration {
            name: "BAD".to_owned(),
            events: Event::Basic.bit(),
            samples: true,
            acknowledges: true,
        }
    }

    fn call(&mut self, call: &Call<'_>, _: &mut Requests<'_>) -> Handling {
        if let Call::Samples(_) = call {
            (self.0)();
        }
        Handling::Done
    }

    fn limit(&self) -> Duration {
        self.1
    }
}

#[test]
fn an_exit_that_fails_is_unregistered_and_the_run_and_the_others_go_on() {
    let never = || {
        loop {
            std::thread::park();
        }
    };
    let mut counted = Vec::new();
    let soon = Duration::from_millis(500);
    for (fail, limit, why) in [
        ((|| panic!("program check")) as fn(), LIMIT, "it panicked"),
        (never, soon, "it has not returned from a call after 500ms"),
    ] {
        let directory = TempDir::new().unwrap();
        let (quick, _) = takers();
        let quick = Arc::new(Mutex::new(quick));
        let outcome = run(&directory, [Box::new(Failing(fail, limit)), boxed(&quick)]);
        let message = format!("the profiler BAD has failed: {why}");
        assert_eq!(
            outcome.operator.matches(&message).count(),
            1,
            "{}",
            outcome.operator
        );
        // The collection run of the machine and the other profiler have everything.
        assert_eq!(outcome.report.record.collections.len(), 1);
        let quick = quick.lock().unwrap();
        assert_eq!((quick.missed, quick.stopped), (0, Some(0)));
        assert_eq!(quick.counted.len(), 4);
        counted.push((quick.samples, quick.blocks, quick.counted.clone()));
    }
    assert_eq!(counted[0], counted[1]);
}

#[test]
fn in_real_time_a_profiler_of_several_cpus_is_refused() {
    struct Refused(Option<millimeter::his::Reason>);
    impl Profiler for Refused {
        fn registration(&self) -> Registration {
            Registration {
                name: "LATE".to_owned(),
                events: Events::NONE,
                samples: true,
                acknowledges: false,
            }
        }
        fn call(&mut self, call: &Call<'_>, _: &mut Requests<'_>) -> Handling {
            if let Call::Refused(reason) = call {
                self.0 = Some(*reason);
            }
            Handling::Done
        }
    }
    let refused = Some(millimeter::his::Reason::NotEnabled);
    for (cpus, reason) in [(1, None), (2, refused)] {
        let late = Arc::new(Mutex::new(Refused(None)));
        let directory = TempDir::new().unwrap();
        let options = RunOptions {
            out: Some(directory.path().to_owned()),
            mode: millimeter::link::state::Mode::RealTime,
            cpus: Some(cpus),
            ..ipl::options("b_stfl")
        };
        run_with_profilers(&options, &Progress::Silent, [boxed(&late)]).unwrap();
        assert_eq!(late.lock().unwrap().0, reason, "{cpus} CPUs");
    }
}
