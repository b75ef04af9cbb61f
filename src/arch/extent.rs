//! The absolute storage of a configuration: one range from 0, or two with a hole between them.

use crate::address::{Absolute, PAGE};

/// Where absolute storage is. All boundaries are those of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The end of the range that begins at 0.
    low_end: u64,
    /// Where the other range begins.
    high_begin: u64,
    /// Where it ends.
    end: u64,
}

impl Extent {
    /// One range. It has more than the first page.
    #[must_use]
    pub const fn up_to(end: u64) -> Self {
        Self::with_hole(end, end, end)
    }

    /// Two ranges: from 0 to `low_end`, and from `high_begin` to `end`.
    #[must_use]
    pub const fn with_hole(low_end: u64, high_begin: u64, end: u64) -> Self {
        assert!(low_end > PAGE && low_end <= high_begin && high_begin <= end);
        assert!((low_end | high_begin | end).is_multiple_of(PAGE));
        Self {
            low_end,
            high_begin,
            end,
        }
    }

    /// The end of all storage.
    #[must_use]
    #[inline(always)]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The end of the range that begins at 0.
    #[must_use]
    pub const fn low_end(&self) -> u64 {
        self.low_end
    }

    /// Whether there are two ranges.
    #[must_use]
    pub const fn has_hole(&self) -> bool {
        self.low_end != self.high_begin
    }

    /// Whether `length` bytes at `at` are storage.
    #[must_use]
    #[inline(always)]
    pub const fn holds(&self, at: Absolute, length: u64) -> bool {
        if at.0 < self.low_end {
            length <= self.low_end - at.0
        } else {
            self.holds_high(at, length)
        }
    }

    /// Whether the byte at `at` is storage, and so its whole page.
    #[must_use]
    #[inline(always)]
    pub const fn holds_byte(&self, at: Absolute) -> bool {
        at.0 < self.low_end || self.holds_high(at, 1)
    }

    /// The same above the first range. Out of line: where there is one range, this is the way to an exception.
    #[inline(never)]
    const fn holds_high(&self, at: Absolute, length: u64) -> bool {
        self.high_begin <= at.0 && at.0 < self.end && length <= self.end - at.0
    }

    /// The pages of storage, in ascending order.
    pub fn pages(&self) -> impl Iterator<Item = Absolute> {
        let ranges = [0..self.low_end, self.high_begin..self.end];
        let pages = |range: core::ops::Range<u64>| range.step_by(PAGE as usize);
        ranges.into_iter().flat_map(pages).map(Absolute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLED: Extent = Extent::with_hole(0x7000_0000, 0x8000_0000, 0x1_8000_0000);

    #[test]
    fn storage_ends_at_the_hole_and_begins_again_behind_it() {
        for (at, length, is_there) in [
            (0, 0x7000_0000, true),
            (0, 0x7000_0001, false),
            (0x6FFF_F000, 4096, true),
            (0x6FFF_FFFF, 2, false),
            (0x7000_0000, 1, false),
            (0x7FFF_FFFF, 1, false),
            (0x7FFF_FFFF, 2, false),
            (0x6000_0000, 0x3000_0000, false),
            (0x8000_0000, 0x1_0000_0000, true),
            (0x8000_0000, 0x1_0000_0001, false),
            (0x1_7FFF_FFFF, 1, true),
            (0x1_8000_0000, 1, false),
            (u64::MAX, 1, false),
            (u64::MAX, u64::MAX, false),
        ] {
            let at = Absolute(at);
            assert_eq!(HOLED.holds(at, length), is_there, "{at:x?} {length:x}");
        }
        for (at, is_there) in [
            (0x6FFF_FFF8, true),
            (0x7000_0000, false),
            (0x8000_0000, true),
        ] {
            assert_eq!(HOLED.holds_byte(Absolute(at)), is_there, "{at:x}");
        }
    }

    #[test]
    fn the_pages_are_those_of_both_ranges() {
        let extent = Extent::with_hole(0x3000, 0x5000, 0x7000);
        let pages: Vec<u64> = extent.pages().map(|page| page.0).collect();
        assert_eq!(pages, [0, 0x1000, 0x2000, 0x5000, 0x6000]);
        let one = Extent::up_to(0x3000);
        assert_eq!((one.pages().count(), one.has_hole()), (3, false));
        assert!(!one.holds(Absolute(0x3000), 1) && one.holds(Absolute(0x2FFF), 1));
    }
}
