//! The loader block, by which the host gives a run to the machine.
//!
//! The host decides everything about a run before the machine starts and stages it in storage: one
//! 4096-byte block at a fixed address, and the guest's segments at higher addresses. Nothing is negotiated
//! over the link, because an answer from the host would arrive at an arbitrary moment and make the
//! run unrepeatable. The machine reads the block once at IPL, moves itself out of the way, and then
//! copies each segment from its stage to its destination.
//!
//! A missing block is not an error: the machine then talks to an operator in plain text. A damaged block is
//! an error, and each kind of damage has its name.

use core::fmt;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U32, U64},
};

use super::CHECK;
use super::copies::LONGEST_COPY;
use super::service::{Function, Request};
use super::stack::MOST_FRAMES;
use arch::cpu::MAXIMUM_CPUS;
use cache::{ShapeError, Which};

mod caches;

pub use caches::CacheShape;

/// Absolute address at which the host stages the block.
pub const BLOCK_ADDRESS: u64 = 0x1F_0000;

/// Length of the block in bytes.
pub const BLOCK_LENGTH: u32 = 4096;

/// Lowest absolute address at which the host stages segments.
pub const LOWEST_STAGE: u64 = 0x100_0000;

/// The program parameter of the machine, by which a level below it knows samples of the machine and its guest:
/// "MILLIMTR".
pub const PROGRAM_PARAMETER: u64 = u64::from_be_bytes(*b"MILLIMTR");

/// The first eight bytes: "MMLOADR1".
pub const MAGIC: u64 = u64::from_be_bytes(*b"MMLOADR1");

/// The machine keeps the staged bytes of each segment on this boundary.
pub const KEPT_ALIGNMENT: u64 = 4096;

/// The hardware system area, or its first part, ends here at the latest: prefixes, service-call control blocks and channel
/// programs have 31-bit addresses.
pub const HSA_END: u64 = 1 << 31;

/// Where the machine keeps so many staged bytes, in this much storage: at the end of the hardware system area. A host that
/// knows the storage stages them there, so that nothing has to be moved.
pub const fn kept_at(storage: u64, kept_length: u64) -> Option<u64> {
    let end = if storage < HSA_END { storage } else { HSA_END };
    end.checked_sub(kept_length)
}

/// The most segments of a block.
pub const MOST_SEGMENTS: usize = 64;

/// The bytes in a block for the operator's commands.
pub const COMMANDS_LENGTH: usize = 1024;

/// Bytes of storage, for each CPU, that a machine has at the end, beyond that of the run, if the guest
/// [executes copies](LoaderBlock::executes_copies).
pub const COUNTING_STORAGE: u64 = 32 << 20;

/// The most ranges of addresses to which counts of executions can be limited.
pub const MOST_COUNTED_RANGES: usize = 8;

/// The first character of a command to issue when every CPU waits and no timer is armed: the next such
/// command each time.
pub const WHEN_WAITING: char = '@';

/// The first character of a command that begins a trace in the window only.
pub const IN_WINDOW: char = '%';

/// The most profilers on the host that a block starts.
pub const MOST_STAGED: usize = 8;

/// Most CPUs that a guest can have.
pub const MOST_CPUS: u32 = MAXIMUM_CPUS as u32;

/// Most threads that a core can have.
pub const MOST_THREADS: u32 = 2;

/// Shortest sampling interval, in cycles.
pub const SHORTEST_INTERVAL: u64 = 1_000;

/// Longest sampling interval, in cycles.
pub const LONGEST_INTERVAL: u64 = 1 << 32;

/// Sampling interval of a run that does not choose one, in cycles.
pub const DEFAULT_INTERVAL: u64 = 1_000_000;

/// The length of one CPU's turn when the block does not give it, in microseconds.
pub const DEFAULT_SLICE: u64 = 1_000;

/// [`LoaderBlock::icount_shift`] of a machine whose clock does not count instructions.
pub const NO_ICOUNT: u32 = u32::MAX;

/// The highest instruction-count shift: one instruction then takes 1024 ns.
const HIGHEST_SHIFT: u32 = 10;

/// Bits of [`LoaderBlock::flags`].
pub mod flags {
    /// The link carries frames.
    pub const FRAMES: u32 = 0x1;
    /// The guest starts without an operator's command.
    pub const START: u32 = 0x2;
    /// The clock is the host's.
    pub const REAL_TIME: u32 = 0x4;
    /// The machine reads the link at any time.
    pub const INTERACTIVE: u32 = 0x8;
    /// The guest is secure, and so at the virtual-machine level.
    pub const SECURE: u32 = 0x10;
    /// Bit 49 of a secure guest's plaintext control flags: samples of it are not limited.
    pub const FULL_SAMPLES: u32 = 0x20;
    /// The CPUs are dedicated: sampling continues while one of them waits.
    pub const DEDICATED: u32 = 0x40;
    /// The host indicator of the machine's own sampling is one, and [`host_parameter`] has a meaning.
    ///
    /// [`host_parameter`]: super::LoaderBlock::host_parameter
    pub const HOST_INDICATOR: u32 = 0x80;
    /// The machine supplies the functions of the message-security assist that it can perform.
    pub const CRYPTOGRAPHY: u32 = 0x100;
    /// The machine counts its traps by their causes, which costs it some more instructions.
    pub const COUNT_TRAPS: u32 = 0x200;
    /// Program-event recording has the form of System/370.
    pub const EVENTS_OF_S370: u32 = 0x400;
    /// No EXECUTE is trusted.
    pub const STRICT: u32 = 0x800;
    /// In supervisor state the guest's stack frames have the packed layout, as those of a Linux kernel.
    pub const PACKED_STACKS: u32 = 0x1000;
    /// In exact mode the guest's clock stands still while the machine works.
    pub const STILL_CLOCK: u32 = 0x2000;
    /// The machine takes its counts from the counter facility of the machine below, whose clock is its own.
    pub const NATIVE: u32 = 0x8000;
    /// With [`STILL_CLOCK`]: the machine counts the paths of the guest's control program.
    pub const COUNT_PATHS: u32 = 0x1_0000;
    /// The machine looks every second of guest time whether the HSA is whole, not only at the end.
    pub const CHECK_HSA: u32 = 0x2_0000;
    /// In exact mode the machine counts every execution of every instruction, in the window or else in the whole run, as
    /// [`counts`](crate::counts) says. The run stays as it is.
    pub const COUNT_EXECUTIONS: u32 = 0x4_0000;
    /// With [`COUNT_EXECUTIONS`]: the counting begins when the guest has written the words that the operator awaits.
    pub const COUNT_FROM_WORDS: u32 = 0x8_0000;
    /// With [`COUNT_EXECUTIONS`]: only what is executed in problem state is counted.
    pub const COUNT_PROBLEM_STATE: u32 = 0x10_0000;
    /// With [`COUNT_EXECUTIONS`]: only what is executed in supervisor state is counted.
    pub const COUNT_SUPERVISOR_STATE: u32 = 0x20_0000;
    /// All assigned bits.
    pub const ALL: u32 = FRAMES
        | START
        | REAL_TIME
        | INTERACTIVE
        | SECURE
        | FULL_SAMPLES
        | DEDICATED
        | HOST_INDICATOR
        | CRYPTOGRAPHY
        | COUNT_TRAPS
        | EVENTS_OF_S370
        | STRICT
        | PACKED_STACKS
        | STILL_CLOCK
        | NATIVE
        | COUNT_PATHS
        | CHECK_HSA
        | COUNT_EXECUTIONS
        | COUNT_FROM_WORDS
        | COUNT_PROBLEM_STATE
        | COUNT_SUPERVISOR_STATE;
}

/// Authorization and activation bits of the counter sets, as SA23-2260 numbers them.
pub mod sets {
    /// Extended counter set.
    pub const EXTENDED: u32 = 0x1;
    /// Basic counter set.
    pub const BASIC: u32 = 0x2;
    /// Problem-state counter set.
    pub const PROBLEM_STATE: u32 = 0x4;
    /// Crypto-activity counter set.
    pub const CRYPTO: u32 = 0x8;
    /// MT-diagnostic counter set.
    pub const MT_DIAGNOSTIC: u32 = 0x20;
    /// Coprocessor-group counter sets.
    pub const COPROCESSOR_GROUPS: u32 = 0x8000;
    /// The sets that a guest is authorized to use by default.
    pub const DEFAULT: u32 = BASIC | PROBLEM_STATE;
    /// All sets of the facility.
    pub const ALL: u32 =
        EXTENDED | BASIC | PROBLEM_STATE | CRYPTO | MT_DIAGNOSTIC | COPROCESSOR_GROUPS;
}

/// Values of [`LoaderBlock::level`].
pub mod level {
    /// The guest runs in a logical partition.
    pub const LOGICAL_PARTITION: u32 = 1;
    /// The guest runs in a virtual machine.
    pub const VIRTUAL_MACHINE: u32 = 2;
}

/// One segment of the guest.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct Segment {
    /// Absolute address at which the host staged the bytes.
    pub staged: U64,
    /// The number of bytes staged.
    pub staged_length: U64,
    /// The guest absolute address to which the machine copies them.
    pub destination: U64,
    /// The length of the segment in guest storage; the bytes after the staged ones are zeros.
    pub length: U64,
}

/// A part of a run that is looked at again. The finer samples in it cost the guest no time.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct Window {
    /// The TOD clock, bits 0-63, at which it begins.
    pub from: U64,
    /// The TOD clock at which it has ended.
    pub to: U64,
    /// The sampling interval in it, in cycles; 0 for no window.
    pub interval: U64,
}

impl Window {
    /// Whether there is one.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.interval != 0
    }
}

/// Addresses from the starting to the ending address, both included.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct AddressRange {
    /// The starting address.
    pub start: U64,
    /// The ending address.
    pub end: U64,
}

/// The block as stored.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct LoaderBlock {
    /// [`MAGIC`].
    pub magic: U64,
    /// [`BLOCK_LENGTH`].
    pub length: U32,
    /// Bits of [`flags`].
    pub flags: U32,
    /// The number of guest CPUs, 1 to [`MOST_CPUS`].
    pub cpus: U32,
    /// The number of segments in use.
    pub segment_count: U32,
    /// The guest's initial PSW, bits 0-63.
    pub psw_mask: U64,
    /// The guest's initial PSW, bits 64-127.
    pub psw_address: U64,
    /// Sampling interval of the machine's own measurement in cycles; 0 for no sampling.
    pub interval: U64,
    /// The counter sets that the machine's own measurement activates, if they have a source: bits of
    /// [`sets`].
    pub machine_sets: U32,
    /// Counter sets that the guest is authorized to use: bits of [`sets`].
    pub guest_sets: U32,
    /// The configuration level of the guest: [`level`].
    pub level: U32,
    /// Instruction-count shift of the clock, or [`NO_ICOUNT`].
    pub icount_shift: U32,
    /// Microseconds of one CPU's turn; 0 for [`DEFAULT_SLICE`].
    pub slice: U64,
    /// Program parameter of the level below the guest, when [`flags::HOST_INDICATOR`] is one.
    pub host_parameter: U64,
    /// The machine type that STORE CPU ID shows, in hexadecimal digits; 0 for that of the machine below.
    pub machine_type: U32,
    /// Threads of a core, 1 to [`MOST_THREADS`]; the number of CPUs is a multiple of it.
    pub threads: U32,
    /// The guest begins when the TOD clock, bits 0-63, shows this, or later; 0 for as soon as it can.
    pub begin: U64,
    /// The number of a segment, plus one, whose bytes the host may change in the machine while the guest is held; 0 for none.
    pub open_segment: U32,
    /// The most return addresses of the call stack of each of the machine's own samples, 1 to [`MOST_FRAMES`]; 0 for no
    /// call stacks.
    pub stacks: U32,
    /// The most bytes of a program's stack that are copied at each of these samples: a multiple of 8 up to
    /// [`LONGEST_COPY`]; 0 for no copies.
    pub stack_copy: U32,
    /// Zeros.
    pub reserved: [u8; 20],
    /// The guest's name in UTF-8, then zeros.
    pub name: [u8; 64],
    /// The instruction cache and the data cache that the run models for each CPU, or zeros.
    pub caches: [CacheShape; 2],
    /// The window in which the machine takes finer samples that cost the guest no time, or zeros.
    pub window: Window,
    /// Zeros.
    pub reserved_middle: [u8; 16],
    /// The guest's segments; those beyond `segment_count` are zeros.
    pub segments: [Segment; MOST_SEGMENTS],
    /// The operator's commands before the guest starts: lines in UTF-8, then zeros.
    pub commands: [u8; COMMANDS_LENGTH],
    /// Profilers on the host that start before the guest does; the entries after the last are zeros.
    pub profilers: [Request; MOST_STAGED],
    /// How many ranges there are to which counts of executions are limited; 0 for no limit.
    pub counted_range_count: U32,
    /// These ranges; those beyond their number are zeros.
    pub counted_ranges: [AddressRange; MOST_COUNTED_RANGES],
    /// Zeros.
    pub reserved_end: [u8; 120],
    /// CRC-32 of all bytes before this field.
    pub check: U32,
}

const _: () = assert!(size_of::<LoaderBlock>() == BLOCK_LENGTH as usize);
const _: () = assert!(core::mem::offset_of!(LoaderBlock, name) == 128);
const _: () = assert!(core::mem::offset_of!(LoaderBlock, segments) == 256);
const _: () = assert!(core::mem::offset_of!(LoaderBlock, commands) == 2304);
const _: () = assert!(core::mem::offset_of!(LoaderBlock, profilers) == 3328);
const _: () = assert!(core::mem::offset_of!(LoaderBlock, check) == 4092);

/// The error in a block. The host wrote it wrong, or something overwrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderError {
    /// There is no block: the first eight bytes are these.
    Magic(u64),
    /// The length field has this value.
    Length(u32),
    /// The bytes of the block give the first number as the check, but the field has the second.
    Check(u32, u32),
    /// Unassigned flag bits.
    Flags(u32),
    /// A number of CPUs that a guest cannot have.
    Cpus(u32),
    /// A number of segments that a block cannot hold.
    SegmentCount(u32),
    /// A sampling interval out of range.
    Interval(u64),
    /// Counter sets that do not exist.
    Sets(u32),
    /// A level that does not exist.
    Level(u32),
    /// Flags that require another flag or the virtual-machine level, and the level in the block.
    Guest(u32, u32),
    /// An invalid number of threads of a core, and the number of CPUs.
    Threads(u32, u32),
    /// Call stacks of an impossible depth, or of a guest without full samples.
    Stacks(u32),
    /// Copies of stacks without call stacks, or of an impossible length.
    StackCopy(u32),
    /// An instruction-count shift that no clock has.
    IcountShift(u32),
    /// The flags and the instruction-count shift, which contradict each other about real time.
    Clock(u32, u32),
    /// A cache that cannot be modelled.
    Caches(Which, ShapeError),
    /// Caches to model, although the clock does not count instructions.
    CachesInRealTime,
    /// This segment has more staged bytes than its length.
    SegmentLength(usize),
    /// This segment exceeds the 64-bit address range.
    SegmentRange(usize),
    /// This segment is staged below [`LOWEST_STAGE`].
    SegmentStage(usize),
    /// The destinations of these two segments overlap.
    DestinationsOverlap(usize, usize),
    /// The destination of the first segment overlaps the staged bytes of the second.
    DestinationOverlapsStage(usize, usize),
    /// The staged bytes of these two segments overlap.
    StagesOverlap(usize, usize),
    /// The segment that the host may change is none of these.
    OpenSegment(u32),
    /// A window from the first clock to the second, which is no span.
    Window(u64, u64),
    /// A window in a run whose clock does not count instructions, or whose traps are counted.
    WindowInThisRun,
    /// A number of ranges to count that a block cannot hold.
    CountedRanges(u32),
    /// The name is not UTF-8.
    Name,
    /// The operator's commands are not UTF-8.
    Commands,
}

impl fmt::Display for LoaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Magic(found) => write!(
                f,
                "no loader block: {found:016X} where {MAGIC:016X} belongs"
            ),
            Self::Length(found) => write!(f, "a loader block of {found} bytes, not {BLOCK_LENGTH}"),
            Self::Check(computed, found) => {
                write!(
                    f,
                    "the loader block is damaged: check {found:08X}, its bytes give {computed:08X}"
                )
            }
            Self::Flags(found) => write!(f, "unknown flags {found:08X} in the loader block"),
            Self::Cpus(found) => write!(f, "{found} CPUs, where 1 to {MOST_CPUS} are possible"),
            Self::SegmentCount(found) => {
                write!(f, "{found} segments, where at most {MOST_SEGMENTS} fit")
            }
            Self::Interval(found) => write!(
                f,
                "a sampling interval of {found} cycles is not within {SHORTEST_INTERVAL} to {LONGEST_INTERVAL}"
            ),
            Self::Sets(found) => write!(f, "unknown counter sets in {found:08X}"),
            Self::Level(found) => write!(f, "unknown configuration level {found}"),
            Self::Guest(flags, level) => write!(
                f,
                "flags {flags:08X} do not go with configuration level {level}: a secure guest and a host parameter need level {}, and unlimited samples a secure guest",
                level::VIRTUAL_MACHINE
            ),
            Self::Threads(threads, cpus) => write!(
                f,
                "{threads} threads of a core with {cpus} CPUs, where 1 to {MOST_THREADS} threads and whole cores are possible"
            ),
            Self::StackCopy(found) => write!(
                f,
                "copies of {found} bytes of a stack, where a multiple of 8 up to {LONGEST_COPY} is possible if there are call stacks"
            ),
            Self::Stacks(found) => write!(
                f,
                "call stacks of {found} return addresses, where 1 to {MOST_FRAMES} are possible if there are full samples"
            ),
            Self::IcountShift(found) => {
                write!(f, "no clock has the instruction-count shift {found}")
            }
            Self::Clock(flags, shift) => {
                write!(
                    f,
                    "flags {flags:08X} and instruction-count shift {shift:08X} contradict each other"
                )
            }
            Self::Caches(which, error) => write!(f, "{which}: {error}"),
            Self::CachesInRealTime => {
                write!(
                    f,
                    "caches are modelled, and the clock does not count instructions"
                )
            }
            Self::SegmentLength(index) => {
                write!(f, "segment {index} has more staged bytes than bytes")
            }
            Self::SegmentRange(index) => {
                write!(f, "segment {index} leaves the 64-bit address range")
            }
            Self::SegmentStage(index) => {
                write!(f, "segment {index} is staged below {LOWEST_STAGE:X}")
            }
            Self::DestinationsOverlap(first, second) => {
                write!(
                    f,
                    "segments {first} and {second} have overlapping destinations"
                )
            }
            Self::DestinationOverlapsStage(first, second) => {
                write!(
                    f,
                    "segment {first} would be copied over the staged bytes of segment {second}"
                )
            }
            Self::StagesOverlap(first, second) => {
                write!(
                    f,
                    "segments {first} and {second} are staged over each other"
                )
            }
            Self::OpenSegment(number) => {
                write!(
                    f,
                    "the host may change segment {number}, which there is not"
                )
            }
            Self::Window(from, to) => {
                write!(f, "a window from {from:016X} to {to:016X} is empty")
            }
            Self::CountedRanges(count) => {
                write!(
                    f,
                    "{count} ranges to count, more than {MOST_COUNTED_RANGES}"
                )
            }
            Self::WindowInThisRun => write!(
                f,
                "a window needs a clock that counts instructions, and traps that are not counted"
            ),
            Self::Name => write!(f, "the guest's name is not UTF-8"),
            Self::Commands => write!(f, "the operator's commands are not UTF-8"),
        }
    }
}

impl core::error::Error for LoaderError {}

impl LoaderBlock {
    /// A block without a guest: one CPU, frames, everything else zeros.
    pub fn new() -> Self {
        Self {
            magic: MAGIC.into(),
            length: BLOCK_LENGTH.into(),
            flags: flags::FRAMES.into(),
            cpus: 1.into(),
            segment_count: 0.into(),
            psw_mask: 0.into(),
            psw_address: 0.into(),
            interval: 0.into(),
            machine_sets: 0.into(),
            guest_sets: sets::DEFAULT.into(),
            level: level::LOGICAL_PARTITION.into(),
            icount_shift: 0.into(),
            slice: 0.into(),
            host_parameter: 0.into(),
            machine_type: 0.into(),
            threads: 1.into(),
            begin: 0.into(),
            open_segment: 0.into(),
            stacks: 0.into(),
            stack_copy: 0.into(),
            reserved: [0; 20],
            name: [0; 64],
            caches: [CacheShape::default(); 2],
            window: Window::default(),
            reserved_middle: [0; 16],
            segments: [Segment::default(); MOST_SEGMENTS],
            commands: [0; COMMANDS_LENGTH],
            profilers: [Request::default(); MOST_STAGED],
            counted_range_count: 0.into(),
            counted_ranges: [AddressRange::default(); MOST_COUNTED_RANGES],
            reserved_end: [0; 120],
            check: 0.into(),
        }
    }

    /// Sets the guest's name, truncated at a character boundary if it is too long.
    pub fn set_name(&mut self, name: &str) {
        let fits = |end: &usize| name.is_char_boundary(*end);
        // 0 is a boundary, so the search always ends with one.
        let end = (0..=name.len().min(self.name.len()))
            .rev()
            .find(fits)
            .unwrap_or(0);
        self.name = [0; 64];
        self.name[..end].copy_from_slice(&name.as_bytes()[..end]);
    }

    /// Stores the check: the last step in writing a block.
    pub fn seal(&mut self) {
        self.check = self.computed_check().into();
    }

    /// Reads a block from storage.
    ///
    /// In a valid block the numbers are within their ranges, every segment's ranges are within 64 bits, and
    /// copying the segments in any order overwrites none that is yet to be copied. The caller checks whether
    /// the segments fit the storage of this machine.
    pub fn parse(bytes: &[u8; BLOCK_LENGTH as usize]) -> Result<&Self, LoaderError> {
        let block: &Self = zerocopy::transmute_ref!(bytes);
        if block.magic.get() != MAGIC {
            return Err(LoaderError::Magic(block.magic.get()));
        }
        if block.length.get() != BLOCK_LENGTH {
            return Err(LoaderError::Length(block.length.get()));
        }
        let computed = block.computed_check();
        if block.check.get() != computed {
            return Err(LoaderError::Check(computed, block.check.get()));
        }
        block.check_numbers()?;
        block.check_segments()?;
        Ok(block)
    }

    /// The segments in use.
    pub fn segments(&self) -> &[Segment] {
        let count = (self.segment_count.get() as usize).min(MOST_SEGMENTS);
        &self.segments[..count]
    }

    /// The ranges to which counts of executions are limited.
    pub fn counted_ranges(&self) -> &[AddressRange] {
        let count = (self.counted_range_count.get() as usize).min(MOST_COUNTED_RANGES);
        &self.counted_ranges[..count]
    }

    /// The bytes that the machine needs to keep what is staged: whole pages for each segment.
    pub fn kept_length(&self) -> u64 {
        let lengths = self
            .segments()
            .iter()
            .map(|segment| segment.staged_length.get());
        lengths
            .map(|length| length.next_multiple_of(KEPT_ALIGNMENT))
            .sum()
    }

    /// Where the machine keeps the bytes that the host may change: the first byte behind the beginning of all that is
    /// kept, and the one behind the last.
    pub fn open_part(&self) -> (u64, u64) {
        let mut lengths = self
            .segments()
            .iter()
            .map(|segment| segment.staged_length.get().next_multiple_of(KEPT_ALIGNMENT));
        match (self.open_segment.get() as usize).checked_sub(1) {
            Some(open) => {
                let begin = lengths.clone().take(open).sum();
                (begin, begin + lengths.nth(open).unwrap_or(0))
            }
            None => (0, 0),
        }
    }

    /// The guest's name.
    pub fn name(&self) -> Result<&str, LoaderError> {
        text(&self.name).ok_or(LoaderError::Name)
    }

    /// The operator's commands before the guest starts, one on each line.
    pub fn commands(&self) -> Result<&str, LoaderError> {
        text(&self.commands).ok_or(LoaderError::Commands)
    }

    /// Whether the guest executes copies of its text, because executions are counted or a window has traces. The machine then has
    /// [`COUNTING_STORAGE`] more storage for each CPU, which nothing else uses.
    #[must_use]
    pub fn executes_copies(&self) -> bool {
        let mut lines = self.commands().unwrap_or_default().lines();
        let has_traces = lines.any(|line| line.starts_with(IN_WINDOW));
        self.has(flags::COUNT_EXECUTIONS) || self.window.is_wanted() && has_traces
    }

    /// Appends a command of the operator. Returns false, and changes nothing, if it does not fit.
    #[must_use]
    pub fn add_command(&mut self, command: &str) -> bool {
        let used = self.commands.iter().position(|&byte| byte == 0);
        let used = used.unwrap_or(COMMANDS_LENGTH);
        let Some(place) = self.commands.get_mut(used..used + command.len() + 1) else {
            return false;
        };
        let (text, end) = place.split_at_mut(command.len());
        text.copy_from_slice(command.as_bytes());
        end.fill(b'\n');
        true
    }

    /// The profilers that start before the guest does.
    pub fn profilers(&self) -> impl Iterator<Item = &Request> {
        let starts = |request: &&Request| request.function.get() == Function::Start as u32;
        self.profilers.iter().filter(starts)
    }

    /// Adds a profiler that starts before the guest does. Returns false, and changes nothing, if it does not fit.
    #[must_use]
    pub fn add_profiler(&mut self, request: Request) -> bool {
        let free = |place: &&mut Request| **place == Request::default();
        let place = self.profilers.iter_mut().find(free);
        place.map(|place| *place = request).is_some()
    }

    /// Whether all of these bits of [`flags`] are one.
    pub fn has(&self, flags: u32) -> bool {
        self.flags.get() & flags == flags
    }

    fn computed_check(&self) -> u32 {
        let bytes = self.as_bytes();
        CHECK.checksum(&bytes[..bytes.len() - size_of::<U32>()])
    }

    fn check_numbers(&self) -> Result<(), LoaderError> {
        let (flags, shift) = (self.flags.get(), self.icount_shift.get());
        if flags & !flags::ALL != 0 {
            return Err(LoaderError::Flags(flags));
        }
        if !(1..=MOST_CPUS).contains(&self.cpus.get()) {
            return Err(LoaderError::Cpus(self.cpus.get()));
        }
        let interval = self.interval.get();
        if interval != 0 && !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) {
            return Err(LoaderError::Interval(interval));
        }
        for chosen in [self.machine_sets.get(), self.guest_sets.get()] {
            if chosen & !sets::ALL != 0 {
                return Err(LoaderError::Sets(chosen));
            }
        }
        if !matches!(
            self.level.get(),
            level::LOGICAL_PARTITION | level::VIRTUAL_MACHINE
        ) {
            return Err(LoaderError::Level(self.level.get()));
        }
        let virtual_machine = self.level.get() == level::VIRTUAL_MACHINE;
        if (self.has(flags::SECURE) || self.has(flags::HOST_INDICATOR)) && !virtual_machine
            || self.has(flags::FULL_SAMPLES) && !self.has(flags::SECURE)
        {
            return Err(LoaderError::Guest(flags, self.level.get()));
        }
        let (threads, cpus) = (self.threads.get(), self.cpus.get());
        if !(1..=MOST_THREADS).contains(&threads) || !cpus.is_multiple_of(threads) {
            return Err(LoaderError::Threads(threads, cpus));
        }
        let stacks = self.stacks.get();
        let limited = self.has(flags::SECURE) && !self.has(flags::FULL_SAMPLES);
        if stacks != 0 && (stacks as usize > MOST_FRAMES || interval == 0 || limited) {
            return Err(LoaderError::Stacks(stacks));
        }
        self.check_window()?;
        if self.counted_range_count.get() as usize > MOST_COUNTED_RANGES {
            return Err(LoaderError::CountedRanges(self.counted_range_count.get()));
        }
        let copy = self.stack_copy.get();
        if copy != 0 && (stacks == 0 || copy > LONGEST_COPY || !copy.is_multiple_of(8)) {
            return Err(LoaderError::StackCopy(copy));
        }
        if shift != NO_ICOUNT && shift > HIGHEST_SHIFT {
            return Err(LoaderError::IcountShift(shift));
        }
        let native_by_clock = self.has(flags::NATIVE) && !self.has(flags::REAL_TIME);
        if self.has(flags::REAL_TIME) != (shift == NO_ICOUNT) || native_by_clock {
            return Err(LoaderError::Clock(flags, shift));
        }
        self.geometry()?;
        self.commands()?;
        self.name().map(|_| ())
    }

    fn check_window(&self) -> Result<(), LoaderError> {
        let window = &self.window;
        if !window.is_wanted() {
            return Ok(());
        }
        let (from, to, interval) = (window.from, window.to, window.interval.get());
        if from >= to {
            return Err(LoaderError::Window(from.get(), to.get()));
        }
        if !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) {
            return Err(LoaderError::Interval(interval));
        }
        let disturbs = flags::REAL_TIME | flags::INTERACTIVE | flags::COUNT_TRAPS;
        if self.flags.get() & disturbs != 0 {
            return Err(LoaderError::WindowInThisRun);
        }
        Ok(())
    }

    fn check_segments(&self) -> Result<(), LoaderError> {
        if self.segment_count.get() as usize > MOST_SEGMENTS {
            return Err(LoaderError::SegmentCount(self.segment_count.get()));
        }
        let segments = self.segments();
        if self.open_segment.get() as usize > segments.len() {
            return Err(LoaderError::OpenSegment(self.open_segment.get()));
        }
        for (index, segment) in segments.iter().enumerate() {
            if segment.staged_length > segment.length {
                return Err(LoaderError::SegmentLength(index));
            }
            let in_range =
                |start: U64, length: U64| start.get().checked_add(length.get()).is_some();
            if !in_range(segment.staged, segment.staged_length)
                || !in_range(segment.destination, segment.length)
            {
                return Err(LoaderError::SegmentRange(index));
            }
            if segment.staged.get() < LOWEST_STAGE {
                return Err(LoaderError::SegmentStage(index));
            }
        }
        for (first, one) in segments.iter().enumerate() {
            for (second, other) in segments.iter().enumerate() {
                if overlap(one.destination(), other.stage()) {
                    return Err(LoaderError::DestinationOverlapsStage(first, second));
                }
                if first < second && overlap(one.destination(), other.destination()) {
                    return Err(LoaderError::DestinationsOverlap(first, second));
                }
                if first < second && overlap(one.stage(), other.stage()) {
                    return Err(LoaderError::StagesOverlap(first, second));
                }
            }
        }
        Ok(())
    }
}

impl Default for LoaderBlock {
    fn default() -> Self {
        Self::new()
    }
}

impl Segment {
    fn stage(&self) -> (u64, u64) {
        (
            self.staged.get(),
            self.staged.get() + self.staged_length.get(),
        )
    }

    fn destination(&self) -> (u64, u64) {
        (
            self.destination.get(),
            self.destination.get() + self.length.get(),
        )
    }
}

/// The text of a field, without the zeros at its end, if it is UTF-8.
fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|&byte| byte == 0);
    core::str::from_utf8(&field[..end.unwrap_or(field.len())]).ok()
}

/// Whether two ranges `(start, end)` share a byte. An empty range shares none.
fn overlap(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0.max(other.0) < one.1.min(other.1)
}

#[cfg(test)]
mod tests;
