//! The operator traces program events of a guest, and the guest does not notice.

use std::{fs, io::Read};

use measure::{
    computer::progress::Progress,
    machine::run::RunOutcome,
    options::RunOptions,
    views::trace::{self, Form, TraceOptions},
};
use millimeter::link::state::Mode;
use tempfile::TempDir;
use tests_qemu::{command, ipl, suite::test};

/// The guest of these tests. It is small and prints on its console.
const GUEST: &str = "b_stfl";

/// A guest with two CPUs.
const GUEST_OF_TWO: &str = "b_signals";

/// A routine of the small guest.
const ROUTINE: &str = "guests::console::print";

/// The result of a traced run.
struct Traced {
    outcome: RunOutcome,
    /// The lines that were shown.
    lines: Vec<String>,
    /// The folder of the run.
    _directory: TempDir,
}

impl Traced {
    /// The lines of events.
    fn events(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        lines.filter(|line| line.starts_with("CPU ")).collect()
    }

    fn counts(&self) -> Vec<u64> {
        let traces = self.outcome.report.record.tracing.traces.iter();
        traces.map(|traced| traced.events).collect()
    }
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// Runs the guest with these traces, which lose nothing. If `is_exact`, the lines shown are exactly the instructions.
fn traced(events: &[&str], when_waiting: &[&str], is_exact: bool) -> Traced {
    let run = RunOptions {
        operator: owned(events),
        when_waiting: owned(when_waiting),
        ..ipl::options(GUEST)
    };
    let traced = run_traced(run, is_exact);
    let tracing = &traced.outcome.report.record.tracing;
    assert_eq!((tracing.lost_in_machine, tracing.lost_on_link), (0, 0));
    traced
}

/// Runs with traces, in a folder of its own.
fn run_traced(run: RunOptions, is_exact: bool) -> Traced {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("instructions");
    let options = TraceOptions {
        run: RunOptions {
            out: Some(directory.path().join("run")),
            ..run
        },
        exact: is_exact.then(|| file.clone()),
        form: Form::Text,
    };
    let mut out = Vec::new();
    let outcome = trace::run(&options, &Progress::Silent, &mut out).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    let text = match is_exact {
        true => {
            assert!(out.is_empty(), "the instructions are in the file only");
            fs::read_to_string(file).unwrap()
        }
        false => String::from_utf8(out).unwrap(),
    };
    Traced {
        outcome,
        lines: text.lines().map(str::to_owned).collect(),
        _directory: directory,
    }
}

fn instructions(outcome: &RunOutcome) -> u64 {
    outcome.report.record.totals[0].guest_instructions
}

#[test]
fn the_instructions_of_a_routine_are_those_that_the_whole_guest_has_there() {
    let whole = traced(&["PER FETCH TRACE"], &[], true);
    let routine = traced(&[&format!("PER FETCH RANGE {ROUTINE}")], &[], true);
    let inside: Vec<&str> = whole
        .events()
        .into_iter()
        .filter(|line| line.contains(&format!("  {ROUTINE}+")))
        .collect();
    assert!(inside.len() > 100, "{}", inside.len());
    assert!(inside.len() < whole.lines.len() / 2);
    assert_eq!(routine.events(), inside);
    // All instructions are there, and so is what most of them altered.
    assert_eq!(whole.counts(), [whole.lines.len() as u64]);
    let altered = whole.lines.iter().filter(|line| line.contains("  R"));
    assert!(altered.count() > whole.lines.len() / 3);
}

#[test]
fn two_traces_have_their_own_ranges_and_counts_and_the_guest_does_what_it_does_without_them() {
    let plain = ipl::above_with_success(&ipl::options(GUEST)).unwrap();
    let one = traced(&[&format!("PER FETCH RANGE {ROUTINE} COUNT")], &[], false);
    assert!(one.events().is_empty(), "what is counted is not shown");
    let both = traced(
        &[
            &format!("PER FETCH RANGE {ROUTINE} COUNT"),
            "PER BRANCH RANGE guest_main",
            "PER STORE RANGE 0xC8.4",
        ],
        &[],
        false,
    );
    let events = both.events();
    let of = |trace: &str| {
        let columns = |line: &'_ str| -> Vec<String> {
            let columns = line.split("  ").map(str::trim);
            let filled = columns.filter(|column| !column.is_empty());
            filled.map(str::to_owned).collect()
        };
        // CPU, number, address, text, events, traces.
        events
            .iter()
            .filter(|line| columns(line)[5] == trace)
            .count() as u64
    };
    assert_eq!(both.counts(), [one.counts()[0], of("1"), of("2")]);
    assert!(both.counts().iter().all(|count| *count > 0), "{events:#?}");
    assert_eq!(
        of("1") + of("2"),
        both.outcome.report.record.tracing.streamed
    );
    for line in &events {
        let is_branch = line.contains("BRANCH  1  guest_main+") && line.contains("  to=");
        let is_store = line.contains("  STORE   2  ") && line.contains("  stored=");
        assert!(is_branch || is_store, "{line}");
    }
    // It begins with a word at location 200 (decimal).
    assert!(
        events
            .iter()
            .any(|line| line.contains("stored=00000000000000C8.4")),
        "{events:#?}"
    );
    for run in [&one, &both] {
        assert_eq!(run.outcome.console, plain.console);
        assert_eq!(instructions(&run.outcome), instructions(&plain));
    }
}

#[test]
fn every_event_of_each_cpu_arrives_or_is_counted_as_lost() {
    for mode in [Mode::Exact, Mode::RealTime] {
        let run = RunOptions {
            operator: owned(&["PER BRANCH"]),
            mode,
            ..ipl::options(GUEST_OF_TWO)
        };
        let traced = run_traced(run, false);
        let tracing = &traced.outcome.report.record.tracing;
        let arrived = [0, 1].map(|cpu| {
            let events = traced.events().into_iter();
            let of_cpu = events.filter(|line| line.starts_with(&format!("CPU {cpu} ")));
            of_cpu.count() as u64
        });
        assert!(arrived.iter().all(|count| *count > 0), "{arrived:?}");
        assert_eq!(tracing.streamed, arrived.iter().sum::<u64>());
        let lost = tracing.lost_in_machine + tracing.lost_on_link;
        assert!(mode == Mode::RealTime || lost == 0, "{tracing:?}");
        assert_eq!(traced.counts(), [tracing.streamed + lost]);
    }
}

#[test]
fn a_guest_that_a_trace_stops_is_shown_and_goes_on() {
    let stopped = traced(
        &["PER FETCH RANGE guests::end::end_success STOP"],
        &["SHOW STORAGE C8-CF", "PER OFF ALL", "GO"],
        false,
    );
    let place = |text: &str| {
        let found = stopped.lines.iter().position(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("{text} in {:#?}", stopped.lines))
    };
    let event = place("  guests::end::end_success+0");
    let stop = place("// CPU 0 is stopped by trace 0");
    assert!(event < stop && stop < place("// PSW "));
    assert!(place("// R12 ") < place("// 00000000000000C8 "));
    assert_eq!(
        stopped.events().len(),
        1,
        "the trace has ended with the first event"
    );
}

#[test]
fn the_host_resumes_a_stopped_guest_when_nobody_else_does() {
    let stopped = traced(&["PER STORE RANGE C8.4 STOP"], &[], false);
    let times = stopped.events().len();
    assert!(times > 0);
    let operator = &stopped.outcome.operator;
    assert_eq!(
        operator.lines().filter(|line| *line == "// go").count(),
        times
    );
    let plain = ipl::above_with_success(&ipl::options(GUEST)).unwrap();
    assert_eq!(stopped.outcome.console, plain.console);
    assert_eq!(instructions(&stopped.outcome), instructions(&plain));
}

#[test]
fn a_symbol_that_the_guest_does_not_have_is_refused_with_the_nearest_before_anything_runs() {
    let directory = TempDir::new().unwrap();
    for (arguments, words) in [
        (
            &["trace", GUEST, "-e", "FETCH RANGE console::prnit"][..],
            &["console::prnit is neither", "guests::console::print"][..],
        ),
        (
            &["run", GUEST, "--operator", "PER FETCH RANGE frob"],
            &["frob is neither a hexadecimal number nor a symbol"],
        ),
        (
            &["trace", GUEST, "-e", "FETCH RANGE check::FAILURES"],
            &["check::FAILURES is data", "STORE"],
        ),
        (
            &["trace", GUEST, "-e", "FETCH RANGE pad", "-e", "EXECUTE"],
            &[
                "EXECUTE is not understood here",
                "BRANCH, FETCH, STORE, REG",
            ],
        ),
    ] {
        let mut command = command::measure(arguments).unwrap();
        command.current_dir(directory.path());
        command::finish(command).unwrap().assert_fails(2, words);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn events_are_shown_as_they_come_and_again_from_the_folder() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("run").to_string_lossy().into_owned();
    let event = format!("BRANCH RANGE {ROUTINE}");
    let arguments = ["trace", GUEST, "-e", &event, "--out", &folder];
    let shown = command::finish(command::measure(&arguments).unwrap()).unwrap();
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let events = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("CPU "));
        lines.map(str::to_owned).collect()
    };
    let live = events(&shown.output);
    assert!(!live.is_empty());
    for words in [
        "// trace 0: BRANCH RANGE ",
        "The guest ended with success",
        "traces of program events",
    ] {
        assert!(shown.output.contains(words), "{}", shown.output);
    }
    let again = command::finish(command::measure(&["trace", "--of", &folder]).unwrap()).unwrap();
    assert_eq!((again.code, events(&again.output)), (Some(0), live));
    // A reader that stops reading does not end the run.
    let mut child = command::measure(&arguments).unwrap().spawn().unwrap();
    let mut first = [0];
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut first).unwrap();
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let console = directory.path().join("run").join(measure::folder::CONSOLE);
    assert!(!fs::read_to_string(console).unwrap().is_empty());
}
