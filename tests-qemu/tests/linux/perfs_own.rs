//! perf's own tests: those that pass on bare QEMU pass above the machine, and a few more.

use std::collections::BTreeMap;

use measure::linux::Release;

use tests_qemu::suite::test;

use crate::{
    guest::{Guest, section},
    native,
};

/// perf's test of exit events waits for a child by a thousand polls, which return at once. That is long enough in one of five
/// tries, as the clocks of the guest stand, so it is tried again and again.
const QUESTIONS: &str =
    "echo @suite; perf test 2>&1; for n in $(seq 48); do perf test 24 2>&1; done\n";

/// The tests that pass only above the machine, because they need an event that counts cycles.
const MORE: [&str; 2] = [
    "24: Number of exit events of a simple workload",
    "28: Use a dummy software event to keep tracking",
];

/// Every test by its number and name, with its result: the best one, if it was tried again.
fn results(output: &str) -> BTreeMap<String, String> {
    let tests = section(output, "suite").lines().filter_map(|line| {
        // A name may contain a colon, a result does not.
        let (name, result) = line.trim().rsplit_once(':')?;
        let numbered = name.starts_with(|c: char| c.is_ascii_digit());
        let word = result.split_whitespace().next()?;
        numbered.then(|| (name.trim_end().to_owned(), word.to_owned()))
    });
    let mut results = BTreeMap::new();
    for (name, word) in tests {
        let best = results.entry(name).or_insert_with(|| word.clone());
        if best != "Ok" {
            *best = word;
        }
    }
    results
}

/// Shows what does not pass, and where the two differ.
fn show(above: &BTreeMap<String, String>, natively: &BTreeMap<String, String>) {
    for (name, result) in above {
        let native = natively.get(name).map_or("-", String::as_str);
        if native != result || result != "Ok" {
            println!("{name}: {result} above the machine, {native} on bare QEMU");
        }
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn perfs_own_tests_pass_above_the_machine_where_they_pass_on_bare_qemu_and_two_more() {
    let guest = Guest {
        release: Release::V6_1,
        cpus: 1,
    };
    let above = results(&guest.answers(QUESTIONS).output);
    let natively = results(&native::output(&guest, native::STORAGE, QUESTIONS));
    assert!(natively.len() > 80, "{natively:#?}");
    show(&above, &natively);
    let passes = |results: &BTreeMap<String, String>| -> Vec<String> {
        let these = results.iter().filter(|(_, result)| *result == "Ok");
        these.map(|(name, _)| name.clone()).collect()
    };
    let (above_passes, natively_passes) = (passes(&above), passes(&natively));
    assert!(natively_passes.len() > 50, "{natively:#?}");
    for name in &natively_passes {
        assert!(above_passes.contains(name), "{name}: {:?}", above.get(name));
    }
    let more: Vec<&String> = above_passes
        .iter()
        .filter(|name| !natively_passes.contains(name))
        .collect();
    assert_eq!(more, MORE);
}
