//! The answer areas of QUERY, as bytes (HISYSERV).
//!
//! The published text says that an answer area has a length and that mappings exist for all of them, but
//! gives no layout. This one is the project's own, big-endian throughout:
//!
//! * [`AnswerHead`], 16 bytes;
//! * a body: [`EventBody`] or [`SampleBody`]; the other kinds have none;
//! * entries: [`EventEntry`], none, [`ProfilerEntry`], or [`CpuEntry`] with its counters.
//!
//! # The length of the area
//!
//! If head and body do not fit, the request is refused and the area does not change. Otherwise the service
//! stores as many whole entries as fit, in order, and the head gives the length of the whole answer; if the
//! area is shorter, the request ends with a warning. The bytes after the stored ones do not change.

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
    /// The head of every answer: 16 bytes.
    AnswerHead, 16 {
        /// A [`Kind`].
        kind: u8,
        /// [`VERSION`].
        version: u8,
        /// The offset of the first entry from the beginning of the head.
        first: U16,
        /// The length of the whole answer in bytes.
        needed: U32,
        /// The number of bytes that are stored.
        stored: U32,
        /// The number of entries that are stored.
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
        /// The event types that the service can use; SERVICE,REFRESH makes them the same.
        usable: U32,
        /// The event types that are counted, for any profiler.
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
        /// The number of its counters.
        count: U16,
    }
}

layout! {
    /// TYPE=SAMPLE, once: 56 bytes.
    SampleBody, 56 {
        /// The sample types that the machine is authorized to use now.
        authorized: U32,
        /// The sample types that are collected now; none unless some profiler wants samples.
        enabled: U32,
        /// SAMPTYPE: the sample types to collect when some profiler wants samples.
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
        /// The event types that it requested.
        events: U32,
        /// Bit 0: it requested samples.
        flags: U32,
        /// When it started: TOD clock.
        started: U64,
        /// The number of its EVENTDATA queries.
        queries: U64,
        /// The average time between them, in microseconds.
        between_queries: U64,
        /// The number of blocks that it has handled.
        blocks: U64,
        /// The average time that it took for a block, in microseconds.
        per_block: U64,
        /// The number of samples that it missed.
        missed: U64,
    }
}

layout! {
    /// TYPE=EVENTDATA, for each CPU: 24 bytes. `sets` times a [`SetHead`] with its counters follow.
    CpuEntry, 24 {
        /// CPU address.
        cpu: U16,
        /// The number of counter sets that follow.
        sets: U16,
        /// Cycles in a microsecond.
        cpu_speed: U32,
        /// When the counters had these values: TOD clock.
        tod: U64,
        /// The length of this entry with all its counters, in bytes.
        length: U32,
        /// Zero.
        reserved: U32,
    }
}

layout! {
    /// TYPE=EVENTDATA, for each counter set: 8 bytes. Its counters of 64 bits follow.
    SetHead, 8 {
        /// The event type.
        event: U32,
        /// Number of the first counter.
        first: U16,
        /// The number of counters that follow.
        count: U16,
    }
}

/// The result of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The number of bytes that were stored.
    pub stored: usize,
    /// The length of the whole answer in bytes.
    pub needed: usize,
    /// [`Reason::AnswerCut`] if the whole answer is longer than what was stored.
    pub warning: Option<Reason>,
}

/// An answer area that is being filled.
pub(super) struct Area<'a> {
    bytes: &'a mut [u8],
    first: usize,
    stored: usize,
    needed: usize,
    entries: u16,
}

impl<'a> Area<'a> {
    /// An area in which head and body fit.
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

    /// The bytes for the next entry of this length, if they fit. The length of the whole answer includes
    /// them in any case.
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

    /// Stores the next entry if it fits and all before it did.
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
        // It fits: `new` has tested that.
        let _ = head.write_to_prefix(self.bytes);
        let cut = self.needed > self.stored;
        Answered {
            stored: self.stored,
            needed: self.needed,
            warning: cut.then_some(Reason::AnswerCut),
        }
    }
}
