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

/// The whole nanoseconds of a span of `units` TOD units, when the span came from whole nanoseconds.
///
/// A clock that advances in nanoseconds shows floor(ns × 4.096); one nanosecond is more than four
/// units, so rounding up undoes the floor exactly.
#[must_use]
#[inline]
pub const fn nanoseconds(units: u64) -> u64 {
    (units.wrapping_mul(125).wrapping_add(511)) >> 9
}

/// The TOD units that a clock shows after `nanoseconds` (less than 2 to the 54th, about 200 days).
#[must_use]
#[inline]
pub const fn units(nanoseconds: u64) -> u64 {
    (nanoseconds << 9) / 125
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_counts_nanoseconds_is_read_back_exactly() {
        for ns in (0..100_000).chain([1 << 40, (1 << 40) + 1, 999_999_999_999_999]) {
            assert_eq!(nanoseconds(units(ns)), ns);
        }
    }
}
