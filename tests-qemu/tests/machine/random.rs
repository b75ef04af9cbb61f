//! No stream of instructions stops the machine.
//!
//! The guests perform ten thousand random streams each. At the end of every run the machine compares its text,
//! constants, guard pages and unused storage with their former contents, and enters wait state 205 if they differ. A
//! run that ends well has therefore left the HSA alone.

use measure::{numbers::quantities::Sampling, options::RunOptions};
use tests_qemu::ipl;

fn survives(guest: &str, sampling: Sampling) {
    let options = RunOptions {
        sampling,
        ..ipl::options(guest)
    };
    let outcome = ipl::above_with_success(&options).unwrap();
    assert!(
        outcome
            .console
            .contains("random streams that ended: 10000 of 10000"),
        "{}",
        ipl::story(&outcome)
    );
}

#[test]
fn ten_thousand_random_streams_in_problem_state_leave_the_machine_whole() {
    survives("random", Sampling::Off);
}

#[test]
fn ten_thousand_random_streams_in_problem_state_can_be_sampled() {
    survives("random", Sampling::Every(1_000));
}

#[test]
fn ten_thousand_random_streams_in_supervisor_state_leave_the_machine_whole() {
    survives("random-supervisor", Sampling::Off);
}

#[test]
fn ten_thousand_random_streams_in_supervisor_state_can_be_sampled() {
    survives("random-supervisor", Sampling::Every(1_000));
}
