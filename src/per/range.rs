//! A range of addresses, which may go over the end of the address space.

/// The addresses from the first to the last one, both included. If the first one is the higher, the range
/// goes up to the end of the address space and on from its beginning: no two addresses designate nothing.
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

    /// Whether an address is one of them.
    #[must_use]
    #[inline]
    pub const fn contains(&self, at: u64) -> bool {
        at.wrapping_sub(self.start) <= self.end.wrapping_sub(self.start)
    }

    /// Whether any of `length` bytes at an address is one of them; the bytes may go over the end of the address
    /// space, too.
    #[must_use]
    #[inline]
    pub const fn meets(&self, at: u64, length: u64) -> bool {
        length != 0 && (self.contains(at) || self.start.wrapping_sub(at) < length)
    }

    /// Every other address; there must be one.
    #[must_use]
    #[inline]
    pub const fn others(self) -> Self {
        Self {
            start: self.end.wrapping_add(1),
            end: self.start.wrapping_sub(1),
        }
    }

    /// The smallest range with every address of both that goes over the end of the address space only if
    /// one of them does.
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

    /// Every address but those of the gap around `at` in which none of these ranges has one; `None` if there are no
    /// ranges. None of them has `at` itself.
    #[must_use]
    pub fn around(at: u64, ranges: impl Iterator<Item = Self>) -> Option<Self> {
        ranges
            .map(|range| (range.start.wrapping_sub(at), at.wrapping_sub(range.end)))
            .reduce(|(above, below), (start, end)| (above.min(start), below.min(end)))
            .map(|(above, below)| Self {
                start: at.wrapping_add(above),
                end: at.wrapping_sub(below),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same for an address space of 256 bytes, one address after the other.
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

    /// Puts a range of the small address space at both ends of the large one.
    fn spread(at: u8) -> u64 {
        (at as i8) as i64 as u64
    }

    /// The range or what is not in it, whichever does not have `at`.
    fn beside(at: u64, (start, end): (u64, u64)) -> Range {
        let range = Range { start, end };
        if range.contains(at) {
            range.others()
        } else {
            range
        }
    }

    proptest! {
        #[test]
        fn a_range_has_its_two_ends_and_what_is_between_them_going_up(start: u8, end: u8, at: u8, length in 0_u8..40) {
            let small = addresses(Range { start: start.into(), end: end.into() });
            let range = Range { start: spread(start), end: spread(end) };
            // The middle of the large address space is one address of the small one, wide as it is.
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

        #[test]
        fn what_is_around_an_address_is_all_from_the_next_of_the_ranges_to_the_last(
            ranges in prop::collection::vec(any::<(u64, u64)>(), 1..5),
            at: u64,
            probes: [u64; 4],
        ) {
            let ranges: Vec<Range> = ranges.into_iter().map(|ends| beside(at, ends)).collect();
            let around = Range::around(at, ranges.iter().copied()).unwrap();
            prop_assert!(!around.contains(at));
            let ends = ranges.iter().flat_map(|range| [range.start, range.end]);
            for probe in ends.chain(probes) {
                let has = ranges.iter().any(|range| range.contains(probe));
                prop_assert!(!has || around.contains(probe));
            }
            for end in [around.start, around.end] {
                prop_assert!(ranges.iter().any(|range| range.contains(end)), "no smaller one will do");
            }
        }
    }

    #[test]
    fn around_an_address_there_is_nothing_if_there_are_no_ranges() {
        assert_eq!(Range::around(5, std::iter::empty()), None);
    }
}
