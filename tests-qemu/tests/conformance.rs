//! Every statement of SA23-2260 that applies is shown by an assertion of a guest, in this very run.

use std::collections::BTreeSet;

use measure::{
    conformance::{self, Status},
    progress::Progress,
};

/// What is not shown yet: identifiers, or ranges of the numbers of a topic. It is to become empty, and
/// a statement that is shown must not stand here.
const NOT_YET: &[&str] = &[
    "LPP-3",
    "COUNTER-5",
    "SETS-3..4",
    "SETS-7",
    "LOCAL-4",
    "LOCAL-12",
    "GLOBAL-1..2",
    "GLOBAL-4..5",
    "STATE-2",
    "STATE-13..15",
    "TRANSITION-1",
    "TRANSITION-3..4",
    "TRANSITION-7",
    "TRANSITION-11",
    "TRANSITION-16",
    "TRANSITION-19",
    "TRANSITION-22..23",
    "CPUSET-2",
    "CRYPTO-1..25",
    "EXTENDED-1..5",
    "GROUP-1..19",
    "SAMPLING-2",
    "SAMPLING-5",
    "SAMPLING-7",
    "SREG-2",
    "SREG-5",
    "SSTATE-1",
    "STRANSITION-1..2",
    "STRANSITION-5",
    "STRANSITION-9",
    "STRANSITION-16",
    "SDB-3..4",
    "BSDE-3",
    "DSDE-1..5",
    "COMBINED-1..5",
    "EXTERNAL-7",
    "ALERT-11..23",
    "ALERT-29..32",
    "ALERT-35..38",
    "ECPGA-1..7",
    "ECCTR-9",
    "EPCTR-1..8",
    "EPCTR-10",
    "LCCTL-2",
    "LCCTL-5",
    "LPCTL-1..10",
    "LPCTL-12",
    "QCTRI-8..9",
    "QCTRI-16",
    "SCCTR-9",
    "SPCTR-1..8",
    "SPCTR-10",
    "STCCTM-5",
    "STCCTM-8",
    "STCCTM-19",
    "STCCTM-25",
    "QSI-7",
];

fn not_yet() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for entry in NOT_YET {
        let (topic, numbers) = entry.split_once('-').unwrap();
        let (first, last) = numbers.split_once("..").unwrap_or((numbers, numbers));
        let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
        assert!(first <= last, "{entry}");
        all.extend((first..=last).map(|number| format!("{topic}-{number}")));
    }
    all
}

#[test]
fn every_statement_that_applies_is_shown() {
    let found = conformance::measure(None, &Progress::Plain).unwrap();
    assert!(found.ended_badly.is_empty(), "{:#?}", found.ended_badly);
    let mut missing = not_yet();
    let (mut surprises, mut early) = (Vec::new(), Vec::new());
    for found in &found.found {
        let id = &found.statement.id;
        let is_missing = missing.remove(id);
        match &found.status {
            Status::NotShown(why) if !is_missing => surprises.push(format!("{id}: {why}")),
            Status::Shown(_) | Status::NotApplicable(_) if is_missing => early.push(id.clone()),
            _ => {}
        }
    }
    assert!(surprises.is_empty(), "not shown:\n{}", surprises.join("\n"));
    assert!(
        early.is_empty(),
        "shown, and still in the list: {}",
        early.join(" ")
    );
    assert!(
        missing.is_empty(),
        "in the list, and no statement: {missing:?}"
    );
}
