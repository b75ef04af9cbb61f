//! The kind of a file, by its first bytes.

use std::{
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use anyhow::{Context, Result, bail};
use zerocopy::FromBytes;
use {
    arch::ebcdic,
    cpumf::sampling::block::{BASIC_FORMAT, Trailer},
    record::{
        map, monitor,
        smp::{LARGE_BLOCK, SMALL_BLOCK},
    },
};

use super::smf::{SHORTEST, shortest};

mod endian;

/// The longest block of records that is checked as a whole.
pub(crate) const LONGEST_BLOCK: usize = 1 << 16;

/// The character code of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// ASCII, or UTF-8, with lines that end with a line feed.
    Ascii,
    /// EBCDIC, with lines that end with a new line (15).
    Ebcdic,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sample-data blocks of this size.
    Samples {
        /// Bytes of a block.
        block: usize,
    },
    /// The counters of a run, message HIS019I.
    Counters(Encoding),
    /// A map of storage.
    Map(Encoding),
    /// SMF records.
    Smf {
        /// Whether they are in blocks with block-descriptor words.
        blocks: bool,
    },
    /// z/VM monitor records.
    Monitor,
}

/// The error for a file of another kind.
pub const UNKNOWN: &str = "the file is of no known kind; these are: .SMP or sdb-cpuN.bin, .CNT, .MAP, SMF records, \
    z/VM monitor records";

/// The kind of a file by its content.
pub fn recognise(file: &mut (impl Read + Seek), length: u64) -> Result<Option<Kind>> {
    if length == 0 {
        bail!("the file is empty");
    }
    let mut front = Vec::new();
    let limit = LONGEST_BLOCK as u64;
    file.by_ref()
        .take(limit)
        .read_to_end(&mut front)
        .context("cannot read it")?;
    let mut trailer = Vec::new();
    let at = (LARGE_BLOCK - size_of::<Trailer>()) as u64;
    if length >= LARGE_BLOCK as u64 {
        file.seek(SeekFrom::Start(at))
            .and_then(|_| {
                file.by_ref()
                    .take(size_of::<Trailer>() as u64)
                    .read_to_end(&mut trailer)
            })
            .context("cannot read it")?;
    }
    of_front(&front, &trailer)
}

/// The kind of a file that begins with `front`, as [`kind`] says it. Refuses a file whose bytes were exchanged.
pub fn of_front(front: &[u8], trailer: &[u8]) -> Result<Option<Kind>> {
    if let Some(field) = endian::looks_little(front, trailer) {
        bail!(
            "offset 0 (0 hexadecimal), field {field}: looks little-endian, with the lowest byte of a number \
             first; these files are big-endian, so write it again without exchanging bytes"
        );
    }
    Ok(kind(front, trailer))
}

/// The kind of a file by its name, for a file whose first bytes are damaged.
pub fn named(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?.to_ascii_uppercase();
    let ends = |end: &str| name.ends_with(end);
    let block = SMALL_BLOCK;
    if name.contains(".SMP") || name.starts_with("SDB-CPU") {
        Some(Kind::Samples { block })
    } else if ends(".CNT") {
        Some(Kind::Counters(Encoding::Ascii))
    } else if ends(".MAP") {
        Some(Kind::Map(Encoding::Ascii))
    } else if ends(".SMF") {
        Some(Kind::Smf { blocks: false })
    } else {
        ends(".MON").then_some(Kind::Monitor)
    }
}

/// The kind of a file that begins with `front` (all of it, or 64 KiB). `trailer` is the end of its first megabyte, if
/// it is that long.
pub fn kind(front: &[u8], trailer: &[u8]) -> Option<Kind> {
    let ebcdic: Vec<u8> = "HIS019I".bytes().filter_map(ebcdic::code).collect();
    if front.starts_with(b"HIS019I") {
        return Some(Kind::Counters(Encoding::Ascii));
    }
    if front.starts_with(&ebcdic) {
        return Some(Kind::Counters(Encoding::Ebcdic));
    }
    if let Some(block) = samples(front, trailer) {
        return Some(Kind::Samples { block });
    }
    if in_blocks(front) {
        return Some(Kind::Smf { blocks: true });
    }
    if smf(front) {
        return Some(Kind::Smf { blocks: false });
    }
    if monitor::looks_like_a_header(front) {
        return Some(Kind::Monitor);
    }
    let line = front.split(|byte| *byte == b'\n').next()?;
    if map::Record::parse(line).is_ok() {
        return Some(Kind::Map(Encoding::Ascii));
    }
    let line = front.split(|byte| *byte == NEW_LINE).next()?;
    // Whatever is left of other bytes may look like a line.
    let characters = line.iter().map(|code| ebcdic::character(*code));
    let line: String = characters.collect::<Option<_>>()?;
    let is_map = map::Record::parse(line.as_bytes()).is_ok();
    is_map.then_some(Kind::Map(Encoding::Ebcdic))
}

/// NEW LINE, which ends a line of EBCDIC text.
pub const NEW_LINE: u8 = 0x15;

/// The size of the sample-data blocks, if the file begins with one: a data entry in front (or no entry) and a trailer.
fn samples(front: &[u8], trailer: &[u8]) -> Option<usize> {
    let format = u16::from_be_bytes(*front.first_chunk()?);
    let diagnostic = 0x8001..=0x80FF;
    let is_entry = format == BASIC_FORMAT || diagnostic.contains(&format);
    let block = front.get(..SMALL_BLOCK).unwrap_or(front);
    let is_unused = block.iter().take(32).all(|byte| *byte == 0);
    if !is_entry && !is_unused {
        return None;
    }
    let is_trailer = |bytes: &[u8]| {
        Trailer::read_from_bytes(bytes).is_ok_and(|trailer| {
            let size = trailer.bsdes.get();
            trailer.flags & 0x1F == 0
                && trailer.reserved_1 == [0; 3]
                && (size == 32 || size == 0 && !trailer.full())
        })
    };
    let at = SMALL_BLOCK - size_of::<Trailer>();
    let small = front.get(at..SMALL_BLOCK);
    if small.is_some_and(is_trailer) {
        Some(SMALL_BLOCK)
    } else if is_trailer(trailer) {
        Some(LARGE_BLOCK)
    } else {
        // A file that was cut off in its first block; the dump reports it.
        (is_entry && small.is_none() && front.len() >= 32).then_some(SMALL_BLOCK)
    }
}

/// The length of the record or block that a descriptor word begins, if it is one.
fn described(bytes: &[u8]) -> Option<usize> {
    let [length, next, segment, zero] = *bytes.first_chunk()?;
    (segment <= 3 && zero == 0).then_some(usize::from(u16::from_be_bytes([length, next])))
}

/// Whether a block-descriptor word comes first: the records behind it fill its block.
fn in_blocks(front: &[u8]) -> bool {
    let Some(head) = front.first_chunk() else {
        return false;
    };
    let word = u32::from_be_bytes(*head);
    let (length, is_plain) = match word >> 31 {
        1 => ((word & 0x7FFF_FFFF) as usize, true),
        _ => ((word >> 16) as usize, word & 0xFFFF == 0),
    };
    if !is_plain || length < 4 + SHORTEST {
        return false;
    }
    let mut at = 4;
    while at < length {
        let Some(rest) = front.get(at..).filter(|rest| rest.len() >= 4) else {
            // The rest was not read, or is missing. At least one record was there.
            return at > 4;
        };
        // A segment of a spanned record may be shorter than a record.
        match described(rest) {
            Some(record) if record >= shortest(rest[2]) && at + record <= length => at += record,
            _ => return false,
        }
    }
    at == length
}

/// Whether a record-descriptor word and an SMF header come first.
fn smf(front: &[u8]) -> bool {
    let Some(length) = described(front).filter(|length| *length >= SHORTEST) else {
        return false;
    };
    // Where SMF has its flags, monitor records have their domain; where SMF has its type, they have zeros and then a
    // small number.
    if front.get(5) != Some(&113) && monitor::looks_like_a_header(front) {
        return false;
    }
    // A header has a packed date, 0cyydddF.
    let has_date = front
        .get(10..14)
        .and_then(|date| date.try_into().ok())
        .map(u32::from_be_bytes)
        .is_some_and(|date| record::Moment::unpack_date(date).is_some());
    let is_followed = match front.get(length..) {
        Some(next) if next.len() >= 4 => described(next).is_some(),
        _ => true,
    };
    has_date && is_followed || front.get(5) == Some(&113)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_characters_make_no_map() {
        let line: Vec<u8> = "I SYS GUEST".bytes().filter_map(ebcdic::code).collect();
        let map = [&line[..], &[NEW_LINE]].concat();
        assert_eq!(kind(&map, &[]), Some(Kind::Map(Encoding::Ebcdic)));
        for at in 0..line.len() {
            let mut spoilt = map.clone();
            spoilt.insert(at, 0);
            assert_eq!(kind(&spoilt, &[]), None, "{at}");
        }
    }
}
