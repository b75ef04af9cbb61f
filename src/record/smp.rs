//! The .SMP file: sample-data blocks of 4 KiB or 1 MiB, one behind the other and nothing between them.
//!
//! A block is read as it stands, and nothing is copied out of it. Its trailer says how large the entries
//! are; each entry says by its format code which of the two kinds it is. A block that is not full ends at
//! the first format code of zeros. In a full one there is no such place: an entry that is missing there is
//! an entry that was damaged, and is said to be so.

use zerocopy::FromBytes;

use super::{Malformed, Problem};
use cpumf::{
    model::MODELS,
    sampling::block::{BASIC_FORMAT, BasicEntry, Trailer},
};

/// The size of most blocks.
pub const SMALL_BLOCK: usize = 1 << 12;
/// The other size that there is.
pub const LARGE_BLOCK: usize = 1 << 20;

/// The header of a diagnostic-sampling data entry: format code and indications.
const DIAGNOSTIC_HEADER: usize = 4;

/// A data entry.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A basic-sampling data entry.
    Basic(&'a BasicEntry),
    /// A diagnostic-sampling data entry: what it says is each model's own. It has its header, and is the
    /// rest of the block if nothing tells its size.
    Diagnostic {
        /// The data-entry-format code: 8001 and so on, by model.
        format: u16,
        /// All of it.
        bytes: &'a [u8],
    },
}

/// What the blocks of a file have said so far of the size of diagnostic-sampling data entries. Only a
/// block that became full says it, and the last block of a run seldom did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    diagnostic: Option<usize>,
}

/// A block whose trailer makes sense.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    entries: &'a [u8],
    /// The trailer.
    pub trailer: &'a Trailer,
    sizes: Sizes,
}

impl Sizes {
    /// The block that `bytes` are: all of them, with the trailer at their end.
    ///
    /// # Errors
    /// What is wrong with the trailer, with its offset in the block.
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
            // A full block has room for no more than what is shorter than both entries together.
            unused: match self.trailer.full() {
                true => size_of::<BasicEntry>() + dsdes,
                false => usize::MAX,
            },
        }
    }
}

/// The data entries of a block with their offsets in it. Behind something that is wrong there is nothing.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    diagnostic: Option<usize>,
    /// The fewest bytes that cannot have been left unused.
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
    /// What stands at `at` and is no basic-sampling data entry.
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
            // What is left of a block that an entry does not divide is not used.
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

    /// Offset and length of each entry up to the first thing that is wrong, and that.
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
    fn the_rest_that_no_entry_fits_into_is_unused() {
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
    fn what_is_wrong_is_named_with_its_offset() {
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
        fn entries_lie_one_behind_the_other_in_any_block(
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
