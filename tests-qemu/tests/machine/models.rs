//! The host's tests with more cases than `cargo test` has: the facilities beside the models written from their book, a virtual
//! CPU in the hands of chance, and the readers of files.

use std::{env, process::Command};

use measure::building::repository;
use tests_qemu::suite::test;

/// Cases of each of the seven comparisons: a million in all.
const CASES: &str = "150000";

/// Steps of virtual CPUs, from another beginning than those of `cargo test`.
const STEPS: &str = "10000000";
const SEED: &str = "1000003";

/// Milliseconds of spoilt input for each reader.
const PASS: &str = "1500";

/// What tests of the host say, with these variables. They must succeed. The line names no package, so that the libraries are
/// those that `cargo test` has built.
fn host_test(line: &str, variables: &[(&str, &str)]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["test", "--quiet"])
        .args(line.split(' '))
        .envs(variables.iter().copied())
        .current_dir(repository::root())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{output}{error}");
    output
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_facilities_agree_with_their_models_in_a_million_cases() {
    let line = "--lib -- --nocapture model_";
    let output = host_test(line, &[("PROPTEST_CASES", CASES)]);
    let agreed = format!("{CASES} cases agree");
    assert_eq!(output.matches(&agreed).count(), 7, "{output}");
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn ten_million_random_steps_leave_the_machine_whole() {
    let line = "--lib -- whatever_a_guest_does";
    let output = host_test(
        line,
        &[("MILLIMETER_STEPS", STEPS), ("MILLIMETER_SEED", SEED)],
    );
    assert!(output.contains("1 passed"), "{output}");
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn every_reader_survives_more_spoilt_input() {
    let output = host_test("--test short", &[("MILLIMETER_PASS", PASS)]);
    assert!(output.contains("test result: ok"), "{output}");
}
