//! From values that only grow to what was counted between two records.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::Sink;
use crate::figures::group::MOST_GROUPS;

/// The last values of a CPU.
#[derive(Debug)]
struct Last {
    /// What changes when the counters start anew.
    beginning: u64,
    /// When they had these values.
    at: u64,
    values: Vec<Option<u64>>,
}

/// The last values of all CPUs, by system and CPU address.
#[derive(Debug, Default)]
pub(super) struct Differences {
    last: BTreeMap<(String, u16), Last>,
    /// Records with a counter below the one before.
    set_back: u64,
}

/// What was counted, and since when.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// When the counters had the values before.
    pub since: u64,
    /// Counts by place.
    pub counts: Vec<Option<u64>>,
}

impl Differences {
    /// Takes the values of a CPU at a time. The first ones only begin.
    pub(super) fn take(
        &mut self,
        (system, cpu): (&str, u16),
        beginning: u64,
        at: u64,
        values: Vec<Option<u64>>,
    ) -> Result<Option<Difference>> {
        if self.last.len() >= MOST_GROUPS {
            bail!("there are more than {MOST_GROUPS} CPUs of systems");
        }
        let now = Last {
            beginning,
            at,
            values: values.clone(),
        };
        let Some(before) = self.last.insert((system.to_owned(), cpu), now) else {
            return Ok(None);
        };
        if before.beginning != beginning || before.at >= at {
            return Ok(None);
        }
        let mut is_set_back = false;
        let counts = values.into_iter().zip(before.values).map(|(now, before)| {
            let (now, before) = (now?, before?);
            is_set_back |= now < before;
            now.checked_sub(before)
        });
        let counts = counts.collect();
        if is_set_back {
            self.set_back += 1;
            return Ok(None);
        }
        let since = before.at;
        Ok(Some(Difference { since, counts }))
    }

    /// Says how many records were set back.
    pub(super) fn tell(&self, sink: &mut Sink) {
        sink.doubt(
            self.set_back,
            "records have a counter below that of the record before, so what was counted in between is unknown",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(differences: &mut Differences, beginning: u64, at: u64, value: u64) -> Option<u64> {
        let taken = differences.take(("SYSA", 1), beginning, at, vec![Some(value), None]);
        let difference = taken.unwrap()?;
        assert_eq!(difference.counts[1], None);
        difference.counts[0]
    }

    #[test]
    fn a_count_is_the_difference_of_values_with_the_same_beginning() {
        let mut differences = Differences::default();
        assert_eq!(take(&mut differences, 1, 10, 100), None);
        assert_eq!(take(&mut differences, 1, 20, 130), Some(30));
        // The counters began again.
        assert_eq!(take(&mut differences, 2, 30, 5), None);
        assert_eq!(take(&mut differences, 2, 40, 9), Some(4));
        // They were set meanwhile, or the record is an older one.
        assert_eq!(take(&mut differences, 2, 50, 8), None);
        assert_eq!(take(&mut differences, 2, 45, 9), None);
        assert_eq!(differences.set_back, 1);
    }
}
