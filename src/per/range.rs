//! A range of addresses, which may wrap at the end of the address space.

/// The addresses from the starting to the ending address, both included. If the starting address is higher,
/// the range wraps from the end of the address space to its beginning, so no range is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The starting address.
    pub start: u64,
    /// The ending address.
    pub end: u64,
}

impl Range {
    /// Every address.
    pub const ALL: Self = Self {
        start: 0,
        end: u64::MAX,
    };

    /// Whether the range has this address.
    #[must_use]
    #[inline]
    pub const fn contains(&self, at: u64) -> bool {
        at.wrapping_sub(self.start) <= self.end.wrapping_sub(self.start)
    }

    /// Whether the range has any of `length` bytes at an address. The bytes may wrap at the end of the address
    /// space, too.
    #[must_use]
    #[inline]
    pub const fn meets(&self, at: u64, length: u64) -> bool {
        length != 0 && (self.contains(at) || self.start.wrapping_sub(at) < length)
    }

    /// The smallest range with every address of both that wraps only if one of them does.
    #[must_use]
    pub const fn hull(self, other: Self) -> Self {
        if self.start > self.end || other.start > other.end {
            return Self::ALL;
        }
        Self {
            start: if self.start < other.start {
                self.start
            } else {
                other.start
            },
            end: if self.end > other.end {
                self.end
            } else {
                other.end
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The addresses of a range in an address space of 256 bytes.
    fn addresses(range: Range) -> Vec<u64> {
        let (start, end) = (range.start as u8, range.end as u8);
        let mut all = vec![u64::from(start)];
        let mut at = start;
        while at != end {
            at = at.wrapping_add(1);
            all.push(at.into());
        }
        all
    }

    /// Maps an address of the small address space to one near an end of the large one.
    fn spread(at: u8) -> u64 {
        (at as i8) as i64 as u64
    }

    proptest! {
        #[test]
        fn a_range_has_its_two_ends_and_what_is_between_them_going_up(start: u8, end: u8, at: u8, length in 0_u8..40) {
            let small = addresses(Range { start: start.into(), end: end.into() });
            let range = Range { start: spread(start), end: spread(end) };
            // One step of the small address space covers the whole middle of the large one.
            prop_assume!(start != 0x80 && end != 0x7F);
            prop_assert_eq!(range.contains(spread(at)), small.contains(&at.into()));
            let touched = (0..length).any(|byte| small.contains(&u64::from(at.wrapping_add(byte))));
            let crosses = at < 0x80 && at.checked_add(length).is_none_or(|end| end > 0x80);
            if !crosses {
                prop_assert_eq!(range.meets(spread(at), length.into()), touched);
            }
        }

        #[test]
        fn a_hull_has_all_that_its_two_ranges_have(a: u64, b: u64, c: u64, d: u64, at: u64) {
            let (one, other) = (Range { start: a, end: b }, Range { start: c, end: d });
            let hull = one.hull(other);
            for at in [at, a, b, c, d] {
                prop_assert!(!one.contains(at) && !other.contains(at) || hull.contains(at));
            }
        }
    }
}
