//! A second opinion on the facilities: they and their models agree in many random cases.
//!
//! The models are the files `model_…` beside the code that they check. Each consists of tables of
//! SA23-2260's figures and registers as plain bits. It is written from the book and not from the code, and
//! shares only names with the code. A case is a machine model and a random sequence of events; after every
//! event the program's view of the facility and of the book's registers must be the same.
//!
//! The cases are the same in every run. `PROPTEST_RNG_SEED` chooses others, and `PROPTEST_CASES` sets the
//! number of cases of each comparison: `cargo soak` compares a million in all. A comparison that fails shows
//! its shortest sequence of events.

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, RngSeed, TestRunner};
use std::cell::Cell;
use std::fmt::Debug;

/// The states of CPU counter sets, LCCTL, and what counters count (`counters/model_lcctl.rs`).
pub const CPU_COUNTER_SETS: u32 = 40_000;
/// The coprocessor groups, LPCTL, and what several CPUs see of them (`counters/model_peripheral.rs`).
pub const COPROCESSOR_GROUPS: u32 = 30_000;
/// The states of the sampling functions and LSCTL (`sampling/model_lsctl.rs`).
pub const SAMPLING_FUNCTIONS: u32 = 40_000;
/// The update process over random tables and blocks (`sampling/model_update.rs`).
pub const UPDATE_PROCESS: u32 = 30_000;
/// Data entries by level, model and functions (`sampling/model_entry.rs`).
pub const DATA_ENTRIES: u32 = 20_000;
/// Blocks that become full (the same file).
pub const FULL_BLOCKS: u32 = 10_000;
/// What makes alerts pending and what clears them (`model_alert.rs`).
pub const ALERTS: u32 = 30_000;

const _: () = assert!(
    CPU_COUNTER_SETS
        + COPROCESSOR_GROUPS
        + SAMPLING_FUNCTIONS
        + UPDATE_PROCESS
        + DATA_ENTRIES
        + FULL_BLOCKS
        + ALERTS
        >= 200_000
);

/// Any number would do.
const SEED: u64 = 0x5A23_2260;

/// Fewer cases, as an interpreter is slow.
const CASES_BY_MIRI: u32 = 4;

fn chosen<T: std::str::FromStr<Err: Debug>>(variable: &str) -> Option<T> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect(variable))
}

/// Compares the code with its model in `cases` cases.
///
/// # Panics
/// When they disagree in one.
pub fn agree<S: Strategy>(
    cases: u32,
    strategy: S,
    comparison: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let usual = if cfg!(miri) { CASES_BY_MIRI } else { cases };
    let cases = chosen("PROPTEST_CASES").unwrap_or(usual);
    let seed = chosen("PROPTEST_RNG_SEED").unwrap_or(SEED);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::XorShift,
        rng_seed: RngSeed::Fixed(seed),
        ..Default::default()
    });
    let tried = Cell::new(0);
    let outcome = runner.run(&strategy, |case| {
        tried.set(tried.get() + 1);
        comparison(case)
    });
    if let Err(disagreement) = outcome {
        panic!("seed {seed}, {cases} cases: {disagreement}");
    }
    // No case was rejected or left out.
    assert_eq!(tried.get(), cases);
    println!("{cases} cases agree");
}
