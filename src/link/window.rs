//! Samples of a window: a part of a run that is looked at again.
//!
//! A payload is a heading and some basic-sampling data entries, as SA23-2260 lays them out. They are not in
//! sample-data blocks, because those of the first run must stay as they were.

use super::layout;
use zerocopy::{
    FromBytes,
    byteorder::big_endian::{U16, U32, U64},
};

/// Bytes of a basic-sampling data entry.
pub const ENTRY: usize = 32;

/// The most samples of a payload: as many as a sample-data block has.
pub const MOST_SAMPLES: usize = 126;

layout! {
    /// Heading of a payload; `count` entries of [`ENTRY`] bytes follow.
    WindowHead, 24 {
        /// CPU address.
        cpu: U16,
        /// The number of samples.
        count: U16,
        /// Number of the payload, counted from 0 per CPU: a gap shows one that was lost on the link.
        sequence: U32,
        /// The guest's TOD clock at the last of these samples, bits 0-63.
        tod: U64,
        /// How many samples of this CPU were due so far and were not taken, because the next one was due, too.
        missed: U64,
    }
}

/// Decodes a payload into its heading and its entries. `None` if it is not as long as its heading says.
#[must_use]
pub fn parse(payload: &[u8]) -> Option<(&WindowHead, &[[u8; ENTRY]])> {
    let (head, entries) = WindowHead::ref_from_prefix(payload).ok()?;
    let (entries, rest) = entries.as_chunks();
    let is_right = rest.is_empty()
        && entries.len() == usize::from(head.count.get())
        && entries.len() <= MOST_SAMPLES;
    is_right.then_some((head, entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    #[test]
    fn a_payload_has_exactly_as_many_samples_as_its_heading_says() {
        let head = WindowHead {
            cpu: 1.into(),
            count: 2.into(),
            ..WindowHead::default()
        };
        let mut payload = head.as_bytes().to_vec();
        payload.extend([7; 2 * ENTRY]);
        let (parsed, entries) = parse(&payload).unwrap();
        assert_eq!((*parsed, entries), (head, &[[7; ENTRY]; 2][..]));
        for length in 0..payload.len() {
            assert_eq!(parse(&payload[..length]), None, "{length}");
        }
        payload.extend([7; ENTRY]);
        assert_eq!(parse(&payload), None);
    }
}
