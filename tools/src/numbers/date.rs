//! Dates of the Gregorian calendar in UTC, as people write them.

use std::{
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A second of the years 0 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// From 1970 on; earlier ones are negative.
    seconds: i64,
}

impl Date {
    /// The present second of this computer's clock.
    pub fn now() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // A clock before 1970 is as wrong as one that stands there.
        let seconds = now.map_or(0, |now| now.as_secs());
        Self {
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
        }
    }

    /// Seconds from 1970 to this date.
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// The date so many seconds before.
    #[must_use]
    pub const fn before(self, seconds: i64) -> Self {
        Self {
            seconds: self.seconds.saturating_sub(seconds),
        }
    }

    /// Its year.
    pub const fn year(self) -> i64 {
        civil(self.seconds.div_euclid(DAY)).0
    }
}

/// Year, month and day of a day after 1970-01-01. A year begins in March here, so that the day of a leap year is its last; 400
/// years have 146,097 days.
const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year_of_era + next, month, day)
}

/// The inverse of [`civil`].
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.seconds.div_euclid(DAY));
        let second = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )
    }
}

impl FromStr for Date {
    type Err = ();

    /// `2026-01-01`, `2026-01-01T12:30` and `2026-01-01 12:30:15.5`: a fraction of a second is left out.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (date, time) = match text.find(['T', 't', ' ']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let [year, month, day] = numbers(date, '-', [4, 2, 2]).ok_or(())?;
        let of_day = match time {
            Some(time) => second_of_day(time).ok_or(())?,
            None => 0,
        };
        let number = days(year, month, day);
        if civil(number) != (year, month, day) {
            return Err(());
        }
        Ok(Self {
            seconds: number * DAY + of_day,
        })
    }
}

/// A time with hours and minutes, and perhaps seconds and a fraction.
fn second_of_day(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|c| c.is_ascii_digit());
    let [hour, minute, second] = match numbers(whole, ':', [2, 2, 2]) {
        Some(time) => time,
        None if whole.len() == text.len() => {
            let [hour, minute] = numbers(whole, ':', [2, 2])?;
            [hour, minute, 0]
        }
        None => return None,
    };
    let is_time = hour < 24 && minute < 60 && second < 60 && is_fraction;
    is_time.then_some((hour * 60 + minute) * 60 + second)
}

/// Numbers with so many digits each, and this sign between them.
fn numbers<const NUMBER: usize>(
    text: &str,
    sign: char,
    digits: [usize; NUMBER],
) -> Option<[i64; NUMBER]> {
    let mut parts = text.split(sign);
    let mut numbers = [0; NUMBER];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|c| c.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_two_thousand_years_has_one_name() {
        let mut last = (0, 0, 0);
        for day in days(1000, 1, 1)..days(3000, 1, 1) {
            let (year, month, number) = civil(day);
            assert!((year, month, number) > last);
            assert_eq!(days(year, month, number), day);
            last = (year, month, number);
        }
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(days(2000, 3, 1) - days(2000, 2, 28), 2);
        assert_eq!(days(1900, 3, 1) - days(1900, 2, 28), 1);
    }

    #[test]
    fn a_date_is_written_with_or_without_its_time() {
        let seconds = |text: &str| text.parse::<Date>().map(Date::seconds);
        assert_eq!(seconds("1970-01-01"), Ok(0));
        assert_eq!(seconds("1970-01-01T00:01"), Ok(60));
        assert_eq!(seconds("2026-01-01t00:00:00.75"), Ok(1_767_225_600));
        assert_eq!(seconds("1969-12-31 23:59:59"), Ok(-1));
        let date: Date = "2024-02-29T23:59:59".parse().unwrap();
        assert_eq!(date.to_string(), "2024-02-29T23:59:59");
        assert_eq!(date.before(DAY).to_string(), "2024-02-28T23:59:59");
        assert_eq!(date.year(), 2024);
    }

    #[test]
    fn what_is_in_no_calendar_is_refused() {
        for text in [
            "",
            "2026-1-1",
            "2026-13-01",
            "2026-00-01",
            "2026-02-29",
            "2026-01-01T",
            "2026-01-01T24:00",
            "2026-01-01T00:60",
            "2026-01-01T00:00:60",
            "2026-01-01T00:00.5",
            "2026-01-01T00:00:00.",
            "2026-01-01T00:00:00+",
            "+026-01-01",
            "2026-01-01-01",
        ] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
