//! A set of halfwords of a page.

use arch::address;

/// The size of a page in bytes, as an index into its text.
pub const PAGE: usize = address::PAGE as usize;

/// A set of even offsets into a page: one bit for each halfword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets([u64; PAGE / 2 / 64]);

impl Offsets {
    /// The empty set.
    pub const NONE: Self = Self([0; PAGE / 2 / 64]);
    /// Every halfword of the page.
    pub(super) const ALL: Self = Self([u64::MAX; PAGE / 2 / 64]);

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Whether the halfword at an offset is in the set.
    #[must_use]
    pub fn contains(&self, offset: usize) -> bool {
        self.0
            .get(offset / 128)
            .is_some_and(|word| word >> (offset / 2 % 64) & 1 != 0)
    }

    /// Inserts an offset.
    pub(super) fn insert(&mut self, offset: usize) {
        if let Some(word) = self.0.get_mut(offset / 128) {
            *word |= 1 << (offset / 2 % 64);
        }
    }

    /// The offsets in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        // Most sets are empty or have few elements.
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 128 + bit * 2)
            })
        })
    }

    /// Inserts the halfwords from `first` to `end`, or to the end of the page.
    pub(super) fn insert_range(&mut self, first: usize, end: usize) {
        let (mut at, end) = (first / 2, end.min(PAGE) / 2);
        while at < end {
            let count = (64 - at % 64).min(end - at);
            if let Some(word) = self.0.get_mut(at / 64) {
                *word |= u64::MAX >> (64 - count) << (at % 64);
            }
            at += count;
        }
    }

    /// The first of the consecutive halfwords in the set that end with the one at this offset, which is in the set.
    pub(super) fn begin(&self, offset: usize) -> usize {
        let mut at = offset.min(PAGE - 2) / 2;
        loop {
            let ones = (self.0[at / 64] << (63 - at % 64)).leading_ones() as usize;
            if ones <= at % 64 || at < 64 {
                return (at + 1 - ones) * 2;
            }
            // The whole beginning of this word is in the set.
            at = at / 64 * 64 - 1;
            if self.0[at / 64] >> 63 == 0 {
                return (at + 1) * 2;
            }
        }
    }

    /// The first offset from one on that is not in the set: the end of the page if there is none.
    pub(super) fn end(&self, offset: usize) -> usize {
        let mut at = offset / 2;
        while at < PAGE / 2 {
            let word = !(self.0[at / 64] >> (at % 64));
            let ones = (word.trailing_zeros() as usize).min(64 - at % 64);
            at += ones;
            if !at.is_multiple_of(64) || ones == 0 {
                break;
            }
        }
        at * 2
    }

    /// Inserts every offset of another set.
    pub fn insert_all(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Removes every offset of another set.
    pub(super) fn remove_all(&mut self, other: &Self) {
        for (word, less) in self.0.iter_mut().zip(&other.0) {
            *word &= !less;
        }
    }

    /// Removes every offset that another set has not.
    pub(super) fn keep_all(&mut self, other: &Self) {
        for (word, kept) in self.0.iter_mut().zip(&other.0) {
            *word &= kept;
        }
    }

    /// The set that `which` gives for the offset of each doubleword; the rightmost bit is the first of its halfwords.
    pub fn by_doublewords(mut which: impl FnMut(usize) -> u8) -> Self {
        let mut set = Self::NONE;
        for (n, word) in set.0.iter_mut().enumerate() {
            for doubleword in (0..16).rev() {
                *word = *word << 4 | u64::from(which(n * 128 + doubleword * 8) & 15);
            }
        }
        set
    }

    /// The doublewords in which this set differs from another one, the last one first: the offset, and the halfwords of
    /// this set in the form of [`Offsets::by_doublewords`].
    pub fn changes(&self, other: &Self) -> impl Iterator<Item = (usize, u8)> {
        let words = self.0.iter().zip(&other.0).enumerate().rev();
        words
            .filter(|(_, (new, old))| new != old)
            .flat_map(|(n, (&new, &old))| {
                let four =
                    move |word: u64, doubleword: usize| (word >> (4 * doubleword)) as u8 & 15;
                let doublewords = (0..16).rev().filter(move |&d| four(new, d) != four(old, d));
                doublewords.map(move |d| (n * 128 + d * 8, four(new, d)))
            })
    }

    /// This set, and of each 128 bytes of which it has any halfword also what `which` gives for the offset of each
    /// doubleword, as for [`Offsets::by_doublewords`].
    pub(super) fn extended_where_near(&self, mut which: impl FnMut(usize) -> u8) -> Self {
        let mut set = *self;
        for (n, word) in set.0.iter_mut().enumerate() {
            if *word == 0 {
                continue;
            }
            for doubleword in 0..16 {
                if *word >> (4 * doubleword) & 15 != 15 {
                    *word |= u64::from(which(n * 128 + doubleword * 8) & 15) << (4 * doubleword);
                }
            }
        }
        set
    }

    /// Removes the lowest offset.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let (index, word) = self
            .0
            .iter_mut()
            .enumerate()
            .find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(index * 128 + bit * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_and_runs_are_those_of_the_single_offsets(
            ranges in proptest::collection::vec((0..PAGE / 2, 0..PAGE / 2 + 9), 1..12),
            at in 0..PAGE / 2,
        ) {
            let (mut whole, mut single) = (Offsets::NONE, Offsets::NONE);
            for (first, end) in ranges {
                whole.insert_range(first * 2, end * 2);
                for offset in (first..end.min(PAGE / 2)).map(|n| n * 2) {
                    single.insert(offset);
                }
            }
            prop_assert_eq!(whole, single);
            let end = (at..PAGE / 2).map(|n| n * 2).find(|&offset| !single.contains(offset));
            prop_assert_eq!(whole.end(at * 2), end.unwrap_or(PAGE));
            if single.contains(at * 2) {
                let gap = (0..at).rev().map(|n| n * 2).find(|&offset| !single.contains(offset));
                prop_assert_eq!(whole.begin(at * 2), gap.map_or(0, |gap| gap + 2));
            }
        }
    }
}
