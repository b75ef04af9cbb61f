//! Recognises files that have their numbers with the lowest byte first.
//!
//! These formats have no mark for the byte order, and a length with its bytes exchanged is usually a possible length,
//! too. So this module follows the lengths: a file is little-endian only if they lead from header to header when read
//! as little-endian, and do not when read as big-endian.

use {
    cpumf::sampling::block::{BASIC_FORMAT, Trailer},
    record::{
        monitor,
        smf::TYPE,
        smp::{LARGE_BLOCK, SMALL_BLOCK},
    },
};

use super::{LONGEST_BLOCK, described, in_blocks, samples};
use crate::formats::smf::{SHORTEST, segment, shortest};

/// The first field that shows that the file is little-endian, if it is.
pub(super) fn looks_little(front: &[u8], trailer: &[u8]) -> Option<&'static str> {
    let has_segments = is_spanned(front) || in_blocks(front);
    if samples(front, trailer).is_none() && !has_segments && are_samples(front, trailer) {
        return Some("data-entry-format code");
    }
    if follows(front, big_smf) || follows(front, big_monitor) {
        return None;
    }
    if follows(front, little_smf) {
        return Some("RDW");
    }
    if is_little_block(front) {
        return Some("BDW");
    }
    follows(front, little_monitor).then_some("MRHDRLEN")
}

/// Sample-data blocks, field by field or in words that were exchanged as a whole.
fn are_samples(front: &[u8], trailer: &[u8]) -> bool {
    let at = SMALL_BLOCK - size_of::<Trailer>();
    let small = front.get(at..SMALL_BLOCK).unwrap_or_default();
    let is_entry = front.first_chunk().copied().map(u16::from_le_bytes) == Some(BASIC_FORMAT);
    let is_size = |trailer: &[u8]| {
        let size = trailer.get(4..6).and_then(|size| size.try_into().ok());
        size.map(u16::from_le_bytes) == Some(32)
    };
    let exchanged = |bytes: &[u8], width: usize| -> Vec<u8> {
        let words = bytes.chunks_exact(width);
        words.flat_map(|word| word.iter().rev().copied()).collect()
    };
    is_entry && (is_size(small) || is_size(trailer))
        || [4, 8].into_iter().any(|width| {
            let front = front.get(..SMALL_BLOCK).unwrap_or(front);
            let size = samples(&exchanged(front, width), &exchanged(trailer, width));
            // A block of zeros is the same in either order.
            let is_used = front.iter().take(32).any(|byte| *byte != 0);
            is_used && matches!(size, Some(SMALL_BLOCK | LARGE_BLOCK))
        })
}

/// Whether records lead from one to the next, up to the end of the file or of `front`.
fn follows(front: &[u8], length: fn(&[u8]) -> Option<usize>) -> bool {
    let (mut at, mut records) = (0, 0);
    while let Some(rest) = front.get(at..) {
        if rest.is_empty() || front.len() == LONGEST_BLOCK && rest.len() < 32 {
            return records > 0;
        }
        match length(rest) {
            Some(length) if length >= SHORTEST => at += length,
            _ => return false,
        }
        records += 1;
    }
    // The last record may go on behind `front`.
    front.len() == LONGEST_BLOCK && records > 1
}

/// Whether segments of a spanned record come first, in their order.
fn is_spanned(front: &[u8]) -> bool {
    let mut at = 0;
    while let Some(rest) = front.get(at..).filter(|rest| rest.len() >= 4) {
        let code = rest[2];
        let is_next = match at {
            0 => code == segment::FIRST,
            _ => matches!(code, segment::MIDDLE | segment::LAST),
        };
        match described(rest) {
            Some(length) if is_next && length >= shortest(code) => at += length,
            _ => return false,
        }
        if code == segment::LAST {
            return true;
        }
    }
    false
}

fn big_smf(bytes: &[u8]) -> Option<usize> {
    described(bytes)
}

fn little_smf(bytes: &[u8]) -> Option<usize> {
    let [low, high, 0, 0, _, TYPE] = *bytes.first_chunk()? else {
        return None;
    };
    Some(usize::from(u16::from_le_bytes([low, high])))
}

/// A block-descriptor word in front of records that fill its block.
fn is_little_block(front: &[u8]) -> bool {
    let Some([low, high, 0, 0]) = front.first_chunk().copied() else {
        return false;
    };
    let length = usize::from(u16::from_le_bytes([low, high]));
    let records = front.get(4..length.min(front.len()));
    records.is_some_and(|records| follows(records, little_smf))
}

fn big_monitor(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk().copied().map(u16::from_be_bytes)?;
    monitor::looks_like_a_header(bytes).then_some(length.into())
}

fn little_monitor(bytes: &[u8]) -> Option<usize> {
    let mut header: [u8; 20] = *bytes.first_chunk()?;
    header[..2].reverse();
    header[6..8].reverse();
    big_monitor(&header)
}
