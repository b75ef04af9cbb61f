//! Exact mode: the same input gives the same profile, bit for bit.

use std::time::Duration;

use measure::{
    computer::person::Input, machine::run::RunOutcome, numbers::quantities::Sampling, views::json,
};
use tests_qemu::{ipl, suite::test};

fn measured(guest: &str, cpus: u32, interval: u64) -> RunOutcome {
    let mut options = ipl::options(guest);
    options.cpus = Some(cpus);
    options.sampling = Sampling::Every(interval);
    let outcome = ipl::above_with_success(&options).unwrap();
    assert!(
        outcome.report.taken() > 100,
        "only {} samples",
        outcome.report.taken()
    );
    assert_eq!(outcome.report.doubts, Vec::<String>::new());
    outcome
}

fn twice_the_same(guest: &str, cpus: u32, interval: u64) {
    let (one, two) = (
        measured(guest, cpus, interval),
        measured(guest, cpus, interval),
    );
    assert_eq!(
        json::text(&one.report).unwrap(),
        json::text(&two.report).unwrap()
    );
    assert_eq!(one.report.sdb_sha256, two.report.sdb_sha256);
    assert_eq!(one.report.record.totals, two.report.record.totals);
    assert_eq!(one.console, two.console);
    // The hash depends on the samples: other samples have another hash.
    let other = measured(guest, cpus, interval + 1);
    assert_ne!(one.report.sdb_sha256, other.report.sdb_sha256);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn two_runs_from_the_same_date_give_the_same_bytes_on_one_cpu() {
    twice_the_same("workload", 1, 100_000);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn two_runs_from_the_same_date_give_the_same_bytes_on_two_cpus() {
    twice_the_same("workload", 2, 100_000);
}

#[test]
fn two_runs_from_the_same_date_give_the_same_bytes_on_four_cpus() {
    twice_the_same("brief", 4, 10_000);
}

#[test]
fn a_guest_that_waits_for_its_host_waits_no_time_however_long_the_host_takes() {
    let answered_after = |pause| {
        let mut options = ipl::options("b_losses");
        let samples = ["ALERT CPU 0 SAMPLES", "INTERRUPT CPU 0"].repeat(2);
        let counters = ["ALERT CPU 0 COUNTERS BASIC", "INTERRUPT CPU 0"].repeat(2);
        options.script = (samples.iter().chain(&counters))
            .map(|&command| Input::Operator(command.to_owned()))
            .collect();
        options.pause = pause;
        ipl::above_with_success(&options).unwrap()
    };
    let at_once = answered_after(Duration::ZERO);
    let late = answered_after(Duration::from_millis(200));
    // When input arrives, before the wait or during it, changes the work of the firmware but not that of the guest.
    let of_the_guest = |outcome: &RunOutcome| {
        let totals = &outcome.report.record.totals[0];
        (totals.guest_cycles, totals.guest_instructions, totals.traps)
    };
    assert_eq!(of_the_guest(&late), of_the_guest(&at_once));
    assert_eq!(late.console, at_once.console);
}

#[test]
fn the_hottest_routines_are_the_same_at_two_intervals_that_have_no_common_factor() {
    let shares = |interval| {
        let report = measured("brief", 1, interval).report;
        let hot = report.hot.iter();
        hot.map(|hot| (hot.symbol.clone(), report.percent(hot.samples)))
            .collect::<Vec<_>>()
    };
    let (coarse, fine) = (shares(50_000), shares(4_999));
    // Routines that are nearly as hot may change places.
    let hottest = coarse.iter().take(5);
    for (symbol, coarse) in hottest.clone() {
        let same = fine.iter().find(|(same, _)| same == symbol);
        let fine = same.map_or(0.0, |(_, percent)| *percent);
        assert!(
            (coarse - fine).abs() < 2.0,
            "{symbol}: {coarse} and {fine} percent"
        );
    }
    assert!(hottest.map(|(_, percent)| percent).sum::<f64>() > 80.0);
}
