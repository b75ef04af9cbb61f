//! This very run shows every statement of the books that applies: an assertion of a guest names it.

use measure::{
    computer::progress::Progress,
    conformance::{self, Status},
};

#[test]
fn every_statement_that_applies_is_shown() {
    let found = conformance::measure(None, &Progress::Plain).unwrap();
    assert!(found.ended_badly.is_empty(), "{:#?}", found.ended_badly);
    let not_shown = found.found.iter().filter_map(|found| match &found.status {
        Status::NotShown(why) => Some(format!("{}: {why}", found.statement.id)),
        Status::Shown(_) | Status::NotApplicable(_) => None,
    });
    let not_shown: Vec<String> = not_shown.collect();
    assert!(not_shown.is_empty(), "not shown:\n{}", not_shown.join("\n"));
}
