//! The operator stops a guest at what it writes, and the guest does not notice.

use measure::{machine::run::RunOutcome, options::RunOptions};
use tests_qemu::{ipl, suite::test};

/// A guest that writes on its console, and one with two CPUs.
const GUEST: &str = "b_stfl";
const GUEST_OF_TWO: &str = "b_signals";

/// Runs a guest that the operator treats so.
fn treated(guest: &str, operator: &[&str], when_waiting: &[&str]) -> RunOutcome {
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    let options = RunOptions {
        operator: owned(operator),
        when_waiting: owned(when_waiting),
        ..ipl::options(guest)
    };
    ipl::above_with_success(&options).unwrap()
}

/// What a guest did by itself, without what the operator and the machine said.
fn own(outcome: &RunOutcome) -> (String, Vec<u64>) {
    let totals = outcome.report.record.totals.iter();
    let instructions = totals.map(|totals| totals.guest_instructions).collect();
    (outcome.console.clone(), instructions)
}

#[test]
fn a_guest_that_is_held_at_what_it_writes_does_the_same_as_one_that_is_not() {
    for guest in [GUEST, GUEST_OF_TWO] {
        let free = treated(guest, &[], &[]);
        let words = free.console.lines().next().unwrap();
        let at = format!("HOLD AT {words}");
        // With answers in advance, and with the host's GO.
        for when_waiting in [&["SHOW PSW", "SHOW REGISTERS", "GO"][..], &[]] {
            let held = treated(guest, &[&at], when_waiting);
            assert_eq!(own(&held), own(&free), "{guest}");
            let shown = held
                .operator
                .lines()
                .filter(|line| line.starts_with("PSW "));
            assert_eq!(
                shown.count(),
                when_waiting.len().min(1),
                "{}",
                held.operator
            );
        }
    }
}

#[test]
fn words_that_the_guest_never_writes_do_not_hold_it() {
    let outcome = treated(GUEST, &["HOLD AT words that nobody writes"], &["SHOW PSW"]);
    assert!(!outcome.operator.contains("\nPSW "), "{}", outcome.operator);
    let outcome = treated(GUEST, &["HOLD AT b", "HOLD OFF"], &["SHOW PSW"]);
    assert!(!outcome.operator.contains("\nPSW "), "{}", outcome.operator);
}
