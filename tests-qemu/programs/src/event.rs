//! Events that the kernel counts for a process, and records that it keeps about all of them.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::call::{self, Refused};

/// What is counted, as the kernel's `perf_event_open` takes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Attributes {
    kind: u32,
    length: u32,
    event: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    rest: [u64; 4],
}

/// A general event that hardware counts: completed instructions.
const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;

/// The kernel's flags, bit 0 leftmost.
const DISABLED: u64 = 1 << 63;
const INHERIT: u64 = 1 << 62;
const EXCLUDE_KERNEL: u64 = 1 << 58;
const ENABLE_ON_EXEC: u64 = 1 << 51;
const MMAP: u64 = 1 << (63 - 8);
const COMM: u64 = 1 << (63 - 9);
const TASK: u64 = 1 << (63 - 13);
const SAMPLE_ID_ALL: u64 = 1 << (63 - 18);
const MMAP2: u64 = 1 << (63 - 23);
const COMM_EXEC: u64 = 1 << (63 - 24);

/// An event of the kernel's own that counts nothing.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;

/// Records have their time.
const TIME: u64 = 1 << 2;

impl Attributes {
    /// Completed instructions from the moment when a process performs another program, with those of the processes that
    /// it starts.
    pub const fn instructions(without_kernel: bool) -> Self {
        let kernel = if without_kernel { EXCLUDE_KERNEL } else { 0 };
        Self {
            kind: HARDWARE,
            length: size_of::<Self>() as u32,
            event: INSTRUCTIONS,
            period: 0,
            sample: 0,
            read: 0,
            flags: DISABLED | INHERIT | ENABLE_ON_EXEC | kernel,
            rest: [0; 4],
        }
    }

    /// No count, but records of what processes map for execution, and of how they begin.
    pub const fn mappings() -> Self {
        Self {
            kind: SOFTWARE,
            length: size_of::<Self>() as u32,
            event: DUMMY,
            period: 0,
            sample: TIME,
            read: 0,
            flags: MMAP | COMM | TASK | SAMPLE_ID_ALL | MMAP2 | COMM_EXEC,
            rest: [0; 4],
        }
    }
}

/// What the kernel has recorded.
#[derive(Clone, Copy, Debug)]
pub enum Record<'r> {
    /// A process has begun another one.
    Fork {
        /// The new one.
        process: u32,
        /// The one that began it.
        parent: u32,
    },
    /// A process has begun a thread of its own.
    Thread {
        /// The thread's number.
        thread: u32,
        /// The process.
        process: u32,
    },
    /// A process performs another program.
    Exec {
        /// Its number.
        process: u32,
    },
    /// A process has mapped a file for execution.
    Map {
        /// Its number.
        process: u32,
        /// The first address.
        start: u64,
        /// Bytes.
        length: u64,
        /// Where they are in the file.
        offset: u64,
        /// The file.
        path: &'r [u8],
    },
    /// There was no room for some records.
    Lost,
    /// Something else.
    Other,
}

/// Bytes of a page, and of the records of one CPU.
const PAGE: u64 = 4096;
const ROOM: u64 = 64 * PAGE;

/// Where the first page has the number of bytes that were recorded.
const HEAD: u64 = 1024;

/// Kinds of records.
const MMAP2_RECORD: u32 = 10;
const COMM_RECORD: u32 = 3;
const FORK_RECORD: u32 = 7;
const LOST_RECORD: u32 = 2;

/// In a record of a name: it comes from a program that is performed.
const OF_EXEC: u32 = 1 << 13;

/// The records of one CPU.
#[derive(Debug)]
pub struct Recorded {
    /// Behind the first page.
    records: *const u8,
    head: *const AtomicU64,
    next: u64,
}

impl Recorded {
    /// Begins to record on this CPU.
    pub fn of_cpu(cpu: u64, attributes: &Attributes) -> Result<Self, Refused> {
        let file = call::record(attributes, cpu)?;
        let at = call::map(file, PAGE + ROOM)?;
        Ok(Self {
            records: (at + PAGE) as *const u8,
            head: (at + HEAD) as *const AtomicU64,
            next: 0,
        })
    }

    /// The bytes of the next record, if there is one.
    fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: the first page, which the kernel shares.
        let head = unsafe { &*self.head }.load(Ordering::Acquire);
        // Nobody says that records were read, so the kernel does not begin anew.
        let rest = head.min(ROOM).checked_sub(self.next)?;
        // SAFETY: the kernel has written these bytes and does not change them any more.
        let rest = unsafe {
            core::slice::from_raw_parts(self.records.add(self.next as usize), rest as usize)
        };
        let length = u16::from_be_bytes(rest.get(6..8)?.try_into().ok()?);
        rest.get(..length.into()).filter(|bytes| bytes.len() >= 16)
    }

    /// The time of the next record: its last doubleword.
    pub fn time(&self) -> Option<u64> {
        self.bytes()?
            .last_chunk()
            .map(|time| u64::from_be_bytes(*time))
    }

    /// The next record.
    #[expect(clippy::should_implement_trait, reason = "a record borrows the buffer")]
    pub fn next(&mut self) -> Option<Record<'_>> {
        let length = self.bytes()?.len() as u64;
        self.next += length;
        // SAFETY: these bytes were found before.
        let bytes = unsafe {
            let from = self.records.add((self.next - length) as usize);
            core::slice::from_raw_parts(from, length as usize)
        };
        Some(of(bytes).unwrap_or(Record::Other))
    }
}

/// The record of these bytes: a heading, fields, and the time.
fn of(bytes: &[u8]) -> Option<Record<'_>> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let doubleword = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(match word(0)? {
        FORK_RECORD if word(8)? != word(12)? => Record::Fork {
            process: word(8)?,
            parent: word(12)?,
        },
        FORK_RECORD => Record::Thread {
            thread: word(16)?,
            process: word(8)?,
        },
        COMM_RECORD if word(4)? >> 16 & OF_EXEC != 0 => Record::Exec { process: word(8)? },
        MMAP2_RECORD => {
            let name = bytes.get(72..bytes.len() - 8)?;
            Record::Map {
                process: word(8)?,
                start: doubleword(16)?,
                length: doubleword(24)?,
                offset: doubleword(32)?,
                path: name.split(|byte| *byte == 0).next()?,
            }
        }
        LOST_RECORD => Record::Lost,
        _ => Record::Other,
    })
}
