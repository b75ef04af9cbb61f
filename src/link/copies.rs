//! Copies of the stacks of programs, from which the host unwinds programs without a back chain.
//!
//! A payload is a heading and some copies. Each copy has a heading that ties it to one sample, as that of a call stack
//! does, with the program's general registers at the sample. The bytes from general register 15 on follow: as many as
//! the run asks for, or fewer where the program's storage ends.

use core::fmt;

use super::layout;
use zerocopy::{
    FromBytes, IntoBytes,
    byteorder::big_endian::{U16, U32, U64},
};

/// The most bytes of one copy.
pub const LONGEST_COPY: u32 = 8192;

/// The bytes of a copy if the run does not choose.
pub const DEFAULT_COPY: u32 = 4096;

layout! {
    /// Heading of a payload; copies follow.
    CopiesHead, 8 {
        /// CPU address.
        cpu: U16,
        /// Zeros.
        reserved: U16,
        /// Number of the payload, counted from 0 per CPU.
        sequence: U32,
    }
}

layout! {
    /// Heading of a copy; `length` bytes follow.
    CopyHead, 280 {
        /// Number of the sample, counted from 0 among those that were stored on this CPU.
        sample: U64,
        /// The next instruction of the program: of the sample itself, or where its control program interrupted it.
        address: U64,
        /// The program's general registers.
        general: [U64; 16],
        /// The program's floating-point registers, if they are known: routines that call nobody save others in them.
        floating_point: [U64; 16],
        /// Bytes of the copy: a multiple of 8.
        length: U32,
        /// 1 if the floating-point registers are known; otherwise zeros.
        has_floating_point: U32,
    }
}

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackCopy<'b> {
    /// Its heading.
    pub head: &'b CopyHead,
    /// The bytes from general register 15 on.
    pub bytes: &'b [u8],
}

/// The error in copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyError {
    /// The bytes end in the middle of a copy.
    Short,
    /// A copy cannot have so many bytes.
    Length(u32),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => write!(f, "a copy of a stack is cut off"),
            Self::Length(length) => write!(
                f,
                "a copy of {length} bytes of a stack, where a multiple of 8 up to {LONGEST_COPY} is possible"
            ),
        }
    }
}

impl core::error::Error for CopyError {}

/// Splits the first copy off these bytes, which are not empty.
///
/// # Errors
/// What is wrong with it.
pub fn first(bytes: &[u8]) -> Result<(StackCopy<'_>, &[u8]), CopyError> {
    let (head, rest) = CopyHead::ref_from_prefix(bytes).map_err(|_| CopyError::Short)?;
    let length = head.length.get();
    if length > LONGEST_COPY || !length.is_multiple_of(8) {
        return Err(CopyError::Length(length));
    }
    let (bytes, rest) = rest
        .split_at_checked(length as usize)
        .ok_or(CopyError::Short)?;
    Ok((StackCopy { head, bytes }, rest))
}

/// Decodes a payload: its heading, and the bytes of its copies, each of which is whole.
///
/// # Errors
/// What is wrong with it.
pub fn parse(payload: &[u8]) -> Result<(&CopiesHead, &[u8]), CopyError> {
    let (head, copies) = CopiesHead::ref_from_prefix(payload).map_err(|_| CopyError::Short)?;
    let mut rest = copies;
    while !rest.is_empty() {
        (_, rest) = first(rest)?;
    }
    Ok((head, copies))
}

/// The bytes that collect the copies of one payload.
pub const ROOM: usize = 12 * 1024;

/// Bytes of a copy's heading.
const HEAD: usize = size_of::<CopyHead>();

const _: () = assert!(HEAD + LONGEST_COPY as usize <= ROOM);
const _: () = assert!(size_of::<CopiesHead>() + ROOM <= super::frame::LARGEST_PAYLOAD);

/// Copies of one CPU that wait to be sent.
#[derive(Debug)]
pub struct Copies {
    cpu: u16,
    sequence: u32,
    longest: usize,
    used: usize,
    room: [u8; ROOM],
}

impl Copies {
    /// No copies yet; at most `longest` bytes each.
    #[must_use]
    pub const fn new(cpu: u16, longest: u32) -> Self {
        let longest = if longest < LONGEST_COPY {
            longest
        } else {
            LONGEST_COPY
        };
        Self {
            cpu,
            sequence: 0,
            longest: longest as usize & !7,
            used: 0,
            room: [0; ROOM],
        }
    }

    /// Whether the copies must be sent before there is room for the next one.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.used > ROOM - HEAD - self.longest
    }

    /// Adds a copy: `copy` puts its bytes into the room for them, and returns its heading, or `None` if there is nothing
    /// to copy. Returns false, and does nothing, if there is no room: [`Self::is_full`].
    pub fn add(&mut self, copy: impl FnOnce(&mut [u8]) -> Option<CopyHead>) -> bool {
        let end = self.used + HEAD + self.longest;
        let room = self.room.get_mut(self.used..end).unwrap_or_default();
        let Some((head, bytes)) = room.split_first_chunk_mut::<HEAD>() else {
            return false;
        };
        let Some(found) = copy(bytes) else {
            return true;
        };
        let length = (found.length.get() as usize).min(self.longest);
        self.used += HEAD + length;
        *head = zerocopy::transmute!(found);
        true
    }

    /// Hands the copies over, if there are any, and is empty then.
    pub fn send(&mut self, send: impl FnOnce(&[&[u8]])) {
        let copies = self.room.get(..self.used).unwrap_or_default();
        if copies.is_empty() {
            return;
        }
        let head = CopiesHead {
            cpu: self.cpu.into(),
            reserved: 0.into(),
            sequence: self.sequence.into(),
        };
        send(&[head.as_bytes(), copies]);
        self.sequence += 1;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn copy(sample: u64, length: u32) -> CopyHead {
        CopyHead {
            sample: sample.into(),
            address: (sample * 2).into(),
            length: length.into(),
            ..CopyHead::default()
        }
    }

    fn payload(copies: &mut Copies) -> Vec<u8> {
        let mut payload = Vec::new();
        copies.send(|pieces| payload = pieces.concat());
        payload
    }

    #[test]
    fn copies_arrive_as_they_were_taken_and_payloads_are_numbered() {
        let mut copies = Copies::new(3, 32);
        assert!(payload(&mut copies).is_empty());
        for sequence in 0..2 {
            let is_added = copies.add(|bytes| {
                assert_eq!(bytes.len(), 32);
                bytes[..8].copy_from_slice(b"the copy");
                Some(copy(5, 8))
            });
            assert!(is_added && copies.add(|_| None) && copies.add(|_| Some(copy(6, 0))));
            let payload = payload(&mut copies);
            let (head, bytes) = parse(&payload).unwrap();
            assert_eq!((head.cpu.get(), head.sequence.get()), (3, sequence));
            let (one, rest) = first(bytes).unwrap();
            assert_eq!((one.head.sample.get(), one.bytes), (5, &b"the copy"[..]));
            let (other, rest) = first(rest).unwrap();
            assert_eq!((other.head.sample.get(), other.bytes.len()), (6, 0));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn there_is_no_room_for_a_copy_that_may_not_fit() {
        let mut copies = Copies::new(0, u32::MAX);
        assert!(!copies.is_full());
        assert!(copies.add(|_| Some(copy(0, LONGEST_COPY))));
        assert!(copies.is_full());
        assert!(!copies.add(|_| unreachable!()));
        assert_eq!(payload(&mut copies).len(), 8 + HEAD + LONGEST_COPY as usize);
        assert!(!copies.is_full());
    }

    #[test]
    fn a_copy_that_is_cut_off_or_too_long_is_refused() {
        let bytes = |length: u32| {
            let mut bytes = CopiesHead::default().as_bytes().to_vec();
            bytes.extend(copy(0, length).as_bytes());
            bytes.extend([0; 8]);
            bytes
        };
        assert!(parse(&bytes(8)).is_ok());
        assert_eq!(parse(&bytes(16)), Err(CopyError::Short));
        assert_eq!(parse(&bytes(4)), Err(CopyError::Length(4)));
        assert_eq!(parse(&bytes(8200)), Err(CopyError::Length(8200)));
        assert_eq!(parse(&bytes(8)[..7]), Err(CopyError::Short));
        assert_eq!(parse(&bytes(8)[..100]), Err(CopyError::Short));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_or_consistent(payload in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Ok((_, bytes)) = parse(&payload) {
                prop_assert_eq!(bytes.len() + 8, payload.len());
            }
        }
    }
}
