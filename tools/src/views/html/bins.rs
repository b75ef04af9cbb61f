//! Time divided into a fixed number of columns.
//!
//! Times come in any order, and the trailers of the blocks give their range beforehand. So one multiplication finds
//! a column, and the time line is as large for ten samples as for ten million.

/// Most columns.
pub const MOST_COLUMNS: usize = 400;

/// Columns for few samples.
const LEAST_COLUMNS: usize = 40;

/// Most CPUs that have a row of their own.
pub const MOST_LANES: usize = 16;

/// A range of time, divided into columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    begin: u64,
    span: u64,
    columns: usize,
}

impl Columns {
    /// Columns for this many samples with times from `begin` up to and with `end`. There are not more columns than
    /// times, and fewer if most would have no sample.
    pub fn of(begin: u64, end: u64, samples: u64) -> Self {
        let most = usize::try_from(samples / 4)
            .map_or(MOST_COLUMNS, |most| most.clamp(LEAST_COLUMNS, MOST_COLUMNS));
        let span = end.saturating_sub(begin).saturating_add(1);
        Self {
            begin,
            span,
            columns: usize::try_from(span).map_or(most, |span| span.min(most)),
        }
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.columns
    }

    /// The column of a time. A time outside belongs to the first or the last one.
    pub fn column(&self, time: u64) -> usize {
        let since = time.saturating_sub(self.begin).min(self.span - 1);
        let column = u128::from(since) * self.columns as u128 / u128::from(self.span);
        // Less than `columns`, because `since` is less than `span`.
        column as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_and_the_last_time_are_in_the_first_and_the_last_column() {
        let columns = Columns::of(1000, 4999, 1_000_000);
        assert_eq!(columns.count(), MOST_COLUMNS);
        assert_eq!((columns.column(1000), columns.column(4999)), (0, 399));
        assert_eq!((columns.column(1009), columns.column(1010)), (0, 1));
        assert_eq!((columns.column(0), columns.column(u64::MAX)), (0, 399));
    }

    #[test]
    fn a_short_time_has_no_columns_without_a_time() {
        let columns = Columns::of(7, 9, 1_000_000);
        assert_eq!(columns.count(), 3);
        assert_eq!(
            (7..10).map(|time| columns.column(time)).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert_eq!(Columns::of(9, 7, 1_000_000).count(), 1);
        assert_eq!(Columns::of(0, 9999, 10).count(), LEAST_COLUMNS);
    }

    proptest! {
        #[test]
        fn every_time_has_a_column_and_later_ones_are_never_before_earlier_ones(
            begin: u64, end: u64, samples: u64, one: u64, other: u64,
        ) {
            let columns = Columns::of(begin, end, samples);
            let (one, other) = (one.min(other), one.max(other));
            prop_assert!(columns.column(one) <= columns.column(other));
            prop_assert!(columns.column(other) < columns.count());
        }
    }
}
