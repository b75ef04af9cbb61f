//! A run before this one: what it adds to the page.

use std::collections::HashMap;

use super::{
    cells::Routine,
    hottest::Ranked,
    page::{Before, Hot, HotLine},
};
use crate::{
    computer::visible::visible,
    numbers::grouped,
    profile::{Profile, blocks::BlockCounts},
};

/// Lines of symbols that only the run before had.
const MOST_GONE: usize = 50;

/// The run before, as the page names it.
pub fn before(profile: &Profile, samples: u64) -> Before {
    Before {
        title: visible(&profile.title),
        directory: visible(&profile.directory.display().to_string()),
        samples,
    }
}

/// Adds the samples of the run before to the table of symbols, and a line for each symbol that only it had.
pub fn add_before(hot: &mut Hot, before: Vec<Ranked>) {
    let ranked = before.into_iter().map(|(_, symbol, module, samples)| {
        let routine: Routine = (visible(&symbol), visible(&module));
        (routine, samples)
    });
    let ranked: Vec<(Routine, u64)> = ranked.collect();
    let mut left: HashMap<&Routine, u64> = HashMap::new();
    for (routine, samples) in &ranked {
        *left.entry(routine).or_default() += samples;
    }
    for line in &mut hot.lines {
        let routine = (line.symbol.clone(), line.module.clone());
        line.before = Some(left.remove(&routine).unwrap_or(0));
    }
    // A symbol of this run that is not in the table is not gone.
    if hot.more > 0 {
        return;
    }
    let gone = ranked
        .iter()
        .filter(|(routine, _)| left.contains_key(routine));
    let gone = gone
        .take(MOST_GONE)
        .map(|((symbol, module), samples)| HotLine {
            symbol: symbol.clone(),
            module: module.clone(),
            before: Some(*samples),
            ..HotLine::default()
        });
    hot.lines.extend(gone);
}

/// What makes the two hard to compare, in sentences.
pub fn doubts(after: &Profile, before: &Profile, found: &BlockCounts) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut differ = |what: &str, before: String, after: String| {
        if before != after {
            doubts.push(format!("{what}: {before} before, {after} now."));
        }
    };
    let interval = |profile: &Profile| match profile.pace.interval {
        0 => "unknown".to_owned(),
        interval => grouped(interval),
    };
    if after.record.is_some() && before.record.is_some() {
        differ(
            "The guests are not the same",
            before.title.clone(),
            after.title.clone(),
        );
    }
    differ(
        "The sampling intervals are not the same, so samples stand for unequal numbers of cycles",
        interval(before),
        interval(after),
    );
    let mode = |profile: &Profile| {
        let record = profile.record.as_ref();
        record.map_or("unknown".to_owned(), |record| {
            record.mode_found().to_owned()
        })
    };
    differ("The modes are not the same", mode(before), mode(after));
    if found.samples == 0 {
        doubts.push("The run before has no samples.".to_owned());
    }
    for (number, text) in [
        (
            found.overflow,
            "samples of the run before were lost because blocks were full.",
        ),
        (
            found.malformed,
            "sample-data blocks of the run before are damaged or cut off.",
        ),
    ] {
        if number > 0 {
            doubts.push(format!("{} {text}", grouped(number)));
        }
    }
    doubts.extend(
        before
            .doubts
            .iter()
            .map(|doubt| format!("Run before: {doubt}.")),
    );
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::html::names::Place;

    fn ranked(symbol: &str, samples: u64) -> Ranked {
        (Place(0), symbol.to_owned(), "m".to_owned(), samples)
    }

    #[test]
    fn a_symbol_has_its_samples_before_and_one_that_is_gone_has_a_line() {
        let line = |symbol: &str, samples| HotLine {
            symbol: symbol.to_owned(),
            module: "m".to_owned(),
            samples,
            ..HotLine::default()
        };
        let mut hot = Hot {
            lines: vec![line("stays", 5), line("new", 3)],
            ..Hot::default()
        };
        add_before(&mut hot, vec![ranked("gone", 9), ranked("stays", 4)]);
        let shown: Vec<_> = hot
            .lines
            .iter()
            .map(|line| (&line.symbol[..], line.samples, line.before))
            .collect();
        let expected = [
            ("stays", 5, Some(4)),
            ("new", 3, Some(0)),
            ("gone", 0, Some(9)),
        ];
        assert_eq!(shown, expected);
    }
}
