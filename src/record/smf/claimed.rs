//! The bytes of a record that belong to a section: no byte belongs to two.

use super::Triplet;
use crate::{
    Malformed, Problem,
    layout::{Found, Visitor},
};

/// Bytes of the longest record.
const LONGEST: usize = 1 << 16;
/// Bits of a word.
const BITS: usize = u64::BITS as usize;
/// How many kinds of sections are remembered: more than the records of any known system have.
const OWNERS: usize = 16;

/// A bit for each byte of a record: one if the byte belongs to a section.
#[derive(Debug)]
pub(super) struct Claimed {
    words: [u64; LONGEST / BITS],
    /// Where the last section ends.
    end: usize,
    /// The first sections, with the fields that have their offsets.
    owners: [Option<(usize, usize, Found)>; OWNERS],
}

impl Claimed {
    /// No byte belongs to a section. It is made in its place: it is larger than most records.
    pub(super) const fn none() -> Self {
        Self {
            words: [0; LONGEST / BITS],
            end: 0,
            owners: [None; OWNERS],
        }
    }

    /// The first `length` bytes belong to a section.
    pub(super) fn first(&mut self, length: usize) {
        self.range(0, length);
    }

    /// Claims bytes `start` to `end`. Returns the first one that was claimed before, if there is one.
    fn range(&mut self, start: usize, end: usize) -> Option<usize> {
        let (mut at, limit) = (start, end.min(LONGEST));
        while at < limit {
            let (index, bit) = (at / BITS, at % BITS);
            let length = (BITS - bit).min(limit - at);
            let mask = (u64::MAX >> (BITS - length)) << bit;
            let word = &mut self.words[index];
            let claimed = *word & mask;
            if claimed != 0 {
                return Some(index * BITS + claimed.trailing_zeros() as usize);
            }
            *word |= mask;
            at += length;
        }
        self.end = self.end.max(end);
        None
    }

    /// Claims the sections that a triplet designates, `bytes` from `start` on.
    ///
    /// # Errors
    /// Its offset, if they overlap other sections. The offset of those is shown as wrong, too: nothing tells which of
    /// them is.
    pub(super) fn sections(
        &mut self,
        triplet: &Triplet,
        (start, bytes): (usize, &[u8]),
        visit: &mut Visitor<'_>,
    ) -> Result<(), Malformed> {
        let end = start + bytes.len();
        if let Some(at) = self.range(start, end) {
            for (first, behind, field) in self.owners.iter().flatten() {
                if (*first..*behind).contains(&at) {
                    field.wrong("an offset of bytes that no other section has", visit);
                }
            }
            return Err(triplet.wrong(0, Problem::Overlap { at: at as u64 }));
        }
        if let Some(owner) = self.owners.iter_mut().find(|owner| owner.is_none()) {
            let field = Found::new(triplet.at[0], triplet.names[0], triplet.offset);
            *owner = Some((start, end, field));
        }
        Ok(())
    }

    /// Where the last section ends.
    pub(super) const fn end(&self) -> usize {
        self.end
    }
}
