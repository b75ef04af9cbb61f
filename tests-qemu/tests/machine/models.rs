//! The facilities and the models written from their book, in more cases than `cargo test` compares.

use std::{env, process::Command};

use measure::building::repository;
use tests_qemu::suite::test;

/// Cases of each of the seven comparisons: a million in all.
const CASES: &str = "150000";

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_facilities_agree_with_their_models_in_a_million_cases() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["test", "--quiet", "--package", "millimeter-cpumf", "--lib"])
        .args(["--", "--nocapture", "model_"])
        .env("PROPTEST_CASES", CASES)
        .current_dir(repository::root())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{output}{error}");
    let agreed = format!("{CASES} cases agree");
    assert_eq!(output.matches(&agreed).count(), 7, "{output}");
}
