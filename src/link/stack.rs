//! Call stacks: the return addresses that the machine found below its samples.
//!
//! A payload is a heading and some stacks. Each has a heading of its own, which ties it to one sample: the CPU, the
//! number of the sample among those that the machine stored on this CPU, and the address that the sample shows. The
//! return addresses follow, the innermost first. The blocks of samples do not change.
//!
//! Where the sampled routine has no frame yet, or no longer has one, its own return address is in a register, or in a
//! place that the chain does not lead to. So the heading has both. Which of them counts is told by the text of the
//! routine, and the host has it.

use core::fmt;

use super::layout;
use zerocopy::{
    FromBytes, IntoBytes,
    byteorder::big_endian::{U16, U32, U64},
};

/// The most return addresses of a stack.
pub const MOST_FRAMES: usize = 256;

/// The return addresses of a stack if the run does not choose.
pub const DEFAULT_FRAMES: u32 = 64;

layout! {
    /// Heading of a payload; stacks follow.
    StacksHead, 8 {
        /// CPU address.
        cpu: U16,
        /// Zeros.
        reserved: U16,
        /// Number of the payload, counted from 0 per CPU: a gap shows one that was lost on the link.
        sequence: U32,
    }
}

layout! {
    /// Heading of a stack; `count` return addresses of 64 bits follow.
    StackHead, 48 {
        /// Number of the sample, counted from 0 among those that were stored on this CPU.
        sample: U64,
        /// The instruction address of the sample.
        address: U64,
        /// General register 14.
        link: U64,
        /// The doubleword of the frame at general register 15 where a routine called with this frame saves register 14;
        /// zeros if there is none.
        saved_link: U64,
        /// The frame at which the stack ended.
        frame: U64,
        /// The number of return addresses.
        count: U16,
        /// An [`End`].
        end: u8,
        /// Zeros.
        reserved: u8,
        /// If the stack goes on in the program that the control program had interrupted: one more than the number of
        /// return addresses before. Three doublewords follow, which count as return addresses: the program's next
        /// instruction, its general register 14, and what its frame has in the place of a saved link. Otherwise zeros.
        program: U16,
        /// Zeros.
        reserved_end: U16,
    }
}

/// Why a stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum End {
    /// The back chain is zero: the stack is complete.
    Complete = 0,
    /// The stack has more frames than the run asks for.
    Depth = 1,
    /// The frame is not on a doubleword boundary.
    Boundary = 2,
    /// The back chain leads to a frame that is not above the one before.
    Order = 3,
    /// The frame has no storage: the guest's tables do not lead to it, or it is not in the guest's storage.
    Storage = 4,
    /// The CPU is not in the 64-bit addressing mode, for which the frames are defined.
    AddressingMode = 5,
    /// A routine of a program has no rules for unwinding. The host finds this and what follows; no machine sends them.
    Rules = 6,
    /// The copy of the program's stack ends.
    Copy = 7,
    /// The program's stack pointer or return address cannot be one.
    Value = 8,
}

impl End {
    /// Every reason that a machine sends.
    pub const ALL: [Self; 6] = [
        Self::Complete,
        Self::Depth,
        Self::Boundary,
        Self::Order,
        Self::Storage,
        Self::AddressingMode,
    ];

    /// The reason with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&end| end as u8 == number)
    }

    /// The reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Depth => "cut off at the depth of the run",
            Self::Boundary => "a frame that is not on a doubleword boundary",
            Self::Order => "a frame that is not above the one before",
            Self::Storage => "a frame that has no storage",
            Self::AddressingMode => "not in the 64-bit addressing mode",
            Self::Rules => "a routine without rules in .eh_frame",
            Self::Copy => "beyond the copy of the stack",
            Self::Value => "a stack pointer or return address that cannot be one",
        }
    }
}

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack<'b> {
    /// Its heading.
    pub head: &'b StackHead,
    /// Why it ended.
    pub end: End,
    /// Return addresses, the innermost first.
    pub returns: &'b [U64],
}

/// The error in stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackError {
    /// The bytes end in the middle of a heading or of its return addresses.
    Short,
    /// More return addresses than a stack has.
    Count(u16),
    /// No stack ends for a reason of this number.
    End(u8),
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => write!(f, "a call stack is cut off"),
            Self::Count(count) => {
                write!(
                    f,
                    "a call stack of {count} return addresses, where {MOST_FRAMES} are possible"
                )
            }
            Self::End(number) => write!(f, "no call stack ends for reason {number}"),
        }
    }
}

impl core::error::Error for StackError {}

/// Splits the first stack off these bytes, which are not empty.
///
/// # Errors
/// What is wrong with it.
pub fn first(bytes: &[u8]) -> Result<(Stack<'_>, &[u8]), StackError> {
    let (head, rest) = StackHead::ref_from_prefix(bytes).map_err(|_| StackError::Short)?;
    let end = End::from_number(head.end).ok_or(StackError::End(head.end))?;
    let count = usize::from(head.count.get());
    if count > MOST_FRAMES {
        return Err(StackError::Count(head.count.get()));
    }
    let (returns, rest) =
        <[U64]>::ref_from_prefix_with_elems(rest, count).map_err(|_| StackError::Short)?;
    Ok((Stack { head, end, returns }, rest))
}

/// Decodes a payload: its heading, and the bytes of its stacks, each of which is whole.
///
/// # Errors
/// What is wrong with it.
pub fn parse(payload: &[u8]) -> Result<(&StacksHead, &[u8]), StackError> {
    let (head, stacks) = StacksHead::ref_from_prefix(payload).map_err(|_| StackError::Short)?;
    let mut rest = stacks;
    while !rest.is_empty() {
        (_, rest) = first(rest)?;
    }
    Ok((head, stacks))
}

/// The doublewords that collect the stacks of one payload.
pub const ROOM: usize = 1024;

/// Doublewords of a stack's heading.
const HEAD: usize = size_of::<StackHead>() / size_of::<U64>();

const _: () = assert!(HEAD + MOST_FRAMES <= ROOM);
const _: () =
    assert!(size_of::<StacksHead>() + ROOM * size_of::<U64>() <= super::frame::LARGEST_PAYLOAD);

/// Stacks of one CPU that wait to be sent.
#[derive(Debug)]
pub struct Collected {
    cpu: u16,
    sequence: u32,
    depth: usize,
    used: usize,
    room: [U64; ROOM],
}

impl Collected {
    /// No stacks yet; at most `depth` return addresses each.
    #[must_use]
    pub const fn new(cpu: u16, depth: u32) -> Self {
        let depth = depth as usize;
        Self {
            cpu,
            sequence: 0,
            depth: if depth < MOST_FRAMES {
                depth
            } else {
                MOST_FRAMES
            },
            used: 0,
            room: [U64::ZERO; ROOM],
        }
    }

    /// Whether the stacks must be sent before there is room for the next one.
    #[must_use]
    #[inline(always)]
    pub const fn is_full(&self) -> bool {
        self.used > ROOM - HEAD - self.depth
    }

    /// Adds a stack: `follow` puts its return addresses into the room for them, and returns its heading. Returns false,
    /// and does nothing, if there is no room: [`Self::is_full`].
    #[inline(always)]
    pub fn add(&mut self, follow: impl FnOnce(&mut [U64]) -> StackHead) -> bool {
        let end = self.used + HEAD + self.depth;
        let room = self.room.get_mut(self.used..end).unwrap_or_default();
        let Some((head, returns)) = room.split_first_chunk_mut::<HEAD>() else {
            return false;
        };
        let found = follow(returns);
        self.used += HEAD + usize::from(found.count.get());
        *head = zerocopy::transmute!(found);
        true
    }

    /// Hands the stacks over, if there are any, and is empty then.
    pub fn send(&mut self, send: impl FnOnce(&[&[u8]])) {
        let stacks = self.room.get(..self.used).unwrap_or_default();
        if stacks.is_empty() {
            return;
        }
        let head = StacksHead {
            cpu: self.cpu.into(),
            reserved: 0.into(),
            sequence: self.sequence.into(),
        };
        send(&[head.as_bytes(), stacks.as_bytes()]);
        self.sequence += 1;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stack(sample: u64, count: u16, end: End) -> StackHead {
        StackHead {
            sample: sample.into(),
            address: (sample * 2).into(),
            count: count.into(),
            end: end as u8,
            ..StackHead::default()
        }
    }

    fn payload(collected: &mut Collected) -> Vec<u8> {
        let mut payload = Vec::new();
        collected.send(|pieces| payload = pieces.concat());
        payload
    }

    #[test]
    fn stacks_arrive_as_they_were_collected_and_payloads_are_numbered() {
        let mut collected = Collected::new(3, 4);
        assert!(payload(&mut collected).is_empty());
        for sequence in 0..2 {
            let is_added = collected.add(|returns| {
                assert_eq!(returns.len(), 4);
                returns[..2].copy_from_slice(&[7.into(), 8.into()]);
                stack(5, 2, End::Order)
            });
            assert!(is_added && collected.add(|_| stack(6, 0, End::Complete)));
            let payload = payload(&mut collected);
            let (head, bytes) = parse(&payload).unwrap();
            assert_eq!((head.cpu.get(), head.sequence.get()), (3, sequence));
            let (one, rest) = first(bytes).unwrap();
            assert_eq!(
                (one.head.sample.get(), one.end, one.returns),
                (5, End::Order, &[7.into(), 8.into()][..])
            );
            let (other, rest) = first(rest).unwrap();
            assert_eq!((other.head.sample.get(), other.returns.len()), (6, 0));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn there_is_no_room_for_a_stack_that_may_not_fit() {
        // A deeper one is not followed.
        let mut collected = Collected::new(0, 1000);
        for stacks in 0..3 {
            assert!(!collected.is_full());
            assert!(collected.add(|_| stack(stacks, MOST_FRAMES as u16, End::Depth)));
        }
        assert!(collected.is_full());
        assert!(!collected.add(|_| unreachable!()));
        let length = payload(&mut collected).len();
        assert_eq!(length, 8 + 3 * (48 + 8 * MOST_FRAMES));
        assert!(!collected.is_full());
    }

    #[test]
    fn a_stack_that_is_cut_off_or_unknown_is_refused() {
        let bytes = |count: u16, end: u8| {
            let mut head = stack(0, count, End::Complete);
            head.end = end;
            let mut bytes = StacksHead::default().as_bytes().to_vec();
            bytes.extend(head.as_bytes());
            bytes.extend([0; 8]);
            bytes
        };
        assert!(parse(&bytes(1, 0)).is_ok());
        assert_eq!(parse(&bytes(2, 0)), Err(StackError::Short));
        assert_eq!(parse(&bytes(257, 0)), Err(StackError::Count(257)));
        assert_eq!(parse(&bytes(1, 6)), Err(StackError::End(6)));
        assert_eq!(parse(&bytes(1, 0)[..7]), Err(StackError::Short));
        assert_eq!(parse(&bytes(1, 0)[..60]), Err(StackError::Short));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_or_consistent(payload in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok((_, bytes)) = parse(&payload) {
                prop_assert_eq!(bytes.len() + 8, payload.len());
            }
        }
    }
}
