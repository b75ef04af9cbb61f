//! A set of places in a page: what a decode knows of its halfwords.

use super::sensitive::PAGE;

/// A set of even offsets into a page: one bit for each halfword.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Offsets([u64; PAGE / 2 / 64]);

impl Offsets {
    pub(super) const NONE: Self = Self([0; PAGE / 2 / 64]);

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn contains(&self, offset: usize) -> bool {
        self.0[offset / 128] >> (offset / 2 % 64) & 1 != 0
    }

    pub(super) fn insert(&mut self, offset: usize) {
        self.0[offset / 128] |= 1 << (offset / 2 % 64);
    }

    /// The offsets in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        // Most sets are empty, or nearly so.
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 128 + bit * 2)
            })
        })
    }

    /// Inserts the halfwords from `first` to `end`, as far as the page goes.
    pub(super) fn insert_range(&mut self, first: usize, end: usize) {
        for offset in (first..end.min(PAGE)).step_by(2) {
            self.insert(offset);
        }
    }

    /// Inserts every offset of another set.
    pub(super) fn insert_all(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    pub(super) fn remove(&mut self, offset: usize) {
        self.0[offset / 128] &= !(1 << (offset / 2 % 64));
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
