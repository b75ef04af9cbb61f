//! Payloads of the files channel: the output of a HIS collection run, which the host writes to files.
//!
//! The machine sends the run, the file and the bytes to append to it; the host names the file. A record that is
//! longer than a frame comes in pieces, and the host writes them only when it has them all, so no record is ever
//! torn. If the host cannot write, it reports that with the same heading, and the run ends.

use super::frame::LARGEST_PAYLOAD;
use super::layout;
use core::fmt;
use zerocopy::{
    FromBytes,
    byteorder::big_endian::{U16, U64},
};

/// The kind of a payload. The numbers are those of [`FileHead::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A run begins; PATH follows in UTF-8.
    Begin = 1,
    /// .SMP of a CPU: sample-data blocks follow.
    Samples = 2,
    /// .CNT: text follows.
    Counters = 3,
    /// .SMF: a record follows.
    Smf = 4,
    /// .MON: a record follows.
    Monitor = 5,
    /// The run has ended, and the host writes a map of the guest's programs.
    EndWithMap = 6,
    /// The run has ended.
    End = 7,
    /// From the host to the machine: the run's files cannot be written.
    NotWritten = 8,
}

impl Kind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Begin,
            2 => Self::Samples,
            3 => Self::Counters,
            4 => Self::Smf,
            5 => Self::Monitor,
            6 => Self::EndWithMap,
            7 => Self::End,
            8 => Self::NotWritten,
            _ => return None,
        })
    }
}

layout! {
    /// Heading of a payload; the bytes to append follow.
    FileHead, 16 {
        /// A [`Kind`].
        kind: u8,
        /// Whether more of the same record follows in the next payload (1) or not (0).
        more: u8,
        /// Number of the set of files.
        set: U16,
        /// CPU address, for samples.
        cpu: U16,
        /// Zero.
        reserved: U16,
        /// When the run began: TOD clock, bits 0-63. It identifies the run and names its files.
        run: U64,
    }
}

/// The most bytes that one payload carries.
pub const LARGEST_PIECE: usize = LARGEST_PAYLOAD - size_of::<FileHead>();

/// The error in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// It has fewer bytes than a heading.
    Length(usize),
    /// No kind has this number.
    Kind(u8),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "a files payload of {length} bytes has no heading"),
            Self::Kind(kind) => write!(f, "no files payload has kind {kind}"),
        }
    }
}

impl core::error::Error for FileError {}

/// Decodes a payload.
///
/// # Errors
/// The heading is not whole, or the kind is not assigned.
pub fn parse(payload: &[u8]) -> Result<(&FileHead, Kind, &[u8]), FileError> {
    let (head, bytes) =
        FileHead::ref_from_prefix(payload).map_err(|_| FileError::Length(payload.len()))?;
    let kind = Kind::from_number(head.kind).ok_or(FileError::Kind(head.kind))?;
    Ok((head, kind, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    #[test]
    fn a_payload_is_a_heading_and_the_bytes_to_append() {
        let head = FileHead {
            kind: Kind::Smf as u8,
            more: 1,
            run: 0x1234.into(),
            ..FileHead::default()
        };
        let mut payload = head.as_bytes().to_vec();
        assert_eq!(parse(&payload[..15]), Err(FileError::Length(15)));
        payload.extend(b"record");
        assert_eq!(parse(&payload), Ok((&head, Kind::Smf, &b"record"[..])));
        payload[0] = 9;
        assert_eq!(parse(&payload), Err(FileError::Kind(9)));
    }

    #[test]
    fn every_kind_is_found_by_its_number() {
        let known = (0..=u8::MAX).filter_map(|number| Some((number, Kind::from_number(number)?)));
        let known: Vec<_> = known.collect();
        assert_eq!(known.len(), 8);
        assert!(known.iter().all(|(number, kind)| *kind as u8 == *number));
    }
}
