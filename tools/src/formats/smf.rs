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

/// Segments that belong to no record.
///
/// A dump may begin or end within a spanned record, and dumps are put behind each other. The descriptor words still say
/// where the next segment is, so such segments are left out and reading goes on.
#[derive(Debug, Default)]
pub(crate) struct Astray {
    /// How many there are.
    pub(crate) number: u64,
    /// What is wrong with the first.
    pub(crate) first: Option<String>,
}

impl Astray {
    /// One more, at this offset.
    fn add(&mut self, at: u64, field_at: usize, problem: Problem) {
        self.number += 1;
        let malformed = Malformed {
            offset: field_at,
            field: "RDW",
            problem,
        };
        self.first
            .get_or_insert_with(|| wrong(at, malformed).to_string());
    }

    /// What is missing, in a sentence; `None` if nothing is.
    pub(crate) fn doubt(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let number = self.number;
        Some(format!(
            "{number} segments of spanned records belong to no record and are left out; the first: {first}"
        ))
    }
}

/// Reads records whose segments it puts together.
pub(crate) struct Joined<'r> {
    reader: Reader<'r>,
    segment: Vec<u8>,
    /// Where the record begins in the file.
    pub(crate) start: u64,
    /// Segments that were left out.
    pub(crate) astray: Astray,
}

impl<'r> Joined<'r> {
    /// Reads a file from its beginning, with or without block-descriptor words.
    pub(crate) fn new(file: &'r mut dyn Read, blocks: bool) -> Self {
        Self {
            reader: Reader::new(file, blocks),
            segment: Vec::new(),
            start: 0,
            astray: Astray::default(),
        }
    }

    /// Puts the next record into `record`, with a descriptor word of a whole one. False at the end of the file.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        while self.reader.next(record)? {
            self.start = self.reader.at - record.len() as u64;
            match record.get(2).copied() {
                Some(segment::FIRST) => {
                    if self.join(record)? {
                        return Ok(true);
                    }
                }
                Some(segment::LAST | segment::MIDDLE) => self.out_of_order(self.start, record),
                // Another value than these is an error of the record.
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Adds the other segments to the first one. If another record begins before the last segment, it takes the place of
    /// this one. False if the record is too long, and nothing else has begun.
    fn join(&mut self, record: &mut Vec<u8>) -> Result<bool> {
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
                self.astray.add(at, 2, order(code));
                self.start = at;
                std::mem::swap(record, &mut self.segment);
                match code {
                    Some(segment::FIRST) => continue,
                    _ => return Ok(true),
                }
            }
            let more = self.segment.get(WORD..).unwrap_or_default();
            let end = record.len() + more.len();
            if end > LONGEST {
                let (end, limit) = (end as u64, LONGEST as u64);
                self.astray.add(at, 0, Problem::Beyond { end, limit });
                return Ok(false);
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
        Ok(true)
    }

    fn out_of_order(&mut self, at: u64, bytes: &[u8]) {
        self.astray.add(at, 2, order(bytes.get(2).copied()));
    }
}

/// A segment code that cannot be here.
fn order(found: Option<u8>) -> Problem {
    Problem::Value {
        found: found.unwrap_or(0).into(),
        expected: "a segment in its order: first, any number between, last",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

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

    /// The records without their descriptor words, and the error that ends them, or else what was left out.
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
                Ok(false) => return (records, joined.astray.doubt()),
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
    fn segments_that_belong_to_no_record_are_left_out_and_the_first_is_named() {
        let (one, other) = ([7; 30], [9; 30]);
        let whole = part(0, &one);
        let spanned = [part(1, &other[..10]), part(2, &other[10..])].concat();
        let both = vec![one.to_vec(), other.to_vec()];
        for (parts, left_out, at) in [
            // A last or a middle segment without a first one.
            ([&whole[..], &part(2, &[1]), &spanned], 1, 34),
            ([&whole, &part(3, &[1]), &spanned], 1, 34),
            // A first segment before a whole record, and before another first one, as of another system.
            ([&part(1, &[8; 30]), &whole, &spanned], 1, 34),
            ([&whole, &part(1, &[8; 30]), &spanned], 1, 68),
            // All of them together.
            (
                [
                    &whole,
                    &[part(2, &[1]), part(3, &[1]), part(1, &[1])].concat(),
                    &spanned,
                ],
                3,
                34,
            ),
        ] {
            let (records, doubt) = read(&parts.concat(), false);
            assert_eq!(records, both);
            let doubt = doubt.unwrap();
            let offset = format!("offset {} ", at + 2);
            assert!(
                doubt.starts_with(&format!("{left_out} segments")),
                "{doubt}"
            );
            assert!(doubt.contains(&offset), "{doubt}");
        }
        let (_, error) = read(&part(1, &[8; 30]), false);
        assert!(error.unwrap().contains("the other segments"));
    }

    #[test]
    fn segments_never_make_a_record_longer_than_a_descriptor_word_can_say() {
        let mut bytes = part(1, &[8; 30]);
        for _ in 0..3 {
            bytes.extend(part(3, &[8; 30_000]));
        }
        bytes.extend(part(0, &[7; 30]));
        let (records, doubt) = read(&bytes, false);
        assert_eq!(records, [vec![7; 30]]);
        assert!(doubt.unwrap().contains("65535"));
    }

    #[test]
    fn a_descriptor_word_that_cannot_be_ends_the_reading_with_its_offset() {
        let whole = part(0, &[7; 30]);
        for word in [[0, 0, 0, 0], [0, 3, 0, 0], [0, 3, 2, 0], [0, 17, 0, 0]] {
            let (records, error) = read(&[&whole[..], &word, &whole].concat(), false);
            assert_eq!(records.len(), 1);
            let error = error.unwrap();
            assert!(error.starts_with("offset 34 "), "{error}");
            assert!(error.contains("field RDW"), "{error}");
        }
        // Longer than its block, than the file, and a block too short for a segment.
        let lying = [&[0, 200, 0, 0][..], &[7; 30]].concat();
        for (bytes, blocks, field) in [
            (block(std::slice::from_ref(&lying)), true, "RDW"),
            (lying, false, "RDW"),
            (vec![0, 4, 0, 0], true, "BDW"),
            (vec![0x80, 0, 0, 7, 0, 3, 0], true, "BDW"),
        ] {
            let (records, error) = read(&bytes, blocks);
            assert!(records.is_empty());
            assert!(error.unwrap().contains(&format!("field {field}")));
        }
    }

    proptest! {
        #[test]
        fn whatever_a_file_holds_is_read_to_its_end_or_to_an_error(
            pieces in prop::collection::vec((0u8..5, 0usize..80), 0..30),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            blocks: bool,
        ) {
            let parts: Vec<Vec<u8>> = pieces
                .iter()
                .map(|(code, length)| part(*code, &vec![*code; *length]))
                .collect();
            let mut bytes = match blocks {
                true => parts.chunks(3).flat_map(block).collect(),
                false => parts.concat(),
            };
            for (at, byte) in changes {
                if !bytes.is_empty() {
                    let place = at.index(bytes.len());
                    bytes[place] = byte;
                }
            }
            let mut file = &bytes[..];
            let mut joined = Joined::new(&mut file, blocks);
            let (mut record, mut end) = (Vec::new(), 0);
            while let Ok(true) = joined.next(&mut record) {
                // Records follow each other, and none is longer than all segments that are left.
                prop_assert!(joined.start >= end);
                prop_assert!(record.len() <= bytes.len());
                end = joined.start + 1;
            }
        }
    }
}
