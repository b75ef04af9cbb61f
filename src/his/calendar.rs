//! Date and time of day of a TOD-clock value, as files and messages show them.
//!
//! The clock shows UTC from 1900 on, without leap seconds, and local time is UTC.

use arch::tod::{Tod, UNITS_PER_MICROSECOND};
use core::fmt;
use record::Moment;

/// TOD units in a minute.
pub const MINUTE: u64 = 60_000_000 * UNITS_PER_MICROSECOND;

/// Date and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar(Moment);

impl Calendar {
    /// The date and time of a TOD-clock value.
    #[must_use]
    pub const fn of(tod: Tod) -> Self {
        Self(Moment::from_tod(tod.0))
    }

    /// The time of day alone.
    #[must_use]
    pub const fn time_of_day(&self) -> TimeOfDay {
        TimeOfDay(self.0)
    }

    /// The prefix of the names of a run's files: SYSHISyyyymmdd.hhmmss.
    #[must_use]
    pub const fn file_prefix(&self) -> FilePrefix {
        FilePrefix(self.0)
    }
}

/// yyyy/mm/dd hh:mm:ss.
impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// hh.mm.ss, as messages begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay(Moment);

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = self.0.time();
        write!(f, "{hour:02}.{minute:02}.{second:02}")
    }
}

/// The prefix of the names of a run's files, including the period at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePrefix(Moment);

impl fmt::Display for FilePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((month, day), (hour, minute, second)) = (self.0.month_and_day(), self.0.time());
        write!(
            f,
            "SYSHIS{:04}{month:02}{day:02}.{hour:02}{minute:02}{second:02}.",
            self.0.year
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::tod::UNIX_EPOCH;

    fn shown(tod: u64) -> String {
        Calendar::of(Tod(tod)).to_string()
    }

    #[test]
    fn the_clock_begins_in_1900_and_passes_1970_at_its_known_value() {
        assert_eq!(shown(0), "1900/01/01 00:00:00");
        assert_eq!(shown(UNIX_EPOCH), "1970/01/01 00:00:00");
        assert_eq!(shown(UNIX_EPOCH - 1), "1969/12/31 23:59:59");
        // The clock ends on 2042-09-17 at 23:53:47.
        assert_eq!(shown(u64::MAX), "2042/09/17 23:53:47");
    }

    #[test]
    fn there_was_a_leap_day_in_2000_and_none_in_1900() {
        let day = 86_400 * 1_000_000 * UNITS_PER_MICROSECOND;
        assert_eq!(shown(59 * day), "1900/03/01 00:00:00");
        // 2000-02-29 is day 11,016 from 1970.
        assert_eq!(shown(UNIX_EPOCH + 11_016 * day), "2000/02/29 00:00:00");
        assert_eq!(shown(UNIX_EPOCH + 11_017 * day), "2000/03/01 00:00:00");
    }

    #[test]
    fn a_run_of_2010_has_the_file_prefix_of_the_manual() {
        // 2010-03-01 is day 14,669 from 1970; 16:14:06.
        let seconds = 14_669 * 86_400 + 16 * 3600 + 14 * 60 + 6;
        let tod = UNIX_EPOCH + seconds * 1_000_000 * UNITS_PER_MICROSECOND;
        let calendar = Calendar::of(Tod(tod));
        assert_eq!(calendar.file_prefix().to_string(), "SYSHIS20100301.161406.");
        assert_eq!(calendar.time_of_day().to_string(), "16.14.06");
    }
}
