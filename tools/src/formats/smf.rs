//! A file of SMF records, with or without block-descriptor words around them, record by record.
//!
//! In a file of format VBS a record may be spanned: its segments lie in several blocks, each with a descriptor word that
//! says which part of the record it is. `Joined` puts them together.

use std::io::Read;

use anyhow::Result;
use record::{Malformed, Problem};

use super::{fill, wrong};

/// The fewest bytes of an SMF record: a header without subtypes, as far as the system identifier.
pub const SHORTEST: usize = 18;

/// Bytes of a descriptor word.
const WORD: usize = 4;

/// The longest record: what its descriptor word can say.
const LONGEST: usize = u16::MAX as usize;

/// The part of a record that a descriptor word begins, by its third byte.
pub(crate) mod segment {
    /// All of it.
    pub const WHOLE: u8 = 0;
    /// Its beginning.
    pub const FIRST: u8 = 1;
    /// Its end.
    pub const LAST: u8 = 2;
    /// What is between.
    pub const MIDDLE: u8 = 3;
}

/// The fewest bytes of a record, or of a segment of one.
pub(crate) const fn shortest(segment: u8) -> usize {
    match segment {
        segment::WHOLE => SHORTEST,
        _ => WORD,
    }
}

/// Reads records.
pub(crate) struct Reader<'r> {
    file: &'r mut dyn Read,
    /// Where the next byte is in the file.
    pub(crate) at: u64,
    /// Bytes that are left in the block; `None` if there are no blocks.
    block: Option<u64>,
}

impl<'r> Reader<'r> {
    /// Reads a file from its beginning, with or without block-descriptor words.
    pub(crate) fn new(file: &'r mut dyn Read, blocks: bool) -> Self {
        Self {
            file,
            at: 0,
            block: blocks.then_some(0),
        }
    }

    /// Puts the next record into `bytes`, as much as there is of it. False at the end of the file.
    pub(crate) fn next(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        bytes.clear();
        if self.block == Some(0) && !self.begin_block(bytes)? {
            return Ok(false);
        }
        let read = fill(self.file, bytes, 4)?;
        self.at += read as u64;
        let start = self.at - read as u64;
        let malformed = |field, problem| {
            let malformed = Malformed {
                offset: 0,
                field,
                problem,
            };
            Err(wrong(start, malformed))
        };
        if read == 0 && self.block.is_none() {
            return Ok(false);
        }
        let Some([high, low, segment, _]) = bytes.first_chunk::<WORD>() else {
            return malformed("RDW", Problem::Missing);
        };
        let says = u64::from(u16::from_be_bytes([*high, *low]));
        let least = shortest(*segment) as u64;
        if says < least {
            return malformed("RDW", Problem::TooShort { says, least });
        }
        if let Some(left) = &mut self.block {
            if says > *left {
                let (end, limit) = (start + says, start + *left);
                return malformed("RDW", Problem::Beyond { end, limit });
            }
            *left -= says;
        }
        let more = fill(self.file, bytes, says as usize - 4)?;
        self.at += more as u64;
        let there = (more + 4) as u64;
        if there < says {
            return malformed("RDW", Problem::Truncated { says, there });
        }
        Ok(true)
    }

    fn begin_block(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        let start = self.at;
        let read = fill(self.file, bytes, 4)?;
        self.at += read as u64;
        let malformed = |problem| {
            let malformed = Malformed {
                offset: 0,
                field: "BDW",
                problem,
            };
            Err(wrong(start, malformed))
        };
        if read == 0 {
            return Ok(false);
        }
        let Some(word) = bytes.first_chunk().copied().map(u32::from_be_bytes) else {
            return malformed(Problem::Missing);
        };
        let (says, found) = match word >> 31 {
            1 => (word & 0x7FFF_FFFF, 0),
            _ => (word >> 16, word & 0xFFFF),
        };
        if found != 0 {
            let (found, expected) = (found.into(), "zeros behind the length");
            return malformed(Problem::Value { found, expected });
        }
        // A block may hold no more than one segment of a record.
        let (says, least) = (u64::from(says), 2 * WORD as u64);
        if says < least {
            return malformed(Problem::TooShort { says, least });
        }
        self.block = Some(says - 4);
        bytes.clear();
        Ok(true)
    }
}

/// Reads records whose segments it puts together.
pub(crate) struct Joined<'r> {
    reader: Reader<'r>,
    segment: Vec<u8>,
    /// Where the record begins in the file.
    pub(crate) start: u64,
}

impl<'r> Joined<'r> {
    /// Reads a file from its beginning, with or without block-descriptor words.
    pub(crate) fn new(file: &'r mut dyn Read, blocks: bool) -> Self {
        Self {
            reader: Reader::new(file, blocks),
            segment: Vec::new(),
            start: 0,
        }
    }

    /// Puts the next record into `record`, with a descriptor word of a whole one. False at the end of the file.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        if !self.reader.next(record)? {
            return Ok(false);
        }
        self.start = self.reader.at - record.len() as u64;
        match record.get(2).copied() {
            Some(segment::FIRST) => self.join(record).map(|()| true),
            Some(segment::LAST | segment::MIDDLE) => self.out_of_order(self.start, record),
            // Another value than these is an error of the record.
            _ => Ok(true),
        }
    }

    /// Adds the other segments to the first one.
    fn join(&mut self, record: &mut Vec<u8>) -> Result<()> {
        loop {
            if !self.reader.next(&mut self.segment)? {
                let expected = "followed by the other segments of its record";
                let malformed = Malformed {
                    offset: 2,
                    field: "RDW",
                    problem: Problem::Form { expected },
                };
                return Err(wrong(self.start, malformed));
            }
            let at = self.reader.at - self.segment.len() as u64;
            let code = self.segment.get(2).copied();
            if !matches!(code, Some(segment::LAST | segment::MIDDLE)) {
                return self.out_of_order(at, &self.segment).map(|_| ());
            }
            let more = self.segment.get(WORD..).unwrap_or_default();
            if record.len() + more.len() > LONGEST {
                let (end, limit) = ((record.len() + more.len()) as u64, LONGEST as u64);
                let malformed = Malformed {
                    offset: 0,
                    field: "RDW",
                    problem: Problem::Beyond { end, limit },
                };
                return Err(wrong(at, malformed));
            }
            record.extend_from_slice(more);
            if code == Some(segment::LAST) {
                break;
            }
        }
        let length = (record.len() as u16).to_be_bytes();
        if let Some(word) = record.first_chunk_mut() {
            *word = [length[0], length[1], segment::WHOLE, 0];
        }
        Ok(())
    }

    fn out_of_order(&self, at: u64, bytes: &[u8]) -> Result<bool> {
        let found = bytes.get(2).copied().unwrap_or(0).into();
        let expected = "a segment in its order: first, any number between, last";
        let malformed = Malformed {
            offset: 2,
            field: "RDW",
            problem: Problem::Value { found, expected },
        };
        Err(wrong(at, malformed))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A segment with its descriptor word.
    pub(crate) fn part(code: u8, content: &[u8]) -> Vec<u8> {
        let length = (content.len() + WORD) as u16;
        [&length.to_be_bytes()[..], &[code, 0], content].concat()
    }

    /// Records and blocks of them.
    pub(crate) fn block(parts: &[Vec<u8>]) -> Vec<u8> {
        let content = parts.concat();
        let length = (content.len() + WORD) as u16;
        [&length.to_be_bytes()[..], &[0, 0], &content].concat()
    }

    /// The records without their descriptor words, and the error that ends them.
    fn read(bytes: &[u8], blocks: bool) -> (Vec<Vec<u8>>, Option<String>) {
        let mut file = bytes;
        let mut joined = Joined::new(&mut file, blocks);
        let (mut records, mut record) = (Vec::new(), Vec::new());
        loop {
            match joined.next(&mut record) {
                Ok(true) => {
                    let (word, content) = record.split_at(WORD);
                    let length = (record.len() as u16).to_be_bytes();
                    assert_eq!(word, [length[0], length[1], 0, 0]);
                    records.push(content.to_vec());
                }
                Ok(false) => return (records, None),
                Err(error) => return (records, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn a_spanned_record_is_its_segments_in_order() {
        let (whole, spanned) = ([7; 30], [9; 100]);
        let parts = [
            part(0, &whole),
            part(1, &spanned[..60]),
            part(3, &spanned[60..61]),
            part(3, &spanned[61..61]),
            part(2, &spanned[61..]),
            part(0, &whole),
        ];
        let expected = vec![whole.to_vec(), spanned.to_vec(), whole.to_vec()];
        assert_eq!(read(&parts.concat(), false), (expected.clone(), None));
        let blocks = [block(&parts[..2]), block(&parts[2..3]), block(&parts[3..])];
        assert_eq!(read(&blocks.concat(), true), (expected, None));
    }

    #[test]
    fn segments_out_of_order_name_the_one_that_is_wrong() {
        let whole = part(0, &[7; 30]);
        let first = part(1, &[8; 30]);
        for parts in [
            [&whole[..], &part(2, &[1])],
            [&whole, &part(3, &[1])],
            [&first, &whole],
            [&first, &first],
        ] {
            let (records, error) = read(&parts.concat(), false);
            assert_eq!(records.len(), usize::from(parts[0] == whole));
            let error = error.unwrap();
            assert!(
                error.starts_with("offset 36 (24 hexadecimal), field RDW"),
                "{error}"
            );
        }
        let (_, error) = read(&first, false);
        assert!(error.unwrap().contains("the other segments"));
    }

    #[test]
    fn segments_never_make_a_record_longer_than_a_descriptor_word_can_say() {
        let mut bytes = part(1, &[8; 30]);
        for _ in 0..3 {
            bytes.extend(part(3, &[8; 30_000]));
        }
        let (records, error) = read(&bytes, false);
        assert!(records.is_empty());
        assert!(error.unwrap().contains("65535"));
    }
}
