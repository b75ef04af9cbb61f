//! The .SMP file: contiguous sample-data blocks of 4 KiB or 1 MiB, and nothing else.
//!
//! Reading a block copies nothing out of it. Its trailer gives the sizes of the entries; the format code of
//! each entry distinguishes the two kinds. In a block that is not full, the entries end at the first format
//! code of zeros. In a full block such a code means that an entry was damaged, and is an error. [`rules`] are
//! for those who want to know more than reading needs.

use zerocopy::FromBytes;

use super::{Malformed, Problem};
use cpumf::{
    model::MODELS,
    sampling::block::{BASIC_FORMAT, BasicEntry, Trailer},
};

pub mod rules;
pub mod tally;

pub use rules::Rules;
pub use tally::BlockTally;

/// The size of most blocks.
pub const SMALL_BLOCK: usize = 1 << 12;
/// The other size.
pub const LARGE_BLOCK: usize = 1 << 20;

/// The header of a diagnostic-sampling data entry: format code and indications.
const DIAGNOSTIC_HEADER: usize = 4;

/// A data entry.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A basic-sampling data entry.
    Basic(&'a BasicEntry),
    /// A diagnostic-sampling data entry, whose contents each model defines. It includes its header. If
    /// neither a trailer nor the model gives its size, it is the rest of the block.
    Diagnostic {
        /// The data-entry-format code: 8001 and so on, by model.
        format: u16,
        /// All of it.
        bytes: &'a [u8],
    },
}

/// The size of diagnostic-sampling data entries by the blocks of a file read so far. The sampling facility
/// stores the size in the trailer only when a block becomes full, and the last block of a run seldom does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    diagnostic: Option<usize>,
}

/// A block with a valid trailer.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    entries: &'a [u8],
    /// The trailer.
    pub trailer: &'a Trailer,
    sizes: Sizes,
}

impl Sizes {
    /// The block that consists of `bytes`, with the trailer at the end.
    ///
    /// # Errors
    /// The field of the trailer that is wrong, with its offset in the block.
    #[inline]
    pub fn block<'a>(&mut self, bytes: &'a [u8]) -> Result<Block<'a>, Malformed> {
        let Ok((entries, trailer)) = Trailer::ref_from_suffix(bytes) else {
            return Err(Malformed {
                offset: 0,
                field: "trailer entry",
                problem: Problem::Missing,
            });
        };
        // The facility stores the sizes together with F.
        let size = usize::from(trailer.bsdes.get());
        if size != size_of::<BasicEntry>() && (size != 0 || trailer.full()) {
            return Err(Malformed {
                offset: entries.len() + core::mem::offset_of!(Trailer, bsdes),
                field: "BSDES",
                problem: Problem::Value {
                    found: size as u64,
                    expected: match size {
                        0x2000 => "32: it looks little-endian, and blocks are big-endian",
                        _ => "32, the size of a basic-sampling data entry",
                    },
                },
            });
        }
        let size = usize::from(trailer.dsdes.get());
        if size >= DIAGNOSTIC_HEADER {
            self.diagnostic = Some(size);
        }
        Ok(Block {
            entries,
            trailer,
            sizes: *self,
        })
    }
}

impl<'a> Block<'a> {
    /// Where the trailer is in the block.
    #[must_use]
    pub const fn trailer_at(&self) -> usize {
        self.entries.len()
    }

    /// The data entries, in the order in which they were stored.
    #[must_use]
    #[inline]
    pub fn entries(&self) -> Entries<'a> {
        let dsdes = usize::from(self.trailer.dsdes.get());
        Entries {
            bytes: self.entries,
            rest: self.entries,
            diagnostic: self.sizes.diagnostic,
            // A full block has fewer unused bytes than a combined entry.
            unused: match self.trailer.full() {
                true => size_of::<BasicEntry>() + dsdes,
                false => usize::MAX,
            },
        }
    }
}

/// The data entries of a block with their offsets in it. An error ends them.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    diagnostic: Option<usize>,
    /// The fewest bytes that the facility cannot leave unused.
    unused: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(usize, Entry<'a>), Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.bytes.len() - self.rest.len();
        if let Ok((entry, rest)) = BasicEntry::ref_from_prefix(self.rest)
            && entry.format() == BASIC_FORMAT
        {
            self.rest = rest;
            return Some(Ok((at, Entry::Basic(entry))));
        }
        self.other(at)
    }
}

impl<'a> Entries<'a> {
    /// What follows at `at` if it is not a basic-sampling data entry.
    fn other(&mut self, at: usize) -> Option<Result<(usize, Entry<'a>), Malformed>> {
        let rest = core::mem::take(&mut self.rest);
        let format = u16::from_be_bytes(*rest.first_chunk()?);
        let wrong = |found: u16, expected| {
            Some(Err(Malformed {
                offset: at,
                field: "data-entry-format code",
                problem: Problem::Value {
                    found: found.into(),
                    expected,
                },
            }))
        };
        match format {
            0 if rest.len() >= self.unused => wrong(0, "that of an entry, as the block is full"),
            // The end of a block that is too short for an entry is not used.
            0 | BASIC_FORMAT => None,
            0x8001..=0x80FF => {
                let size = self.diagnostic.or_else(|| size_of_model(format));
                let size = size.unwrap_or(rest.len());
                let (bytes, behind) = rest.split_at_checked(size)?;
                if bytes.len() < DIAGNOSTIC_HEADER {
                    return None;
                }
                self.rest = behind;
                Some(Ok((at, Entry::Diagnostic { format, bytes })))
            }
            0x0100 => wrong(
                format,
                "1: it looks little-endian, and blocks are big-endian",
            ),
            _ => wrong(
                format,
                "0, 1, or that of a diagnostic-sampling data entry, 8001 to 80FF hexadecimal",
            ),
        }
    }
}

/// The size of the diagnostic-sampling data entries of the model whose code this is.
fn size_of_model(format: u16) -> Option<usize> {
    let is_it = MODELS
        .iter()
        .find(|model| model.diagnostic_format() == format);
    is_it.map(|model| model.dsdes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use zerocopy::IntoBytes;

    /// A block of 4 KiB with these entries, and F if it is `full`.
    fn block(entries: &[&[u8]], full: bool, dsdes: u16) -> Vec<u8> {
        let mut block = entries.concat();
        block.resize(SMALL_BLOCK, 0);
        let at = SMALL_BLOCK - size_of::<Trailer>();
        block[at] = if full { 0x80 } else { 0 };
        block[at + 5] = 32;
        block[at + 6..at + 8].copy_from_slice(&dsdes.to_be_bytes());
        block
    }

    fn basic(address: u64) -> Vec<u8> {
        let entry = BasicEntry {
            head: (1 << 48).into(),
            instruction_address: address.into(),
            ..BasicEntry::default()
        };
        entry.as_bytes().to_vec()
    }

    fn diagnostic(format: u16, size: usize) -> Vec<u8> {
        let mut entry = format.to_be_bytes().to_vec();
        entry.resize(size, 0xDD);
        entry
    }

    /// Offset and length of each entry before the first error, and that error.
    fn read(sizes: &mut Sizes, bytes: &[u8]) -> (Vec<(usize, usize)>, Option<Malformed>) {
        let mut found = Vec::new();
        for entry in sizes.block(bytes).unwrap().entries() {
            match entry {
                Ok((at, Entry::Basic(_))) => found.push((at, 32)),
                Ok((at, Entry::Diagnostic { bytes, .. })) => found.push((at, bytes.len())),
                Err(malformed) => return (found, Some(malformed)),
            }
        }
        (found, None)
    }

    #[test]
    fn a_block_that_is_not_full_ends_at_its_first_unused_entry() {
        let bytes = block(&[&basic(1), &basic(2), &[0; 32], &basic(4)], false, 0);
        let found = read(&mut Sizes::default(), &bytes);
        assert_eq!(found, (vec![(0, 32), (32, 32)], None));
    }

    #[test]
    fn a_full_block_has_no_unused_entry() {
        let all: Vec<Vec<u8>> = (0..126).map(basic).collect();
        let mut all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let (found, wrong) = read(&mut Sizes::default(), &block(&all, true, 0));
        assert_eq!((found.len(), wrong), (126, None));
        all[7] = &[0; 32];
        let (found, wrong) = read(&mut Sizes::default(), &block(&all, true, 0));
        let wrong = wrong.unwrap();
        assert_eq!(
            (found.len(), wrong.offset, wrong.field),
            (7, 224, "data-entry-format code")
        );
        assert!(
            wrong.to_string().contains("as the block is full"),
            "{wrong}"
        );
    }

    #[test]
    fn the_end_of_a_block_that_is_too_short_for_an_entry_is_unused() {
        // 4032 bytes are 21 times 32 + 160 bytes, and no rest.
        let (first, second) = (basic(1), diagnostic(0x8006, 160));
        let mut pairs: Vec<&[u8]> = [&first[..], &second].repeat(21);
        let (found, wrong) = read(&mut Sizes::default(), &block(&pairs, true, 160));
        assert_eq!((found.len(), wrong), (42, None));
        // 40 of 100 bytes leave 32.
        let (first, second) = (basic(1), diagnostic(0x8006, 68));
        pairs = [&first[..], &second].repeat(40);
        let (found, wrong) = read(&mut Sizes::default(), &block(&pairs, true, 68));
        assert_eq!((found.len(), wrong), (80, None));
    }

    #[test]
    fn a_block_that_is_not_full_has_the_entries_of_those_before_it() {
        let mut sizes = Sizes::default();
        let (first, second) = (basic(1), diagnostic(0x80FE, 100));
        let pair: [&[u8]; 2] = [&first, &second];
        // No model has this code: the entry is the rest of the block.
        let open = block(&pair, false, 0);
        assert_eq!(read(&mut sizes, &open).0, [(0, 32), (32, 4000)]);
        read(&mut sizes, &block(&[], false, 100));
        assert_eq!(read(&mut sizes, &open).0, [(0, 32), (32, 100)]);
    }

    #[test]
    fn an_error_names_the_field_that_is_wrong_and_its_offset() {
        let mut bytes = block(&[&basic(1), &[0x80, 0]], false, 0);
        let (_, wrong) = read(&mut Sizes::default(), &bytes);
        assert_eq!(wrong.map(|wrong| wrong.offset), Some(32));
        bytes = block(&[&[1, 0]], false, 0);
        let (_, wrong) = read(&mut Sizes::default(), &bytes);
        assert!(wrong.unwrap().to_string().contains("looks little-endian"));
        bytes[4032 + 5] = 33;
        let wrong = Sizes::default().block(&bytes).map(|_| ()).unwrap_err();
        assert_eq!((wrong.offset, wrong.field), (4036, "BSDES"));
        let wrong = Sizes::default()
            .block(&bytes[..63])
            .map(|_| ())
            .unwrap_err();
        assert_eq!(wrong.problem, Problem::Missing);
    }

    proptest! {
        #[test]
        fn entries_are_contiguous_in_any_block(
            words in vec(prop_oneof![Just(0u16), Just(1), Just(0x8006), any::<u16>()], 0..200),
            full in any::<bool>(),
            dsdes in any::<u16>(),
        ) {
            let pieces: Vec<Vec<u8>> = words.iter().map(|word| diagnostic(*word, 20)).collect();
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let mut bytes = block(&pieces, full, dsdes);
            bytes.truncate(SMALL_BLOCK);
            let (found, wrong) = read(&mut Sizes::default(), &bytes);
            let mut next = 0;
            for (at, length) in found {
                prop_assert_eq!(at, next);
                next += length;
            }
            prop_assert!(next <= SMALL_BLOCK - size_of::<Trailer>());
            prop_assert!(wrong.is_none_or(|wrong| wrong.offset == next));
        }
    }
}
