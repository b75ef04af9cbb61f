//! Tests over small folders.

use std::fs;

use super::*;
use crate::{
    folder::record::RunRecord, formats::samples::tests::block, profile::tests::collection,
    report::tests::directory,
};

/// An unchanged run, and one whose CPU 1 spent more time in `inner`.
fn difference() -> Difference {
    let (first, second) = (directory(), directory());
    let samples = block(&[(0x20_003F, 0), (0x20_0030, 0), (0x20_0032, 0)], 0);
    fs::write(second.path().join("sdb-cpu1.bin"), samples).unwrap();
    let mut counters = fs::read(second.path().join("counters.bin")).unwrap();
    counters.extend(crate::formats::counters::tests::payload(
        1,
        Level::Machine,
        1,
        0,
        &[3002, 500],
    ));
    fs::write(second.path().join("counters.bin"), counters).unwrap();
    compare(first.path(), second.path(), Progress::Silent).unwrap()
}

#[test]
fn names_are_ordered_by_the_difference_of_their_shares() {
    let difference = difference();
    let lines: Vec<(&str, [u64; 2], i64)> = difference
        .lines
        .iter()
        .map(|line| {
            (
                &line.symbol[..],
                line.samples,
                (line.difference() * 100.0).round() as i64,
            )
        })
        .collect();
    // Of 7 and of 8 samples.
    assert_eq!(
        lines,
        [
            ("inner", [3, 5], 1964),
            ("start", [2, 1], -1607),
            ("(unknown address)", [1, 1], -179),
            ("(wait)", [1, 1], -179),
        ]
    );
    let text = text::text(&difference);
    let line = text.lines().find(|line| line.contains("inner")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells, ["inner", "g", "42.86", "62.50", "+19.64", "3", "5"]);
}

#[test]
fn counters_of_both_stand_beside_their_ratio() {
    let difference = difference();
    let cycles = &difference.counters[0];
    assert_eq!(
        (&cycles.name[..], cycles.values),
        ("Cycle count", [Some(2001), Some(4002)])
    );
    assert_eq!(cycles.ratio(), Some(2.0));
    let zero = difference
        .counters
        .iter()
        .find(|counter| counter.number == 128);
    assert_eq!(zero, None);
    let text = text::text(&difference);
    let line = text
        .lines()
        .find(|line| line.contains("Cycle count"))
        .unwrap();
    assert!(line.ends_with("2,001  4,002  2.0000"), "{line}");
}

#[test]
fn two_runs_of_the_same_kind_are_compared_without_a_warning_of_their_kind() {
    let difference = difference();
    assert!(
        difference
            .warnings
            .iter()
            .all(|warning| warning.contains("blocks were full"))
    );
}

#[test]
fn differences_that_make_two_runs_hard_to_compare_are_warnings() {
    let (first, second) = (directory(), collection());
    let mut record = RunRecord::read(first.path()).unwrap();
    record.configuration = vec!["level vm".to_owned()];
    record.exact_caches = Some("i=1K/1/64/8,d=1K/1/64/8".to_owned());
    record.write(first.path()).unwrap();
    let difference = compare(first.path(), second.path(), Progress::Silent).unwrap();
    let text = text::text(&difference);
    for expected in [
        "the machines are not the same: unknown in A, 8561 in B",
        "not have the same speed, in cycles per microsecond: unknown in A, 1,000 in B",
        "did not find the same machine: level vm in A, unknown in B",
        "caches are not the same: i=1K/1/64/8,d=1K/1/64/8 in A, unknown in B",
    ] {
        assert!(text.contains(expected), "{expected}\nin\n{text}");
    }
    let mut record = RunRecord::read(first.path()).unwrap();
    record.interval = 5;
    record.write(first.path()).unwrap();
    let difference = compare(first.path(), second.path(), Progress::Silent).unwrap();
    let text = text::text(&difference);
    assert!(
        text.contains("unequal numbers of cycles: 5 in A, 1,000,000 in B"),
        "{text}"
    );
}

#[test]
fn the_object_has_the_documented_shape() {
    let value: serde_json::Value =
        serde_json::from_str(&json::text(&difference()).unwrap()).unwrap();
    assert_eq!(value["a"]["samples"], 7);
    assert_eq!(value["b"]["guest"], "loop");
    let inner = &value["symbols"][0];
    assert_eq!(
        (&inner["symbol"], &inner["difference"]),
        (&"inner".into(), &19.64.into())
    );
    assert_eq!(
        inner["b"],
        serde_json::json!({"samples": 5, "percent": 62.5})
    );
    let cycles = &value["counters"][0];
    assert_eq!(
        (&cycles["set"], &cycles["b"]),
        (&"basic".into(), &4002.into())
    );
    assert_eq!(cycles["ratio"], 2.0);
}
