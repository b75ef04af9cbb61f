//! Frames: the unit that crosses the console.
//!
//! A frame is `COBS(channel | payload | check)` followed by one zero byte. Consistent overhead
//! byte stuffing removes every zero from the body, so a zero can only be an end, and a receiver
//! that has lost its place finds it again at the next one.
//!
//! The check is the CRC-32 of the channel and the payload in five bytes of seven bits each, leftmost first, with a one
//! on the right of each. No byte of it is zero, because a zero is work for the sender: text of the same length, such as
//! two random numbers, must take the machine the same number of instructions.
//!
//! A sender opens the link with a single zero byte. Bytes before the first zero are text of a program
//! that ran earlier (a boot loader, or a panic before the link was open): the receiver returns them as
//! text and never takes them for a frame.
//!
//! Encoding writes into a buffer of the caller and takes the payload in pieces, so a sample-data block
//! is never copied only to follow its heading.

use core::fmt;

use super::CHECK;

/// The largest frame: channel, payload and check, before byte stuffing.
pub const LARGEST_FRAME: usize = 16_384;

/// The bytes of a frame other than its payload: the channel and the check.
const AROUND_PAYLOAD: usize = 1 + CHECK_BYTES;

/// The bytes of the check.
const CHECK_BYTES: usize = 5;

/// The largest payload that one frame carries.
pub const LARGEST_PAYLOAD: usize = LARGEST_FRAME - AROUND_PAYLOAD;

/// A buffer of this size holds any encoded frame, including the closing zero.
pub const LARGEST_ENCODED: usize = encoded_bound(LARGEST_PAYLOAD);

/// The zero byte that ends a frame, and that opens the link.
pub const DELIMITER: u8 = 0;

/// The greatest length of a group of byte stuffing, including its code byte.
const LONGEST_GROUP: usize = 0xFF;

/// The subject of a frame. The numbers are the first byte of every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Channel {
    /// The state of the run: [`super::state`]. Machine to host only.
    RunState = 0,
    /// Bytes of the guest's console, in both directions.
    Console = 1,
    /// The log, in defmt's own encoding. Machine to host only.
    Log = 2,
    /// Operator text: a command line to the machine, the answer to the host.
    Operator = 3,
    /// Sample-data blocks: [`super::data::SampleHead`]. Machine to host only.
    SampleData = 4,
    /// Counter sets: [`super::data::CounterHead`]. Machine to host only.
    Counters = 5,
    /// The output of a collection run: [`super::files::FileHead`]; from the host: it cannot be written.
    Files = 6,
    /// Profilers on the host: [`super::service::Request`] to the machine, [`super::service::ServiceHead`] to the host.
    Service = 7,
    /// Program events that the operator traces: [`super::trace::TraceHead`]. Machine to host only.
    Trace = 8,
    /// Call stacks of the machine's own samples: [`super::stack::StacksHead`]. Machine to host only.
    Stacks = 9,
    /// Samples of a window, in which a run is looked at again: [`super::window::WindowHead`]. Machine to host only.
    Window = 10,
    /// Copies of the stacks of programs at these samples: [`super::copies::CopiesHead`]. Machine to host only.
    StackCopies = 11,
    /// Exact counts of instructions: [`super::counts::CountsHead`]. Machine to host only.
    Counts = 12,
}

impl Channel {
    /// The channel with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::RunState,
            1 => Self::Console,
            2 => Self::Log,
            3 => Self::Operator,
            4 => Self::SampleData,
            5 => Self::Counters,
            6 => Self::Files,
            7 => Self::Service,
            8 => Self::Trace,
            9 => Self::Stacks,
            10 => Self::Window,
            11 => Self::StackCopies,
            12 => Self::Counts,
            _ => return None,
        })
    }
}

/// Why a payload cannot be encoded. The sender is at fault in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The payload has this many bytes, more than [`LARGEST_PAYLOAD`].
    PayloadTooLarge(usize),
    /// The caller's buffer is smaller than [`encoded_bound`] of the payload, this number of bytes.
    BufferTooSmall(usize),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PayloadTooLarge(length) => {
                write!(
                    f,
                    "a payload of {length} bytes does not fit a frame ({LARGEST_PAYLOAD})"
                )
            }
            Self::BufferTooSmall(needed) => {
                write!(f, "encoding this payload needs a buffer of {needed} bytes")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// An upper bound of the encoded size of a payload, including the closing zero.
pub const fn encoded_bound(payload: usize) -> usize {
    let body = payload + AROUND_PAYLOAD;
    // One code byte at the start, one for every full group, and the closing zero.
    body + body / (LONGEST_GROUP - 1) + 2
}

/// Encodes one frame into `out` and returns its length, including the closing zero.
///
/// The payload is the concatenation of `pieces`. The buffer must have [`encoded_bound`] bytes even if
/// this payload needs fewer: whether a frame fits must not depend on the number of zeros in it.
pub fn encode(channel: Channel, pieces: &[&[u8]], out: &mut [u8]) -> Result<usize, EncodeError> {
    let payload = pieces.iter().map(|piece| piece.len()).sum();
    if payload > LARGEST_PAYLOAD {
        return Err(EncodeError::PayloadTooLarge(payload));
    }
    if out.len() < encoded_bound(payload) {
        return Err(EncodeError::BufferTooSmall(encoded_bound(payload)));
    }
    let mut check = CHECK.digest();
    let mut stuffing = Stuffing::new(out);
    for piece in core::iter::once(&[channel as u8][..]).chain(pieces.iter().copied()) {
        check.update(piece);
        stuffing.push(piece);
    }
    stuffing.push(&check_bytes(check.finalize()));
    Ok(stuffing.finish())
}

/// A CRC-32 as a frame has it.
fn check_bytes(crc: u32) -> [u8; CHECK_BYTES] {
    [28, 21, 14, 7, 0].map(|place| ((crc >> place) as u8) << 1 | 1)
}

/// Byte stuffing in progress: the open group's code byte waits at `code` for the group's length.
struct Stuffing<'a> {
    out: &'a mut [u8],
    code: usize,
    end: usize,
    after_full_group: bool,
}

impl<'a> Stuffing<'a> {
    fn new(out: &'a mut [u8]) -> Self {
        Self {
            out,
            code: 0,
            end: 1,
            after_full_group: false,
        }
    }

    /// Appends bytes. This is the link's cost per byte, so it works on words: a sample-data block has
    /// mostly zeros, in runs.
    fn push(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            if self.end + word.len() - self.code < LONGEST_GROUP {
                self.push_word(u64::from_be_bytes(*word));
            } else {
                self.push_bytes(word);
            }
        }
        self.push_bytes(rest);
    }

    /// Appends eight bytes that do not fill the open group.
    ///
    /// A zero followed by another zero becomes a group of its own, of length 1: such zeros are written
    /// with the word. One step remains for each run of zeros: its first zero closes the open group, its
    /// last opens the next.
    fn push_word(&mut self, word: u64) {
        const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
        self.after_full_group = false;
        // Bit 0 of each byte that is zero; the sum cannot carry from one byte to the next.
        let mut zeros = !((word & LOW).wrapping_add(LOW) | word | LOW);
        let stuffed = word | zeros >> 7;
        let room = self.out.get_mut(self.end..);
        if let Some(place) = room.and_then(|room| room.first_chunk_mut()) {
            *place = stuffed.to_be_bytes();
        }
        let begin = self.end;
        self.end += 8;
        while zeros != 0 {
            let first = zeros.leading_zeros() & 0x38;
            let place = begin + first as usize / 8;
            // The group ends within this word, so its length fits its code byte.
            self.set(self.code, (place - self.code) as u8);
            let rest = word << first;
            if rest == 0 {
                self.code = self.end - 1;
                return;
            }
            let behind = first + (rest.leading_zeros() & 0x38);
            self.code = begin + behind as usize / 8 - 1;
            // The run ends within the word: fewer than 64 bits are behind it.
            zeros &= u64::MAX >> (behind & 0x3F);
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.after_full_group = false;
            if byte != DELIMITER {
                self.set(self.end, byte);
                self.end += 1;
                if self.end - self.code < LONGEST_GROUP {
                    continue;
                }
                self.after_full_group = true;
            }
            self.close_group();
            self.code = self.end;
            self.end += 1;
        }
    }

    /// Sets a byte. The buffer has room for the whole frame: [`encode`] has tested it.
    #[inline(always)]
    fn set(&mut self, place: usize, byte: u8) {
        if let Some(place) = self.out.get_mut(place) {
            *place = byte;
        }
    }

    fn close_group(&mut self) {
        // A group is at most LONGEST_GROUP = 255 long, so the length fits its code byte.
        self.set(self.code, (self.end - self.code) as u8);
    }

    fn finish(mut self) -> usize {
        if self.after_full_group {
            // A full group does not stand for a zero, so the empty group opened after it is not needed.
            self.end = self.code;
        } else {
            self.close_group();
        }
        self.set(self.end, DELIMITER);
        self.end + 1
    }
}

/// A frame that has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The subject of the frame.
    pub channel: Channel,
    /// The bytes between channel and check.
    pub payload: &'a [u8],
}

/// The result of one received byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// The byte is part of something that has not ended.
    Nothing,
    /// The link is not open yet: the byte is text.
    Text(u8),
    /// The byte ended a valid frame.
    Frame(Frame<'a>),
    /// The byte ended an invalid frame, which has been counted and dropped.
    Bad,
}

/// The receiver: takes bytes as they arrive and returns text and frames.
///
/// `N` is the storage for one encoded frame. A receiver that expects only short frames (the machine,
/// which receives operator commands and console input) needs less than [`LARGEST_ENCODED`]. A frame
/// that is longer than the buffer is invalid.
#[derive(Debug)]
pub struct Decoder<const N: usize = LARGEST_ENCODED> {
    buffer: [u8; N],
    filled: usize,
    open: bool,
    overrun: bool,
    bad: u64,
}

impl<const N: usize> Default for Decoder<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Decoder<N> {
    /// A receiver before the first byte.
    pub const fn new() -> Self {
        Self {
            buffer: [0; N],
            filled: 0,
            open: false,
            overrun: false,
            bad: 0,
        }
    }

    /// The number of invalid frames so far.
    pub fn bad_frames(&self) -> u64 {
        self.bad
    }

    /// Whether the opening zero has been received.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Keeps bytes of a frame.
    fn keep(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        match self.buffer.get_mut(self.filled..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.filled = end;
            }
            None => self.overrun = true,
        }
    }

    /// Takes one byte.
    pub fn push(&mut self, byte: u8) -> Received<'_> {
        if byte != DELIMITER {
            if !self.open {
                return Received::Text(byte);
            }
            self.keep(&[byte]);
            return Received::Nothing;
        }
        self.open = true;
        let filled = core::mem::take(&mut self.filled);
        let overrun = core::mem::take(&mut self.overrun);
        if filled == 0 {
            return Received::Nothing;
        }
        let encoded = self.buffer.get_mut(..filled).filter(|_| !overrun);
        let frame = encoded.and_then(check);
        match frame {
            Some(frame) => Received::Frame(frame),
            None => {
                self.bad += 1;
                Received::Bad
            }
        }
    }
}

impl Decoder {
    /// Takes bytes as [`push`](Self::push) does until one of them gives something, and removes those from the front of `bytes`.
    /// `bytes` is empty if none of them does.
    ///
    /// It is compiled with this crate, and so it is fast in a host command that is not compiled for speed.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Received<'_> {
        let whole = *bytes;
        let end = match self.open {
            true => whole.iter().position(|&byte| byte == DELIMITER),
            false => Some(0),
        };
        let (now, later) = whole.split_at(end.unwrap_or(whole.len()));
        self.keep(now);
        *bytes = later.get(1..).unwrap_or_default();
        match later.first() {
            Some(&byte) => self.push(byte),
            None => Received::Nothing,
        }
    }
}

/// Unstuffs in place, and returns the frame if its check and its channel are valid.
fn check(encoded: &mut [u8]) -> Option<Frame<'_>> {
    let length = cobs::decode_in_place(encoded).ok()?;
    let (body, check) = encoded.get(..length)?.split_last_chunk()?;
    let (&channel, payload) = body.split_first()?;
    if payload.len() > LARGEST_PAYLOAD || check_bytes(CHECK.checksum(body)) != *check {
        return None;
    }
    Some(Frame {
        channel: Channel::from_number(channel)?,
        payload,
    })
}

#[cfg(test)]
mod tests;
