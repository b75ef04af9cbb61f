//! Real-time mode gives a profile, and authorizes no counter that it cannot count.

use measure::{numbers::quantities::Sampling, options::RunOptions};
use millimeter::link::state::Mode;
use tests_qemu::{ipl, suite::test};

fn options(guest: &str) -> RunOptions {
    RunOptions {
        mode: Mode::RealTime,
        ..ipl::options(guest)
    }
}

#[test]
fn real_time_mode_gives_a_profile_and_authorizes_no_counter_set() {
    let options = RunOptions {
        sampling: Sampling::Every(1_000_000),
        ..options("hash")
    };
    let outcome = ipl::above_with_success(&options).unwrap();
    let report = &outcome.report;
    assert_eq!(report.record.mode_found(), "real-time");
    assert!(report.taken() > 100, "only {} samples", report.taken());
    // The hottest routine also depends on the host: the busier it is, the more samples the guest's interruption
    // handler gets. The guest's own work gets at least this share.
    let hash = report.hot.iter().find(|of| of.symbol.contains("hash"));
    assert!(
        hash.is_some_and(|hash| hash.samples > 100),
        "{:?}",
        report.hot
    );
    assert!(
        report.counters.iter().all(|set| !set.authorized),
        "{:?}",
        report.counters
    );
}

#[test]
fn a_guest_in_real_time_mode_is_told_that_it_may_not_count() {
    let outcome = ipl::above(&options("count")).unwrap();
    assert!(
        outcome.console.contains("counter sets are not authorized")
            || outcome
                .console
                .contains("the counter facility (67) is absent"),
        "{}",
        ipl::story(&outcome)
    );
}

#[test]
fn real_time_mode_runs_four_cpus_at_once() {
    let options = RunOptions {
        cpus: Some(4),
        ..options("workload")
    };
    let outcome = ipl::above_with_success(&options).unwrap();
    assert!(outcome.report.taken() > 100);
}

#[test]
fn a_buffer_may_change_while_it_is_sampled_into_on_another_cpu_at_the_same_time() {
    let options = RunOptions {
        cpus: Some(2),
        ..options("b_sampling_changed_while_active")
    };
    ipl::above_with_success(&options).unwrap();
}

/// Every change that one CPU makes is found by the others, in parts of so many milliseconds.
fn changes_are_found(cpus: u32, milliseconds: u64) {
    let file =
        ipl::with_parameters("coherence", b"milliseconds of a part: ", &[milliseconds]).unwrap();
    let options = RunOptions {
        cpus: Some(cpus),
        sampling: Sampling::Off,
        ..options(file.path().to_str().unwrap())
    };
    let outcome = ipl::above_with_success(&options).unwrap();
    println!("{cpus} CPUs:\n{}", outcome.console);
}

#[test]
fn what_a_cpu_changes_two_cpus_find_at_once() {
    changes_are_found(2, 1_000);
}

#[test]
fn what_a_cpu_changes_four_cpus_find_at_once() {
    changes_are_found(4, 1_000);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn what_a_cpu_changes_is_found_at_once_for_half_a_minute() {
    changes_are_found(2, 4_000);
    changes_are_found(4, 4_000);
}
