//! Instructions are executed one at a time: exactly, and at a price that is known.

use std::time::Duration;

use measure::{json, run::RunOutcome};
use millimeter::cache::Geometry;
use tests_qemu::ipl;

/// The longest run: it has only to end.
const LIMIT: Duration = Duration::from_secs(1800);

/// Above the machine with program events recorded.
fn recorded(guest: &str) -> RunOutcome {
    let mut options = ipl::options(guest);
    options.events.recorded = true;
    options.limit = Some(LIMIT);
    ipl::above_with_success(&options).unwrap()
}

/// So many random instructions from a seed.
fn random(seed: u64, instructions: u64) {
    let parameters = [seed, instructions];
    let file =
        ipl::with_parameters("random-recording", b"random instructions from", &parameters).unwrap();
    println!("{}", recorded(file.path().to_str().unwrap()).console);
}

// Two halves of a million, which a computer with two processors executes side by side.

#[test]
fn random_instructions_executed_one_at_a_time_alter_what_is_indicated_and_end_as_without_it() {
    random(11, 500_000);
}

#[test]
fn so_do_as_many_others() {
    random(12, 500_000);
}

#[test]
fn a_step_takes_at_most_600_instructions_of_the_machine() {
    println!("{}", recorded("stepping").console);
}

#[test]
fn a_run_through_the_model_of_the_caches_executes_what_it_executes_without_it() {
    let plain = ipl::above_with_success(&ipl::options("b_stfl")).unwrap();
    let mut options = ipl::options("b_stfl");
    options.exact_caches = Some(Geometry::default());
    let modelled = ipl::above_with_success(&options).unwrap();
    let guest = |outcome: &RunOutcome| {
        let totals = &outcome.report.record.totals[0];
        (totals.guest_instructions, totals.guest_cycles)
    };
    assert_eq!(guest(&modelled), guest(&plain));
    assert_eq!(modelled.console, plain.console);
    let steps = modelled.report.record.totals[0].traps;
    assert!(
        steps >= guest(&plain).0,
        "{steps} traps, {:?}",
        guest(&plain)
    );
    // Text and operands were brought in, at the price that the geometry says.
    let text = json::text(&modelled.report).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let count = |number: &str| value["counters"]["basic"][number].as_u64().unwrap();
    for (writes, penalty) in [("2", "3"), ("4", "5")] {
        assert!(count(writes) != 0, "{text}");
        assert_eq!(count(penalty), 8 * count(writes), "{text}");
    }
}
