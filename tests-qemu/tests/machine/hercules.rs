//! Guests below which is Hercules: another emulator, without instruction-execution protection, whose console has only lines.

use std::{
    collections::VecDeque,
    env, io,
    path::Path,
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use measure::{
    computer::{
        person::{Display, Input, Person},
        progress::Progress,
    },
    conformance::clause::Clause,
    machine::run::{RunOutcome, run_with},
    numbers::quantities::Sampling,
    options::{RunOptions, emulator::Emulator},
    report::Report,
};
use millimeter::link::state::Mode;
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

use crate::his;

/// Whether there is a Hercules. Where there is none and none can be installed, the test says so and passes.
pub fn is_there(test: &str) -> bool {
    let Err(error) = ipl::hercules() else {
        return true;
    };
    Progress::Plain.note(&format!("skipped {test}: {error:#}"));
    false
}

/// These options for a run below which is Hercules.
fn in_hercules(options: RunOptions) -> RunOptions {
    RunOptions {
        below: Emulator::Hercules,
        mode: Mode::RealTime,
        limit: Some(ipl::LIMIT),
        ..options
    }
}

/// Every frame has arrived.
fn is_whole(report: &Report) {
    let link = &report.record.link;
    assert_eq!(
        (link.bad_frames, link.bad_payloads, link.blocks_missing),
        (0, 0, 0)
    );
    assert_eq!(link.frames_sent.map(u64::from), Some(link.frames));
}

/// Behaviour guests that need neither a clock that counts instructions nor a sample in time: of the facilities, and of what
/// is done in another way there.
const GUESTS: [&str; 10] = [
    "b_access_register_mode",
    "b_cpu_timer",
    "b_dat",
    "b_epsw",
    "b_execute_modified",
    "b_key_protection",
    "b_keys",
    "b_own_page",
    "b_privileged_measurement",
    "b_qsi",
];

#[test]
fn behaviour_guests_end_in_hercules_as_they_declare() {
    if !is_there("behaviour_guests_end_in_hercules_as_they_declare") {
        return;
    }
    for guest in GUESTS {
        let clause = Clause::read(&ipl::guest_file(guest).unwrap()).unwrap();
        for run in clause.runs(guest).unwrap() {
            let outcome = ipl::above(&in_hercules(run.options)).unwrap();
            let story = ipl::story(&outcome);
            assert!(clause.end.is_met(&outcome.end), "{}: {story}", run.name);
            is_whole(&outcome.report);
        }
    }
}

/// Guests that do not end in real time, and the last one only in QEMU: each of their runs would take the whole limit.
const WITHOUT_END: [&str; 4] = [
    "b_crypto_cycles",
    "b_reset_measurement",
    "b_resets",
    "b_per_stopped",
];

/// With this variable, those that fail are tried in QEMU in real time, too.
const ALSO_IN_QEMU: &str = "MILLIMETER_ALSO_IN_QEMU";

/// Every behaviour guest that asks for nothing that is lacking, in each of its configurations: prints how it ends. The book
/// has the numbers.
#[test]
#[ignore = "long: prints how every behaviour guest ends in Hercules"]
fn behaviour_guests_are_counted_in_hercules() {
    if !is_there("behaviour_guests_are_counted_in_hercules") {
        return;
    }
    let counted = Mutex::new((0, 0));
    let guests = Mutex::new(ipl::behaviour_guests().into_iter());
    let next = || guests.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(guest) = next() {
                    let clause = Clause::read(&ipl::guest_file(&guest).unwrap()).unwrap();
                    for run in clause.runs(&guest).unwrap() {
                        let passed = !WITHOUT_END.contains(&&guest[..])
                            && passes(&clause, &run.name, run.options);
                        let mut counted = counted.lock().unwrap();
                        counted.0 += u32::from(passed);
                        counted.1 += 1;
                    }
                }
            });
        }
    });
    let (passed, all) = *counted.lock().unwrap();
    println!("{passed} of {all} runs end as they declare");
    assert!(passed > all / 3);
}

/// Whether a guest ends in Hercules as it declares. Prints why it does not, and if that is asked for, whether it does in QEMU
/// in real time.
fn passes(clause: &Clause, name: &str, options: RunOptions) -> bool {
    let why_not = |options: RunOptions| {
        let options = RunOptions {
            limit: Some(Duration::from_secs(20)),
            ..options
        };
        match ipl::above(&options) {
            Ok(outcome) if clause.end.is_met(&outcome.end) => None,
            Ok(outcome) => {
                let end = outcome.end.sentence();
                let failed = outcome.console.lines().find(|line| line.contains("FAILED"));
                Some(failed.map_or(end.clone(), |line| format!("{end}: {line}")))
            }
            Err(refusal) => Some(format!("refused: {refusal:#}")),
        }
    };
    let Some(why) = why_not(in_hercules(options.clone())) else {
        println!("{name}: as it declares");
        return true;
    };
    if env::var_os(ALSO_IN_QEMU).is_none() {
        println!("{name}: {why}");
        return false;
    }
    let in_qemu = why_not(RunOptions {
        mode: Mode::RealTime,
        ..options
    });
    println!(
        "{name}: {why}; in QEMU in real time: {}",
        in_qemu.as_deref().unwrap_or("as it declares")
    );
    false
}

/// The samples of a workload are where it works.
#[test]
fn a_workload_is_sampled_in_hercules() {
    if !is_there("a_workload_is_sampled_in_hercules") {
        return;
    }
    let options = RunOptions {
        sampling: Sampling::Every(100_000),
        ..RunOptions::new("brief")
    };
    let outcome = ipl::above_with_success(&in_hercules(options)).unwrap();
    let report = &outcome.report;
    is_whole(report);
    let of = |part: &str| -> u64 {
        let routines = report.hot.iter().filter(|hot| hot.symbol.contains(part));
        routines.map(|hot| hot.samples).sum()
    };
    let all = report.taken();
    assert_eq!(of(""), all, "{:?}", report.hot);
    // The busier the host is, the more samples are elsewhere.
    let work = of("brief::") + of("sha2::");
    assert!(work > 100, "{work} of {all}: {:?}", report.hot);
}

/// Samples of both types and monitor calls, which need no clock that counts instructions.
const BEGIN: &str = "F HIS,B,TT='In Hercules',CTRSET=SOFTWARE,SAMPTYPE=(BASIC,DIAG),SAMPFREQ=60000";

/// The only collection run in a directory has left each of its files, and `dump` finds nothing wrong in them.
fn has_files(directory: &Path, outcome: &RunOutcome) {
    let found = his::files(directory, outcome);
    for kind in ["000.CNT", "000.SMP.00", "000.MAP", "000.SMF"] {
        let bytes = found.get(kind);
        assert!(
            bytes.is_some_and(|bytes| !bytes.is_empty()),
            "{kind}: {:?}, {}",
            found.keys(),
            ipl::story(outcome)
        );
    }
    his::nothing_is_wrong(directory);
}

/// What HIS collects comes over the console of lines.
#[test]
#[ignore = "long: cargo soak runs it"]
fn a_collection_run_in_hercules_leaves_its_files() {
    if !is_there("a_collection_run_in_hercules_leaves_its_files") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let options = in_hercules(RunOptions {
        sampling: Sampling::Off,
        out: Some(directory.path().to_owned()),
        operator: vec![BEGIN.to_owned()],
        ..RunOptions::new("hash")
    });
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    is_whole(&outcome.report);
    has_files(directory.path(), &outcome);
    assert!(outcome.report.taken() > 100, "{}", ipl::story(&outcome));
}

/// A person who says the next command when an answer has a text.
struct Operator {
    said: Sender<Input>,
    dialogue: VecDeque<(&'static str, &'static str)>,
}

impl Operator {
    fn say(&mut self, command: &str) {
        self.said.send(Input::Operator(command.to_owned())).unwrap();
    }
}

impl io::Write for Operator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Display for Operator {
    fn answer(&mut self, line: &str) -> io::Result<()> {
        let next = self.dialogue.front();
        if let Some(&(awaited, command)) = next
            && line.contains(awaited)
        {
            self.dialogue.pop_front();
            self.say(command);
        }
        Ok(())
    }
}

/// The operator's commands are typed at Hercules' console while the guest works.
#[test]
fn a_collection_run_begins_and_ends_by_command_while_a_guest_works_in_hercules() {
    if !is_there("a_collection_run_begins_and_ends_by_command_while_a_guest_works_in_hercules") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let options = in_hercules(RunOptions {
        sampling: Sampling::Off,
        out: Some(directory.path().to_owned()),
        ..RunOptions::new("spin")
    });
    let (said, input) = mpsc::channel();
    let mut operator = Operator {
        said,
        dialogue: VecDeque::from([
            ("SYSHIS", "D HIS"),
            ("COMPLETION STATUS: IN PROGRESS", "F HIS,END"),
            ("MMH111I", "D HIS"),
            ("COMPLETION STATUS: SUCCESSFUL", "END"),
        ]),
    };
    operator.say(BEGIN);
    let person = Person {
        input: Some(input),
        is_operator: true,
        screen: &mut operator,
    };
    let outcome = run_with(&options, &Progress::Silent, Some(person)).unwrap();
    assert!(operator.dialogue.is_empty(), "{}", ipl::story(&outcome));
    assert!(
        outcome.end.sentence().contains("the operator ended"),
        "{}",
        ipl::story(&outcome)
    );
    is_whole(&outcome.report);
    has_files(directory.path(), &outcome);
}

/// The machine says what a run in Hercules cannot have, and what to do.
#[test]
fn a_run_with_devices_is_refused_in_hercules() {
    let mut options = in_hercules(RunOptions::new("hash"));
    options.devices.more = vec!["-device virtio-rng-ccw".parse().unwrap()];
    let refusal = ipl::above(&options).unwrap_err().to_string();
    assert!(refusal.contains("leave --qemu-arg out"), "{refusal}");
}
