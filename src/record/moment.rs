//! Moments: the TOD clock as dates and times of day, in the forms that records use.
//!
//! The conversion applies no leap seconds. Records have local time; their producer first adds the offset of
//! local time to the clock, as z/OS does.

use zerocopy::byteorder::big_endian::U32;

use arch::tod::UNITS_PER_MICROSECOND;

/// TOD units in a hundredth of a second.
const HUNDREDTH: u64 = UNITS_PER_MICROSECOND * 10_000;
/// Hundredths of a second in a day.
pub(super) const DAY: u64 = 24 * 60 * 60 * 100;

/// A date and a time of day. The clock's first epoch ends in 2042, so years are 1900 to 2042.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The year.
    pub year: u16,
    /// The day of the year, 1 to 366.
    pub day: u16,
    /// Hundredths of a second since midnight.
    pub hundredths: u32,
}

const fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of_year(year: u16) -> u16 {
    if is_leap(year) { 366 } else { 365 }
}

pub(super) const fn days_of_month(year: u16, month: u16) -> u16 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Moment {
    /// The moment of a TOD clock with bits 0-63 equal to `tod`.
    #[must_use]
    pub const fn from_tod(tod: u64) -> Self {
        let hundredths = tod / HUNDREDTH;
        let mut days = (hundredths / DAY) as u16;
        let mut year = 1900;
        while days >= days_of_year(year) {
            days -= days_of_year(year);
            year += 1;
        }
        Self {
            year,
            day: days + 1,
            hundredths: (hundredths % DAY) as u32,
        }
    }

    /// Month and day of the month, both from 1.
    #[must_use]
    pub const fn month_and_day(self) -> (u16, u16) {
        let (mut month, mut day) = (1, self.day);
        while month < 12 && day > days_of_month(self.year, month) {
            day -= days_of_month(self.year, month);
            month += 1;
        }
        (month, day)
    }

    /// Hour, minute and second.
    #[must_use]
    pub const fn time(self) -> (u32, u32, u32) {
        let seconds = self.hundredths / 100;
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// The date in the form of SMF: 0cyydddF, packed, with c = 0 for 19yy and 1 for 20yy.
    #[must_use]
    pub const fn packed_date(self) -> U32 {
        let years = self.year.saturating_sub(1900) as u32;
        let day = self.day as u32;
        let digits = [
            years / 100 % 10,
            years / 10 % 10,
            years % 10,
            day / 100 % 10,
            day / 10 % 10,
            day % 10,
            0xF,
        ];
        let (mut packed, mut index) = (0, 0);
        while index < digits.len() {
            packed = packed << 4 | digits[index];
            index += 1;
        }
        U32::new(packed)
    }

    /// Year and day of the year of a packed date, if it is valid. Accepts any sign code.
    #[must_use]
    pub const fn unpack_date(packed: u32) -> Option<(u16, u16)> {
        if packed >> 28 != 0 || packed & 0xF < 0xA {
            return None;
        }
        let mut digits = [0; 6];
        let mut index = 0;
        while index < digits.len() {
            digits[index] = (packed >> (24 - 4 * index) & 0xF) as u16;
            if digits[index] > 9 {
                return None;
            }
            index += 1;
        }
        let [century, tens, years, hundred_days, ten_days, days] = digits;
        let year = 1900 + century * 100 + tens * 10 + years;
        let day = hundred_days * 100 + ten_days * 10 + days;
        if day == 0 || day > days_of_year(year) {
            return None;
        }
        Some((year, day))
    }
}

/// Writes the date as yyyy/mm/dd and the time as hh:mm:ss.
impl core::fmt::Display for Moment {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ((month, day), (hour, minute, second)) = (self.month_and_day(), self.time());
        write!(
            f,
            "{:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}",
            self.year
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::tod::UNIX_EPOCH;

    const SECOND: u64 = UNITS_PER_MICROSECOND * 1_000_000;

    #[test]
    fn the_clock_began_in_1900_and_its_first_epoch_ends_in_2042() {
        assert_eq!(Moment::from_tod(0).to_string(), "1900/01/01 00:00:00");
        assert_eq!(
            Moment::from_tod(u64::MAX).to_string(),
            "2042/09/17 23:53:47"
        );
        assert_eq!(
            Moment::from_tod(UNIX_EPOCH).to_string(),
            "1970/01/01 00:00:00"
        );
    }

    #[test]
    fn leap_days_are_days_of_their_year() {
        // 951,782,400 seconds after the beginning of 1970 it was 2000-02-29.
        let leap = Moment::from_tod(UNIX_EPOCH + 951_782_400 * SECOND + 3_661 * SECOND);
        assert_eq!(leap.to_string(), "2000/02/29 01:01:01");
        assert_eq!((leap.day, leap.packed_date().get()), (60, 0x0100_060F));
        // 1,798,761,599 seconds: the last of 2026.
        let last = Moment::from_tod(UNIX_EPOCH + 1_798_761_599 * SECOND);
        assert_eq!(last.to_string(), "2026/12/31 23:59:59");
        assert_eq!(
            (last.hundredths, last.packed_date().get()),
            (8_639_900, 0x0126_365F)
        );
    }

    #[test]
    fn an_invalid_packed_date_is_refused() {
        assert_eq!(Moment::unpack_date(0x0126_365F), Some((2026, 365)));
        assert_eq!(Moment::unpack_date(0x0099_001C), Some((1999, 1)));
        for none in [
            0x0126_366F,
            0x0126_000F,
            0x0126_3651,
            0x012A_001F,
            0x1126_001F,
        ] {
            assert_eq!(Moment::unpack_date(none), None, "{none:08X}");
        }
        for tod in [0, UNIX_EPOCH, u64::MAX] {
            let moment = Moment::from_tod(tod);
            let date = Moment::unpack_date(moment.packed_date().get());
            assert_eq!(date, Some((moment.year, moment.day)));
        }
    }
}
