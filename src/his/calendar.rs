//! Date and time of day of a TOD-clock value, as files and messages show them.
//!
//! The clock is taken to show UTC from 1900 on, without leap seconds, and local time is UTC.

use crate::arch::tod::{Tod, UNITS_PER_MICROSECOND};
use core::fmt;

/// TOD units in a minute.
pub const MINUTE: u64 = 60_000_000 * UNITS_PER_MICROSECOND;

/// Date and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// The year, from 1900.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
}

const fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of(year: u16, month: u8) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Calendar {
    /// Of a TOD-clock value. The clock wraps in 2042, so the loops are short.
    #[must_use]
    pub fn of(tod: Tod) -> Self {
        let seconds = tod.0 / (1_000_000 * UNITS_PER_MICROSECOND);
        let mut days = seconds / 86_400;
        let mut year = 1900;
        loop {
            let length = if is_leap(year) { 366 } else { 365 };
            if days < length {
                break;
            }
            days -= length;
            year += 1;
        }
        let mut month = 1;
        while days >= days_of(year, month) {
            days -= days_of(year, month);
            month += 1;
        }
        Self {
            year,
            month,
            day: days as u8 + 1,
            hour: (seconds / 3600 % 24) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
        }
    }

    /// The time of day alone.
    #[must_use]
    pub const fn time_of_day(&self) -> TimeOfDay {
        TimeOfDay(*self)
    }

    /// What the names of a run's files begin with: SYSHISyyyymmdd.hhmmss.
    #[must_use]
    pub fn file_prefix(&self) -> FilePrefix {
        FilePrefix(*self)
    }
}

/// yyyy/mm/dd hh:mm:ss.
impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        write!(
            f,
            "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}"
        )
    }
}

/// hh.mm.ss, as messages begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay(Calendar);

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Calendar {
            hour,
            minute,
            second,
            ..
        } = self.0;
        write!(f, "{hour:02}.{minute:02}.{second:02}")
    }
}

/// What the names of a run's files begin with, the period behind it included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePrefix(Calendar);

impl fmt::Display for FilePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Calendar {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self.0;
        write!(
            f,
            "SYSHIS{year:04}{month:02}{day:02}.{hour:02}{minute:02}{second:02}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::tod::UNIX_EPOCH;

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
    fn leap_days_are_there_in_2000_and_not_in_1900() {
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
