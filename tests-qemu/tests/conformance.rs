//! Every statement of SA23-2260 that applies is shown by an assertion of a guest, in this very run.

use std::collections::BTreeSet;

use measure::{
    conformance::{self, Status},
    progress::Progress,
};

/// What is not shown yet: identifiers, or ranges of the numbers of a topic. It is to become empty, and
/// a statement that is shown must not stand here.
const NOT_YET: &[&str] = &["CRYPTO-3..25", "GROUP-5", "GROUP-10..17", "GROUP-19"];

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
