//! The answer areas of QUERY, as bytes (HISYSERV).
//!
//! The published text says that an answer area has a length and that all of them are mapped, and gives
//! no layout. This one is the project's own, big-endian throughout:
//!
//! * [`AnswerHead`], 16 bytes;
//! * what the kind of the answer has once: [`EventBody`], [`SampleBody`], nothing for the others;
//! * entries: [`EventEntry`], none, [`ProfilerEntry`], or [`CpuEntry`] with its counters.
//!
//! # The length of the area
//!
//! An area that has no room for the head and for what the answer has once is left as it was, and the
//! request is refused. Otherwise as many whole entries are stored as fit, in order, and the head says how
//! many bytes the whole answer needs; if that is more than the area has, the request ends with a warning.
//! What follows the stored bytes is left as it was.

use super::reason::Reason;
use link::layout;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes};

/// The kind of an answer; the numbers are those of [`AnswerHead::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// TYPE=EVENT.
    Event = 1,
    /// TYPE=SAMPLE.
    Sample = 2,
    /// TYPE=PROFILERS.
    Profilers = 3,
    /// TYPE=EVENTDATA.
    EventData = 4,
}

/// The version of the layout.
pub const VERSION: u8 = 1;

layout! {
    /// What every answer begins with: 16 bytes.
    AnswerHead, 16 {
        /// A [`Kind`].
        kind: u8,
        /// [`VERSION`].
        version: u8,
        /// Where the entries begin, in bytes from here.
        first: U16,
        /// How many bytes the whole answer needs.
        needed: U32,
        /// How many bytes are stored.
        stored: U32,
        /// How many entries are stored.
        entries: U16,
        /// Zero.
        reserved: U16,
    }
}

layout! {
    /// TYPE=EVENT, once: 16 bytes.
    EventBody, 16 {
        /// The event types that the machine is authorized to use now.
        authorized: U32,
        /// Those that the service can use: SERVICE,REFRESH makes them the same.
        usable: U32,
        /// Those that are counted, for whichever profiler.
        enabled: U32,
        /// Counter first version number.
        cfvn: U16,
        /// Counter second version number.
        csvn: U16,
    }
}

layout! {
    /// TYPE=EVENT, for each event type that is installed: 8 bytes.
    EventEntry, 8 {
        /// The event type.
        event: U32,
        /// Number of its first counter.
        first: U16,
        /// How many counters it has.
        count: U16,
    }
}

layout! {
    /// TYPE=SAMPLE, once: 56 bytes.
    SampleBody, 56 {
        /// The sample types that the machine is authorized to use now.
        authorized: U32,
        /// Those that are collected now: some profiler wants samples.
        enabled: U32,
        /// SAMPTYPE: those that are collected when some profiler wants samples.
        types: U32,
        /// SAMPFREQ, samples a minute.
        frequency: U32,
        /// BUFCNT, blocks of 4 KiB for each CPU.
        buffers: U32,
        /// Cycles in a microsecond.
        cpu_speed: U32,
        /// The sampling interval in cycles; zero while no samples are collected.
        interval: U64,
        /// The minimum sampling interval, in cycles.
        minimum: U64,
        /// The maximum sampling interval, in cycles.
        maximum: U64,
        /// Size of the basic-sampling data entry.
        bsdes: U16,
        /// Size of the diagnostic-sampling data entry.
        dsdes: U16,
        /// Zero.
        reserved: U32,
    }
}

layout! {
    /// TYPE=PROFILERS, for each profiler: 64 bytes.
    ProfilerEntry, 64 {
        /// Its name in ASCII, padded with blanks.
        name: [u8; 8],
        /// The event types that it asked for.
        events: U32,
        /// Bit 0: it asked for samples.
        flags: U32,
        /// When it started: TOD clock.
        started: U64,
        /// Its EVENTDATA queries.
        queries: U64,
        /// The average time between them, in microseconds.
        between_queries: U64,
        /// The blocks that it has handled.
        blocks: U64,
        /// The average time that it took for one, in microseconds.
        per_block: U64,
        /// Samples that passed it by.
        missed: U64,
    }
}

layout! {
    /// TYPE=EVENTDATA, for each CPU, with `sets` times a [`SetHead`] and its counters behind it: 24 bytes.
    CpuEntry, 24 {
        /// CPU address.
        cpu: U16,
        /// How many counter sets follow.
        sets: U16,
        /// Cycles in a microsecond.
        cpu_speed: U32,
        /// When the counters were as they are here: TOD clock.
        tod: U64,
        /// Bytes of this entry with all its counters.
        length: U32,
        /// Zero.
        reserved: U32,
    }
}

layout! {
    /// TYPE=EVENTDATA, for each counter set, with its counters of 64 bits behind it: 8 bytes.
    SetHead, 8 {
        /// The event type.
        event: U32,
        /// Number of the first counter.
        first: U16,
        /// How many counters follow.
        count: U16,
    }
}

/// How an answer was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Bytes that were stored.
    pub stored: usize,
    /// Bytes that the whole answer needs.
    pub needed: usize,
    /// [`Reason::AnswerCut`] if that is more.
    pub warning: Option<Reason>,
}

/// An answer area as it is filled.
pub(super) struct Area<'a> {
    bytes: &'a mut [u8],
    first: usize,
    stored: usize,
    needed: usize,
    entries: u16,
}

impl<'a> Area<'a> {
    /// An area with room for the head and for what the answer has once.
    pub fn new<B: IntoBytes + Immutable>(bytes: &'a mut [u8], body: &B) -> Result<Self, Reason> {
        let first = size_of::<AnswerHead>() + size_of::<B>();
        let room = bytes.get_mut(size_of::<AnswerHead>()..first);
        room.ok_or(Reason::AnswerArea)?
            .copy_from_slice(body.as_bytes());
        Ok(Self {
            bytes,
            first,
            stored: first,
            needed: first,
            entries: 0,
        })
    }

    /// The place of the next entry, which is this long, if it is there; the answer needs it anyway.
    pub fn next(&mut self, length: usize) -> Option<&mut [u8]> {
        let follows = self.stored == self.needed;
        let from = self.stored;
        self.needed += length;
        if !follows {
            return None;
        }
        let place = self.bytes.get_mut(from..self.needed)?;
        self.stored = self.needed;
        self.entries += 1;
        Some(place)
    }

    /// Stores an entry if it is its turn and fits.
    pub fn push<T: IntoBytes + Immutable>(&mut self, entry: &T) {
        if let Some(place) = self.next(size_of::<T>()) {
            place.copy_from_slice(entry.as_bytes());
        }
    }

    /// Stores the head.
    pub fn finish(self, kind: Kind) -> Answered {
        let number = |value: usize| U32::new(u32::try_from(value).unwrap_or(u32::MAX));
        let head = AnswerHead {
            kind: kind as u8,
            version: VERSION,
            first: U16::new(self.first as u16),
            needed: number(self.needed),
            stored: number(self.stored),
            entries: U16::new(self.entries),
            reserved: U16::ZERO,
        };
        // There is room for it: see the beginning.
        let _ = head.write_to_prefix(self.bytes);
        let cut = self.needed > self.stored;
        Answered {
            stored: self.stored,
            needed: self.needed,
            warning: cut.then_some(Reason::AnswerCut),
        }
    }
}
