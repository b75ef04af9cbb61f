//! The counters count exactly what the guest performed.

use measure::{machine::run::RunOutcome, numbers::quantities::Sampling, options::RunOptions};
use tests_qemu::{ipl, suite::test};

/// The lines `instructions expected N counted N difference N (phase)` of the guest `count`.
#[derive(Debug, PartialEq, Eq)]
struct Phase {
    name: String,
    expected: u64,
    difference: i64,
}

fn phases(console: &str) -> Vec<Phase> {
    console
        .lines()
        .filter_map(|line| {
            let (numbers, name) = line
                .strip_prefix("instructions expected ")?
                .split_once(" (")?;
            let mut words = numbers.split(' ');
            let expected = words.next()?.parse().ok()?;
            let difference = words.next_back()?.parse().ok()?;
            Some(Phase {
                name: name.trim_end_matches(')').to_owned(),
                expected,
                difference,
            })
        })
        .collect()
}

fn counted(cpus: u32, sampling: Sampling) -> Vec<Phase> {
    let outcome = ipl::above_with_success(&RunOptions {
        cpus: Some(cpus),
        sampling,
        ..ipl::options("count")
    })
    .unwrap();
    let phases = phases(&outcome.console);
    assert_eq!(phases.len(), 4, "{}", outcome.console);
    for phase in &phases[..2] {
        assert!(phase.expected > 99_000_000, "{phase:?}");
        assert_eq!(phase.difference, 0, "{phase:?}");
    }
    for phase in &phases[2..] {
        assert!(
            phase.difference.unsigned_abs() * 10_000 <= phase.expected,
            "{phase:?}"
        );
    }
    phases
}

/// The differences of all phases. They leave out how often the clock comparator interrupted.
fn differences(phases: &[Phase]) -> Vec<i64> {
    phases.iter().map(|phase| phase.difference).collect()
}

#[test]
fn the_instruction_counter_is_exact_whatever_the_sampling_and_the_number_of_cpus() {
    let alone = differences(&counted(1, Sampling::Off));
    counts_are_exact(&alone, 1, Sampling::Every(100_000));
    counts_are_exact(&alone, 2, Sampling::Off);
    counts_are_exact(&alone, 4, Sampling::Every(9_973));
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_instruction_counter_is_exact_with_each_number_of_cpus_and_each_sampling() {
    let alone = differences(&counted(1, Sampling::Off));
    for cpus in [1, 2, 4] {
        for interval in [100_000, 9_973] {
            counts_are_exact(&alone, cpus, Sampling::Every(interval));
        }
        counts_are_exact(&alone, cpus, Sampling::Off);
    }
}

fn counts_are_exact(alone: &[i64], cpus: u32, sampling: Sampling) {
    let found = differences(&counted(cpus, sampling));
    assert_eq!(found, alone, "{cpus} CPUs, {sampling:?}");
}

fn run(guest: &str, sampling: Sampling) -> RunOutcome {
    ipl::above_with_success(&RunOptions {
        sampling,
        ..ipl::options(guest)
    })
    .unwrap()
}

fn totals(outcome: &RunOutcome) -> (u64, u64, u64) {
    let totals = &outcome.report.record.totals;
    (
        totals.iter().map(|cpu| cpu.guest_cycles).sum(),
        totals.iter().map(|cpu| cpu.guest_instructions).sum(),
        totals.iter().map(|cpu| cpu.firmware_instructions).sum(),
    )
}

#[test]
fn sampling_changes_no_count_of_a_cpu_bound_guest() {
    let (cycles, instructions, _) = totals(&run("spin", Sampling::Off));
    for interval in [10_000, 99_991, 1_000_000] {
        let sampled = totals(&run("spin", Sampling::Every(interval)));
        assert_eq!(
            (sampled.0, sampled.1),
            (cycles, instructions),
            "interval {interval}"
        );
    }
}

fn samples_times_interval_is_the_cycle_counter(guest: &str, interval: u64) {
    let outcome = run(guest, Sampling::Every(interval));
    let (cycles, ..) = totals(&outcome);
    let report = &outcome.report;
    assert_eq!(report.lost(), 0);
    assert!(
        (report.taken() * interval).abs_diff(cycles) * 1000 <= cycles,
        "{} samples at an interval of {interval} and {cycles} cycles",
        report.taken()
    );
}

#[test]
fn samples_times_interval_is_the_cycle_counter_in_disabled_code_and_nothing_is_lost() {
    samples_times_interval_is_the_cycle_counter("spin", 10_000);
}

#[test]
fn samples_times_interval_is_the_cycle_counter_in_problem_state_and_nothing_is_lost() {
    samples_times_interval_is_the_cycle_counter("brief", 10_000);
}

fn firmware_is_at_most_one_percent(guest: &str, cpus: u32, sampling: Sampling) {
    let outcome = ipl::above_with_success(&RunOptions {
        cpus: Some(cpus),
        sampling,
        ..ipl::options(guest)
    })
    .unwrap();
    let (_, guest, firmware) = totals(&outcome);
    assert!(firmware > 0 && guest > 1_000_000_000);
    assert!(
        firmware * 100 <= guest,
        "{firmware} instructions for {guest} of the guest"
    );
}

#[test]
fn a_cpu_bound_loop_costs_at_most_one_firmware_instruction_per_hundred() {
    firmware_is_at_most_one_percent("spin", 1, Sampling::Off);
}

#[test]
fn the_workload_costs_at_most_one_firmware_instruction_per_hundred() {
    firmware_is_at_most_one_percent("workload", 1, Sampling::Off);
}

#[test]
fn four_cpus_that_take_turns_cost_at_most_one_firmware_instruction_per_hundred() {
    firmware_is_at_most_one_percent("workload", 4, Sampling::Every(1_000_000));
}

#[test]
fn a_cpu_that_the_guest_never_starts_costs_its_start_only() {
    let outcome = ipl::above_with_success(&RunOptions {
        cpus: Some(4),
        sampling: Sampling::Off,
        ..ipl::options("spin")
    })
    .unwrap();
    for cpu in &outcome.report.record.totals[1..] {
        assert_eq!(cpu.guest_instructions, 0);
        assert!(
            (1..2000).contains(&cpu.firmware_instructions),
            "{} firmware instructions on CPU {}",
            cpu.firmware_instructions,
            cpu.cpu
        );
    }
}

#[test]
fn a_clock_that_the_guest_sets_changes_no_count() {
    for guest in ["b_clock", "b_clock_set"] {
        let outcome = ipl::above_with_success(&ipl::options(guest)).unwrap();
        let (_, guest, firmware) = totals(&outcome);
        // If setting the clock counted, each second of it would count a thousand million instructions.
        assert!(
            guest > 1000 && (guest / 10..200_000_000).contains(&firmware),
            "{firmware} instructions for {guest} of the guest"
        );
    }
}

#[test]
fn an_instruction_that_stores_into_its_own_page_is_executed_whatever_the_interval() {
    // Some of these come due right before such an instruction.
    for interval in [1000, 1001, 1007, 1056, 1063, 1091, 1133, 2000] {
        run("b_self_stored", Sampling::Every(interval));
    }
}
