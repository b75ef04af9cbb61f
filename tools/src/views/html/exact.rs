//! The exact counts of the page.

use super::page::{Exact, ExactLine};
use crate::{
    computer::visible::visible, counts::exact::ExactCounts, folder::record::RunRecord,
    profile::Profile,
};

/// Routines that are shown.
const MOST: usize = 200;

/// The exact counts of a run, if it has some; or why they cannot be shown.
pub(super) fn exact(profile: &Profile) -> Result<Option<Exact>, String> {
    let Some(record) = &profile.record else {
        return Ok(None);
    };
    let counts = ExactCounts::read(&profile.directory, record, &profile.names);
    let counts = counts.map_err(|error| format!("{error:#}"))?;
    Ok(counts.map(|counts| shown(&counts, record)))
}

fn shown(counts: &ExactCounts, record: &RunRecord) -> Exact {
    let with_percent = |value: u64| (value, counts.percent(value));
    let routines = counts.routines.iter().take(MOST);
    let lines = routines.map(|routine| ExactLine {
        symbol: visible(&routine.symbol),
        module: visible(&routine.module),
        own: with_percent(routine.instructions),
        inclusive: routine.inclusive.map(with_percent),
        calls: routine.calls,
        entries: routine.entries,
    });
    let notes = [
        counts.rest(MOST),
        Some(counts.sum(record)),
        counts.unmatched_calls(),
    ];
    Exact {
        lines: lines.collect(),
        notes: notes
            .into_iter()
            .flatten()
            .map(|note| visible(&note))
            .collect(),
    }
}
