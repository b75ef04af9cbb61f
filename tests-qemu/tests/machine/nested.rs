//! A machine that is a guest of the machine.

use measure::{
    machine::run::RunOutcome,
    numbers::quantities::{Sampling, Storage},
    options::RunOptions,
};
use millimeter::link::loader::PROGRAM_PARAMETER;
use tests_qemu::ipl;

/// A guest with tasks, timers and supervisor calls.
const GUEST: &str = "hash";

/// The program that the image is.
const MACHINE: &str = "millimeter";

fn run(nested: u32) -> RunOutcome {
    ipl::above_with_success(&RunOptions {
        nested,
        storage: Storage(512 << 20),
        sampling: Sampling::Every(100_000),
        ..ipl::options(GUEST)
    })
    .unwrap()
}

/// What the machine has counted of its guest, by CPU.
fn counted(outcome: &RunOutcome) -> Vec<(u16, u64, u64)> {
    let totals = outcome.report.record.totals.iter();
    totals
        .map(|cpu| (cpu.cpu, cpu.guest_cycles, cpu.guest_instructions))
        .collect()
}

/// The samples in a program.
fn samples_in(outcome: &RunOutcome, module: &str) -> u64 {
    let hot = outcome.report.hot.iter();
    hot.filter(|line| line.module == module)
        .map(|line| line.samples)
        .sum()
}

#[test]
fn a_guest_has_the_same_counters_above_two_machines_as_above_one() {
    let direct = run(0);
    let outer = run(1);
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    assert_eq!(inner.report.record.mode_found(), "exact");
    assert_eq!(inner.console, direct.console);
    assert_eq!(counted(inner), counted(&direct));
    assert!(!direct.report.counters.is_empty());
    assert_eq!(inner.report.counters, direct.report.counters);
    let taken = |outcome: &RunOutcome| outcome.report.record.totals[0].samples_taken;
    assert_eq!(taken(inner), taken(&direct));
    let link = &inner.report.record.link;
    assert_eq!(
        (link.bad_frames, link.bad_payloads, link.blocks_missing),
        (0, 0, 0)
    );
    assert_eq!(link.frames_sent.map(u64::from), Some(link.frames));

    // The level below sees the inner machine's routines in supervisor state, and its guest's in problem state.
    let (machine, guest) = (samples_in(&outer, MACHINE), samples_in(&outer, GUEST));
    assert!(machine > 100 && guest > 5_000, "{machine} {guest}");
    let samples = || outer.report.cpus.iter().flat_map(|cpu| &cpu.entries);
    let in_problem_state = samples().filter(|entry| entry.problem_state()).count() as u64;
    assert!(in_problem_state.abs_diff(guest) <= guest / 1000);
    let known = samples()
        .filter(|entry| entry.guest_program_parameter.get() == PROGRAM_PARAMETER)
        .count() as u64;
    assert!(known > guest, "{known} of {guest} samples");
}

#[test]
fn what_a_guest_counts_of_itself_above_two_machines_is_exact() {
    let outer = ipl::above_with_success(&RunOptions {
        nested: 1,
        ..ipl::options("count")
    })
    .unwrap();
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    let phases = inner.console.lines();
    let exact = phases
        .filter(|line| line.contains(" difference 0 ("))
        .count();
    assert_eq!(exact, 4, "{}", inner.console);
}

#[test]
fn three_machines_above_each_other_run_a_guest_to_its_end() {
    let outermost = ipl::above_with_success(&RunOptions {
        nested: 2,
        storage: Storage(512 << 20),
        sampling: Sampling::Off,
        ..ipl::options("b_clock")
    })
    .unwrap();
    let innermost = outermost.of_guest();
    assert_eq!(innermost.end.exit_code(), 0, "{}", ipl::story(innermost));
    assert_eq!(innermost.report.record.mode_found(), "exact");
}
