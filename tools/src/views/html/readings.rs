//! Counter sets that were read more than once: what was counted from reading to reading.
//!
//! A reading of a set is its values so far, so an interval is the difference of two readings. The machine's own
//! counters begin at zero with the run, so the first reading also ends an interval. A guest sets its own counters, so
//! its first reading ends none. The records of a collection say themselves what was counted in an interval.
//!
//! A run may have any number of readings. When there are too many intervals for a chart, each two become one.

use std::collections::BTreeMap;

use link::data::Level;

use crate::formats::counters::CounterValues;

/// Most intervals of a chart.
pub const MOST_INTERVALS: usize = 200;

/// Level, CPU or group, and set.
type Key = (Level, u16, u16);

/// The intervals of all sets.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    series: BTreeMap<Key, Series>,
}

/// The intervals of one set.
#[derive(Clone, Debug, Default)]
struct Series {
    first: u16,
    readings: u64,
    last: Vec<u64>,
    /// Counts by interval and counter; the last interval may still be short of readings.
    intervals: Vec<Vec<u64>>,
    /// Readings in each interval, and in the last one.
    width: u64,
    filled: u64,
    /// Readings with a counter below that of the one before.
    set_back: u64,
}

impl Series {
    fn add(&mut self, values: &[u64], level: Level) {
        self.readings += 1;
        let is_first = self.readings == 1;
        let before = std::mem::replace(&mut self.last, values.to_vec());
        if is_first && level == Level::Guest {
            return;
        }
        let mut is_set_back = false;
        let counted = values.iter().enumerate().map(|(place, value)| {
            let before = before.get(place).copied().unwrap_or(0);
            is_set_back |= *value < before;
            // A counter that was set back to zero has counted at least its present value.
            value.checked_sub(before).unwrap_or(*value)
        });
        let counted: Vec<u64> = counted.collect();
        self.set_back += u64::from(is_set_back);
        self.push(counted);
    }

    /// One more interval.
    fn push(&mut self, counted: Vec<u64>) {
        self.width = self.width.max(1);
        match self.intervals.last_mut() {
            Some(last) if self.filled < self.width => {
                add(last, &counted);
                self.filled += 1;
            }
            _ => {
                if self.intervals.len() == MOST_INTERVALS {
                    self.halve();
                }
                self.intervals.push(counted);
                self.filled = 1;
            }
        }
    }

    /// Makes one interval of each two.
    fn halve(&mut self) {
        let pairs = self.intervals.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| add(&mut sum, other));
            sum
        });
        self.intervals = pairs.collect();
        // There was an even number of intervals, and all of them were full.
        self.width *= 2;
    }
}

fn add(sum: &mut Vec<u64>, other: &[u64]) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = sum.wrapping_add(*other);
    }
}

impl Readings {
    /// Takes a reading of a set.
    pub fn add(&mut self, set: &CounterValues) {
        if !set.authorized {
            return;
        }
        let series = self
            .series
            .entry((set.level, set.cpu, set.set))
            .or_default();
        if series.readings > 0 && series.first != set.first {
            return;
        }
        series.first = set.first;
        series.add(&set.values, set.level);
    }

    /// Takes what a set counted in an interval.
    pub fn counted(&mut self, set: &CounterValues) {
        let series = self
            .series
            .entry((set.level, set.cpu, set.set))
            .or_default();
        if series.readings > 0 && series.first != set.first {
            return;
        }
        series.first = set.first;
        series.readings += 1;
        series.push(set.values.clone());
    }

    /// How many intervals the sets of this level have, of CPUs or of groups; 0 if each was read once.
    pub fn intervals(&self, level: Level, is_of_group: bool) -> usize {
        let of_kind = self.of_kind(level, is_of_group);
        let read_again = of_kind.filter(|series| series.readings > 1);
        let counts = read_again.map(|series| series.intervals.len());
        counts.max().filter(|count| *count > 1).unwrap_or(0)
    }

    /// Readings in one interval of the charts.
    pub fn width(&self, level: Level, is_of_group: bool) -> u64 {
        let widths = self.of_kind(level, is_of_group).map(|series| series.width);
        widths.max().unwrap_or(1)
    }

    /// Readings with a counter below that of the one before.
    pub fn set_back(&self, level: Level, is_of_group: bool) -> u64 {
        self.of_kind(level, is_of_group)
            .map(|series| series.set_back)
            .sum()
    }

    fn of_kind(&self, level: Level, is_of_group: bool) -> impl Iterator<Item = &Series> {
        let group = link::data::COPROCESSOR_GROUP;
        let of_kind = self
            .series
            .iter()
            .filter(move |((of, _, set), _)| *of == level && (*set == group) == is_of_group);
        of_kind.map(|(_, series)| series)
    }

    /// What a counter counted from reading to reading, summed over the owners for which `is_in_sum` is true.
    pub fn counter(
        &self,
        level: Level,
        set: u16,
        number: u16,
        is_in_sum: impl Fn(u16) -> bool,
    ) -> Vec<u64> {
        let mut sum: Vec<u64> = Vec::new();
        for ((_, owner, _), series) in self
            .series
            .iter()
            .filter(|((of, _, kind), _)| (*of, *kind) == (level, set))
        {
            let Some(place) = number.checked_sub(series.first) else {
                continue;
            };
            if series.readings < 2 || !is_in_sum(*owner) {
                continue;
            }
            let counts = series
                .intervals
                .iter()
                .map(|interval| interval.get(usize::from(place)).copied());
            add(
                &mut sum,
                &counts.map(|count| count.unwrap_or(0)).collect::<Vec<_>>(),
            );
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(level: Level, cpu: u16, values: &[u64]) -> CounterValues {
        CounterValues {
            cpu,
            level,
            set: 1,
            first: 0,
            authorized: true,
            values: values.to_vec(),
        }
    }

    #[test]
    fn an_interval_is_the_difference_of_two_readings_over_all_cpus() {
        let mut readings = Readings::default();
        for (cpu, values) in [(0, [10, 5]), (1, [1, 1]), (0, [30, 9]), (1, [2, 1])] {
            readings.add(&set(Level::Machine, cpu, &values));
        }
        assert_eq!(readings.intervals(Level::Machine, false), 2);
        assert_eq!(readings.counter(Level::Machine, 1, 0, |_| true), [11, 21]);
        assert_eq!(
            readings.counter(Level::Machine, 1, 1, |cpu| cpu == 0),
            [5, 4]
        );
        assert_eq!(readings.intervals(Level::Guest, false), 0);
    }

    #[test]
    fn a_set_that_was_read_once_has_no_intervals() {
        let mut readings = Readings::default();
        readings.add(&set(Level::Machine, 0, &[10, 5]));
        assert_eq!(readings.intervals(Level::Machine, false), 0);
        assert!(readings.counter(Level::Machine, 1, 0, |_| true).is_empty());
    }

    #[test]
    fn the_first_reading_of_a_guest_ends_no_interval() {
        let mut readings = Readings::default();
        for value in [1000, 1001, 1003] {
            readings.add(&set(Level::Guest, 0, &[value]));
        }
        assert_eq!(readings.counter(Level::Guest, 1, 0, |_| true), [1, 2]);
    }

    #[test]
    fn any_number_of_readings_becomes_a_bounded_number_of_intervals_without_a_loss() {
        for count in [199, 200, 201, 202, 401, 12_345] {
            let mut readings = Readings::default();
            for value in 1..=count {
                readings.add(&set(Level::Machine, 0, &[value * 3]));
            }
            let intervals = readings.counter(Level::Machine, 1, 0, |_| true);
            assert!(intervals.len() <= MOST_INTERVALS, "{count}");
            assert_eq!(intervals.iter().sum::<u64>(), count * 3);
            let width = readings.width(Level::Machine, false);
            assert!(
                intervals[..intervals.len() - 1]
                    .iter()
                    .all(|interval| *interval == 3 * width)
            );
        }
    }

    #[test]
    fn counts_of_an_interval_are_used_unchanged() {
        let mut readings = Readings::default();
        for (cpu, values) in [(0, [10, 5]), (1, [1, 1]), (0, [3, 9]), (1, [0, 4])] {
            readings.counted(&set(Level::Machine, cpu, &values));
        }
        assert_eq!(readings.intervals(Level::Machine, false), 2);
        assert_eq!(readings.counter(Level::Machine, 1, 0, |_| true), [11, 3]);
        assert_eq!(readings.counter(Level::Machine, 1, 1, |_| true), [6, 13]);
        assert_eq!(readings.set_back(Level::Machine, false), 0);
    }

    #[test]
    fn a_counter_that_was_set_back_is_reported() {
        let mut readings = Readings::default();
        for value in [100, 40, 50] {
            readings.add(&set(Level::Machine, 0, &[value]));
        }
        assert_eq!(readings.set_back(Level::Machine, false), 1);
        assert_eq!(
            readings.counter(Level::Machine, 1, 0, |_| true),
            [100, 40, 10]
        );
    }
}
