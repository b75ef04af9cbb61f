//! The time-of-day clock: bit 51 counts microseconds, 4096 units each.

/// TOD units in a microsecond.
pub const UNITS_PER_MICROSECOND: u64 = 4096;

/// The TOD clock value of 1970-01-01 00:00 UTC.
pub const UNIX_EPOCH: u64 = 0x7D91_048B_CA00_0000;

/// A TOD-clock value in STORE CLOCK format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tod(pub u64);

/// A TOD-clock value in STORE CLOCK EXTENDED format: epoch index, 104-bit clock, programmable field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TodExtended(pub [u8; 16]);

/// The whole nanoseconds between two values of a clock that advances in nanoseconds, from their
/// difference in TOD units.
///
/// Such a clock shows floor(ns × 4.096), so the difference is off by less than one unit, a quarter of
/// a nanosecond; rounding undoes it exactly.
#[must_use]
#[inline]
pub const fn nanoseconds(units: u64) -> u64 {
    (units.wrapping_mul(125).wrapping_add(256)) >> 9
}

/// The conversion of TOD units to ticks of another clock: `(units * multiplier + rounding) >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    multiplier: u64,
    rounding: u64,
    shift: u32,
}

impl Scale {
    /// To the ticks of a clock that advances by one each 2^`shift` nanoseconds; exact as
    /// [`nanoseconds`] is.
    #[must_use]
    pub const fn to_steps(shift: u32) -> Self {
        Self {
            multiplier: 125,
            rounding: 256,
            shift: 9 + shift,
        }
    }

    /// To the cycles of a clock with `per_microsecond` cycles in a microsecond, rounded down.
    #[must_use]
    pub const fn to_cycles(per_microsecond: u32) -> Self {
        Self {
            multiplier: per_microsecond as u64,
            rounding: 0,
            shift: UNITS_PER_MICROSECOND.trailing_zeros(),
        }
    }

    /// The ticks of a span in TOD units.
    #[must_use]
    #[inline(always)]
    pub const fn ticks(&self, units: u64) -> u64 {
        (units
            .wrapping_mul(self.multiplier)
            .wrapping_add(self.rounding))
            >> (self.shift & 63)
    }
}

/// The TOD units that a clock shows after `nanoseconds` (less than 2 to the 54th, about 200 days).
#[must_use]
#[inline]
pub const fn units(nanoseconds: u64) -> u64 {
    (nanoseconds << 9) / 125
}

/// The inverse of [`units`]: the nanoseconds of a clock that shows `clock` units. It is also exact for a clock that
/// began at a multiple of 512 units, which are 125 nanoseconds.
#[must_use]
#[inline]
pub const fn clock_nanoseconds(clock: u64) -> u64 {
    (clock >> 9) * 125 + ((clock & 511) * 125).div_ceil(512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_gives_its_nanoseconds_from_any_beginning() {
        for began in [0, 512, UNIX_EPOCH, 1 << 62] {
            for ns in (0..10_000).chain([1 << 40, (1 << 40) + 1, 999_999_999_999]) {
                let clock = clock_nanoseconds(began + units(ns));
                assert_eq!(clock - clock_nanoseconds(began), ns, "{began:X} {ns}");
            }
        }
    }

    #[test]
    fn the_span_between_two_readings_is_exact_whatever_their_phase() {
        for start in [0, 1, 2, 77, 124, 999_999_999] {
            for ns in (0..10_000).chain([1 << 40, (1 << 40) + 1, 999_999_999_999]) {
                assert_eq!(
                    nanoseconds(units(start + ns) - units(start)),
                    ns,
                    "{start} {ns}"
                );
            }
        }
    }
}
