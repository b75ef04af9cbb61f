//! Exact counts as reports show them: by routine, with their sum beside the instruction counter.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::{Counts, calls::UnmatchedCalls, routines::RoutineCounts};
use crate::{
    folder::record::RunRecord,
    numbers::{self, grouped},
    symbols::names::Names,
};

/// The exact counts of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExactCounts {
    /// The routines, by the instructions that were executed in them.
    pub routines: Vec<RoutineCounts>,
    /// Instructions that were counted.
    pub counted: u64,
    /// Instructions that could not be counted, because it is not known where they were.
    pub unmatched: u64,
    /// Instructions that were executed where nothing was to be counted.
    pub skipped: u64,
    /// Calls and returns that could not be matched.
    pub unmatched_calls: UnmatchedCalls,
}

impl ExactCounts {
    /// Reads those of a folder. `None` if the run did not count.
    ///
    /// # Errors
    /// They are not whole.
    pub fn read(directory: &Path, record: &RunRecord, names: &Names) -> Result<Option<Self>> {
        let counts = Counts::read(directory, record)?;
        Ok(counts.map(|counts| Self {
            routines: counts.routines(names),
            counted: counts.counted(),
            unmatched: counts.unmatched(),
            skipped: counts.skipped(),
            unmatched_calls: counts.calls.unmatched,
        }))
    }

    /// How many percent of all these instructions are.
    #[must_use]
    pub fn percent(&self, instructions: u64) -> f64 {
        match self.counted {
            0 => 0.0,
            counted => instructions as f64 * 100.0 / counted as f64,
        }
    }

    /// The routines after the first so many, in a sentence, if there are any.
    #[must_use]
    pub fn rest(&self, shown: usize) -> Option<String> {
        let rest = self.routines.get(shown..).unwrap_or_default();
        let sum = numbers::sum(rest.iter().map(|routine| routine.instructions));
        (!rest.is_empty()).then(|| {
            format!(
                "and {} more with {} instructions ({:.2} percent)",
                rest.len(),
                grouped(sum),
                self.percent(sum)
            )
        })
    }

    /// The sum of all executions, and what the instruction counter of the run says.
    #[must_use]
    pub fn sum(&self, record: &RunRecord) -> String {
        let counted = grouped(self.counted);
        let unmatched = match self.unmatched {
            0 => String::new(),
            unmatched => format!(
                ", and {} that could not be counted (it is not known where they were)",
                grouped(unmatched)
            ),
        };
        if record.totals.is_empty() {
            return format!("sum: {counted} instructions before the end of the run{unmatched}");
        }
        let counter = numbers::sum(record.totals.iter().map(|totals| totals.guest_instructions));
        let shown = grouped(counter);
        let known = self.counted.saturating_add(self.unmatched);
        let known = known.saturating_add(self.skipped);
        if self.counted == counter && self.unmatched == 0 {
            return format!("sum: {counted} instructions, as the instruction counter says");
        }
        let window = record.window.as_ref().map(|_| "in the window".to_owned());
        let parts: Vec<String> = window
            .into_iter()
            .chain(record.counted_part.clone())
            .collect();
        let part = match parts.is_empty() {
            true => String::new(),
            false => format!(" {}", parts.join(", ")),
        };
        let sum = format!(
            "sum: {counted} instructions{part} of {shown} by the instruction counter{unmatched}"
        );
        match counter.abs_diff(known) {
            0 => sum,
            difference => format!("{sum}; that leaves a difference of {}", grouped(difference)),
        }
    }

    /// The calls and returns that could not be matched, in a sentence, if there are any.
    #[must_use]
    pub fn unmatched_calls(&self) -> Option<String> {
        let calls = &self.unmatched_calls;
        let parts = [
            (calls.returns, "returns to where no call was"),
            (calls.abandoned, "calls that ended with one before them"),
            (
                calls.not_followed,
                "calls that were not followed to their end",
            ),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|&(number, _)| number != 0)
            .map(|(number, what)| format!("{} {what}", grouped(number)))
            .collect();
        (!parts.is_empty()).then(|| format!("calls that do not match: {}", parts.join(", ")))
    }
}
