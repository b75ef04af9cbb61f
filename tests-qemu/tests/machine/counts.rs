//! Exact counts are true, and a run that is counted is the run without counts.

use std::{collections::BTreeMap, fs, ops::RangeInclusive};

use measure::{
    computer::progress::Progress,
    counts::{Counts, Executed, Instruction},
    events::file,
    folder::record::RunRecord,
    machine::run::{self, RunOutcome},
    options::{
        RunOptions,
        count::{Begin, Counted, States},
    },
    report::Report,
    views::json,
};
use millimeter::link::{counts::PROBLEM, trace::parse};
use tempfile::TempDir;
use tests_qemu::{command, ipl, suite::test};

use crate::caches::traced;

/// Guests whose time, samples and output would show a clock that is off by an instruction: they look at the clock, set timers, or
/// sample themselves; and some that execute text that changes, from the ends of pages, or by EXECUTE.
const GUESTS: [&str; 15] = [
    "b_clock",
    "b_comparator_at_page",
    "b_alert_both",
    "b_alert_full",
    "b_cpu_timer",
    "b_addressing_mode",
    "b_access_register_mode",
    "b_psw_mask",
    "b_epsw_condition_code",
    "b_page_end",
    "b_stfl",
    "b_self_modified",
    "b_self_stored",
    "b_execute_modified",
    "simple",
];

/// The run with its counts, and the run without.
struct Both {
    plain: RunOutcome,
    counted: RunOutcome,
    counts: Counts,
    _directory: TempDir,
}

/// Both runs, of which the guest has done the same in the same time.
fn both(options: &RunOptions) -> Both {
    let plain = ipl::above(options).unwrap();
    let directory = TempDir::new().unwrap();
    let out = directory.path().join("run");
    let counting = RunOptions {
        count: Some(options.count.clone().unwrap_or_default()),
        out: Some(out.clone()),
        ..options.clone()
    };
    let counted = run::run(&counting, &Progress::Silent).unwrap();
    let guest = &options.guest;
    assert_eq!(counted.end.exit_code(), plain.end.exit_code(), "{guest}");
    assert_eq!(counted.console, plain.console, "{guest}");
    let [one, two] = [&counted, &plain].map(|outcome| &outcome.report);
    let of_guest = |report: &Report| {
        let totals = report.record.totals.iter();
        let of_cpu = totals.map(|cpu| (cpu.guest_cycles, cpu.guest_instructions));
        of_cpu.collect::<Vec<_>>()
    };
    assert_eq!(of_guest(one), of_guest(two), "{guest}");
    assert_eq!(one.sdb_sha256, two.sdb_sha256, "{guest}");
    let counts = Counts::read(&out, &one.record).unwrap();
    Both {
        counts: counts.expect("the run has counts"),
        plain,
        counted,
        _directory: directory,
    }
}

/// Both runs, in which the machine has done the same, too.
fn alike(options: &RunOptions) -> Both {
    let both = both(options);
    let of_machine = |outcome: &RunOutcome| {
        let text = json::text(&outcome.report).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let totals = outcome.report.record.totals.iter();
        let traps = totals.map(|cpu| cpu.traps);
        (value["counters"].clone(), traps.collect::<Vec<_>>())
    };
    let [one, two] = [&both.counted, &both.plain].map(of_machine);
    assert_eq!(one, two, "{:?}", options.guest);
    both
}

/// The run is the same, and everything that it executed was counted.
fn all_of(options: &RunOptions) -> Both {
    let both = alike(options);
    let totals = &both.counted.report.record.totals;
    let executed: u64 = totals.iter().map(|cpu| cpu.guest_instructions).sum();
    let found = (both.counts.counted(), both.counts.unmatched());
    assert_eq!(found, (executed, 0), "{:?}", options.guest);
    both
}

#[test]
fn a_counted_run_is_the_run_without_counts_and_its_counts_add_up_to_the_instruction_counter() {
    for guest in GUESTS {
        all_of(&ipl::options(guest));
    }
}

#[test]
fn instructions_in_a_loop_were_executed_as_often_as_its_source_says() {
    let both = all_of(&ipl::options("simple"));
    let times = both.counts.executed.values().map(|found| found.times);
    // Ten instructions, and a hundred thousand rounds.
    assert_eq!(times.filter(|&times| times == 100_000).count(), 10);
}

#[test]
fn each_instruction_was_executed_as_often_as_a_trace_of_all_has_it() {
    for guest in ["b_psw_mask", "b_epsw_condition_code", "b_page_end"] {
        let directory = TempDir::new().unwrap();
        let (out, _) = traced(ipl::options(guest), &directory);
        let mut events: BTreeMap<u64, u64> = BTreeMap::new();
        file::read(&out, |payload| {
            parse(payload, |event| {
                // One that met an exception was not completed, but for a supervisor call.
                if event.head.code.get() == 0 {
                    *events.entry(event.head.at.get()).or_default() += 1;
                }
            })?;
            Ok(true)
        })
        .unwrap();
        let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
        for (instruction, found) in &all_of(&ipl::options(guest)).counts.executed {
            *counted.entry(instruction.address).or_default() += found.times;
        }
        let differ = |at: &u64| counted.get(at) != events.get(at);
        let all = counted.keys().chain(events.keys());
        let different: Vec<_> = all
            .filter(|at| differ(at))
            .map(|at| format!("{at:X}: {:?} {:?}", counted.get(at), events.get(at)))
            .collect();
        assert_eq!(different, Vec::<String>::new(), "{guest}");
    }
}

/// The counts of this part of a run, with which its skipped instructions are as many as the counter says.
fn part(guest: &str, part: Counted) -> BTreeMap<Instruction, Executed> {
    let mut options = ipl::options(guest);
    options.count = Some(part);
    let counting = options.clone();
    options.count = None;
    let plain = alike(&options);
    let found = alike(&counting);
    let counts = &found.counts;
    let sum = counts.counted() + counts.skipped();
    assert_eq!((sum, counts.unmatched()), (plain.counts.counted(), 0));
    assert_ne!((counts.counted(), counts.skipped()), (0, 0));
    found.counts.executed
}

fn in_states(guest: &str, states: States) -> BTreeMap<Instruction, Executed> {
    let counted = Counted {
        states,
        ..Counted::default()
    };
    part(guest, counted)
}

#[test]
fn a_count_of_a_few_addresses_is_what_a_count_of_all_has_there() {
    for guest in [
        "simple",
        "b_execute_modified",
        "b_page_end",
        "b_self_modified",
        "b_comparator_at_page",
    ] {
        let all = all_of(&ipl::options(guest)).counts.executed;
        let addresses: Vec<u64> = all.keys().map(|of| of.address).collect();
        // From the middle of some text to the middle of another, and one address.
        let tenth = |tenths: usize| addresses[addresses.len() * tenths / 10];
        let ranges = vec![tenth(4)..=tenth(5), tenth(8)..=tenth(8)];
        let place = |range: &RangeInclusive<u64>| format!("{:X}-{:X}", range.start(), range.end());
        let places = ranges.iter().map(place).collect();
        let has = |of: &Instruction| ranges.iter().any(|range| range.contains(&of.address));
        let expected: BTreeMap<_, _> = all.iter().filter(|(of, _)| has(of)).collect();
        let counted = Counted {
            places,
            ranges: ranges.clone(),
            ..Counted::default()
        };
        let found = part(guest, counted);
        assert!(found.iter().eq(expected), "{guest}");
    }
}

#[test]
fn what_is_counted_in_either_state_is_together_what_is_counted_in_both() {
    let guest = "b_problem_state_wait";
    let user = in_states(guest, States::User);
    assert!(user.keys().all(|of| of.state & PROBLEM != 0));
    let mut together = in_states(guest, States::Kernel);
    assert!(together.keys().all(|of| of.state & PROBLEM == 0));
    assert!(!user.is_empty() && !together.is_empty());
    together.extend(user);
    assert_eq!(together, all_of(&ipl::options(guest)).counts.executed);
}

#[test]
fn counting_begins_when_the_guest_has_written_words() {
    let all = all_of(&ipl::options("b_psw_mask"));
    let words = all.plain.console.lines().nth(1).unwrap().to_owned();
    let later = Counted {
        begin: Some(Begin::Words(words)),
        ..Counted::default()
    };
    let later = part("b_psw_mask", later);
    assert!(later.len() < all.counts.executed.len());
    for (instruction, found) in later {
        assert!(found.times <= all.counts.executed[&instruction].times);
    }
}

#[test]
fn a_window_of_a_run_is_counted_when_it_is_looked_at_again() {
    let directory = TempDir::new().unwrap();
    let measure = |line: &[&str]| {
        let mut command = command::measure(line).unwrap();
        command.current_dir(directory.path());
        let finished = command::finish(command).unwrap();
        assert_eq!(finished.code, Some(0), "{finished:?}");
    };
    measure(&[
        "run",
        "simple",
        "--rtc",
        "2026-01-01T00:00:00",
        "--out",
        "run",
    ]);
    measure(&["zoom", "run", "--count", "--from", "200us", "--to", "400us"]);
    let zoomed = directory.path().join("run-zoom-1");
    let record = RunRecord::read(&zoomed).unwrap();
    let counts = Counts::read(&zoomed, &record).unwrap().unwrap();
    // An instruction takes a nanosecond. The window begins and ends with a trap.
    let counted = counts.counted();
    assert!((100_000..300_000).contains(&counted), "{counted}");
    let executed: u64 = record.totals.iter().map(|cpu| cpu.guest_instructions).sum();
    assert_eq!(
        (counted + counts.skipped(), counts.unmatched()),
        (executed, 0)
    );
}

#[test]
fn every_cpu_has_its_own_counts() {
    let both = all_of(&ipl::options("b_group_counters"));
    let totals = both.counted.report.record.totals.iter();
    let executed: Vec<_> = totals.map(|cpu| cpu.guest_instructions).collect();
    let counted: Vec<_> = both.counts.cpus.iter().map(|cpu| cpu.counted).collect();
    assert_eq!(counted, executed);
}

#[test]
fn a_check_by_exact_counts_names_a_routine_that_changed_by_its_instructions() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let check = |name: &str, rounds: u64, more: &[&str]| {
        let guest = ipl::with_parameters("calls", b"rounds of the call tree:", &[rounds]).unwrap();
        fs::create_dir(here.join(name)).unwrap();
        let file = here.join(name).join("calls");
        fs::copy(guest.path(), &file).unwrap();
        let run = ["run", file.to_str().unwrap()];
        let line = [&["check", "base.toml", "--count"], more, &run].concat();
        let mut command = command::measure(&line).unwrap();
        command.current_dir(here);
        command::finish(command).unwrap()
    };
    let exact = ["--tolerance", "0i", "--symbol-tolerance", "0i"];
    let written = check("first", 14, &[&["--update"], &exact[..]].concat());
    assert_eq!(written.code, Some(0), "{written:?}");
    let same = check("same", 14, &[]);
    assert!(same.output.ends_with("no regression\n"), "{same:?}");
    let more = check("more", 15, &[]);
    assert_eq!(more.code, Some(1), "{more:?}");
    // As often as it is called in a round.
    for words in [
        "calls::local grew by +1,760 ",
        "calls::first grew by +1,115 ",
    ] {
        assert!(more.output.contains(words), "{words}: {more:?}");
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_run_that_is_counted_executes_random_instructions_as_without() {
    // A control program whose instructions are random has a trap more or less now and then.
    for (found, most) in [
        (alike(&ipl::options("random")), 100),
        (both(&ipl::options("random-supervisor")), 5000),
    ] {
        let totals = &found.counted.report.record.totals[0];
        // Some exceptions of instructions that cannot be executed are charged wrongly.
        let sum = found.counts.counted() + found.counts.unmatched();
        let difference = totals.guest_instructions.abs_diff(sum);
        assert!(difference < 200, "{difference}");
        let unmatched = found.counts.unmatched();
        assert!(unmatched < most, "{unmatched}");
    }
}
