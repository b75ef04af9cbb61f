//! The hardware system area: the top of storage, and its layout.
//!
//! It ends at min(storage, 2 GiB), because prefixes, service-call control blocks and channel programs have 31-bit
//! addresses. It begins on a storage-increment boundary, so that READ SCP INFO can show the guest a machine that ends
//! there.
//!
//! The guest's program is kept at its end, where a host that knows the storage stages it.
//!
//! A machine that counts executions has more storage for that, behind all this.
//!
//! If there is more storage, then this part is a hole in the guest's storage, and what grows with storage (shadow
//! tables, code copies, page states) is in another part at the end of storage.

use crate::arch::address::{PAGE, Real};
use crate::arch::channel::SUBCHANNELS;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::extent::Extent;
use crate::guest::state::channels::COPY_LENGTH;
use crate::guest::state::device::ROOM_LENGTH;
use crate::guest::state::shadow::{PRIVATE_LENGTH, SharedShadow};
use crate::link::loader::{self, HSA_END};
use core::iter;

/// Room for the image with its .bss, and for the stack of IPL at the end (`boot/entry.s`): the limit of `linker.ld` leaves it
/// 256 KiB.
pub const IMAGE_ROOM: u64 = 0x1F_0000;
/// Bytes of a CPU's stack. The page below it is a guard page, and nothing must reach into the last quarter.
pub const STACK: u64 = 60 * 1024;
/// Bytes of the heap, which is used at IPL only: what the CPUs share.
const HEAP: u64 = 512 * 1024;
/// Bytes of the heap for each CPU: its state, the readings of HIS, and traced events.
const HEAP_OF_A_CPU: u64 = 128 * 1024;
/// Code copies.
const COPIES: u64 = 512;
/// The most code copies of a strict machine, which executes nearly every page from one: one for so many pages of storage.
const COPIES_IF_STRICT: u64 = 4096;
const PAGES_OF_A_COPY: u64 = 16;
/// Machine-level sample-data blocks of one CPU.
pub const BLOCKS: u64 = 8;
/// The most increments of a storage with a hole: READ STORAGE INFO lists them in a block of 4 KiB.
const MOST_INCREMENTS: u64 = 1020;
/// The most storage of the machine that is used.
const MOST_STORAGE: u64 = 16 << 30;
/// The least usable storage: the HSA and something for a guest.
pub const LEAST_STORAGE: u64 = 32 << 20;

/// What a run needs in the HSA besides: bytes, unless it says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// How many CPUs it has; zero counts as one.
    pub cpus: usize,
    /// The directories of the caches that it models.
    pub caches: u64,
    /// The guest's program as it was staged.
    pub kept: u64,
    /// How many devices it has.
    pub devices: u64,
    /// Whether the machine is strict.
    pub is_strict: bool,
    /// Whether the guest stops at instructions: then the end of storage is not the run's, but for that.
    pub stops: bool,
}

impl Needs {
    /// Bytes to stop at instructions, at the end of storage.
    fn stopping(&self) -> u64 {
        if self.stops {
            loader::COUNTING_STORAGE * self.cpus.clamp(1, MAXIMUM_CPUS) as u64
        } else {
            0
        }
    }
}

/// The prefix of a real CPU. Only the plan makes one, so its 8 KiB are in the HSA.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prefix(u64);

impl Prefix {
    /// Where its 8 KiB begin.
    #[must_use]
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.0
    }
}

/// One CPU's areas.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuArea {
    /// The prefix: 8 KiB on an 8 KiB boundary.
    pub prefix: Prefix,
    /// The page of its copies of the trap entry's first instructions.
    pub entries: u64,
    /// The guard page below the stack.
    pub guard: u64,
    /// The end of the stack.
    pub stack_end: u64,
    /// The table of the machine-level sample-data blocks.
    pub block_table: u64,
    /// The machine-level sample-data blocks.
    pub blocks: u64,
}

/// The plan of the HSA.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The base of the HSA: the end of the guest's storage, or of its first part.
    pub base: u64,
    /// Its end, or that of its first part.
    pub end: u64,
    /// The guest's storage.
    pub guest: Extent,
    /// The end of all that the plan has: [`Self::end`], or that of the other part of the HSA.
    pub top: u64,
    /// Storage increment in bytes.
    pub increment: u64,
    /// The heap.
    pub heap: (u64, u64),
    /// One area for each CPU of the run, and at least one.
    pub cpus: heapless::Vec<CpuArea, MAXIMUM_CPUS>,
    /// Identity page tables.
    pub identity: Real,
    /// Private identity tables.
    pub private: Real,
    /// Pools of DAT-on shadow tables.
    pub pools: Real,
    /// Bytes of one of them.
    pub pool_length: u64,
    /// Code copies.
    pub copies: Real,
    /// How many there are.
    pub copy_count: u64,
    /// Copies of channel programs.
    pub programs: Real,
    /// The rings of the devices.
    rooms: Real,
    /// How many devices have room for them.
    devices: u64,
    /// Page states, two bytes for each page of the guest's storage.
    pub states: u64,
    /// For each page of the guest's storage a byte that says whether a device may store into it: from here to `owners`.
    pub stores: u64,
    /// Owners of the code copies, four bytes each.
    pub owners: u64,
    /// Directories of the caches that the run models, CPU by CPU: from here to `unused`.
    pub caches: u64,
    /// The first unused byte: from here to `kept`.
    pub unused: u64,
    /// The guest's program as it was staged: from here to `end`.
    pub kept: u64,
    /// What the CPUs have to stop at instructions, [`loader::COUNTING_STORAGE`] bytes each: where it begins, if there is any.
    pub stopping: Option<Real>,
}

/// Allocates the HSA from its base upwards, and its other part, if there is one.
struct Carver {
    next: u64,
    high: Option<u64>,
}

impl Carver {
    fn take(&mut self, length: u64, boundary: u64) -> u64 {
        let at = self.next.next_multiple_of(boundary);
        self.next = at + length;
        at
    }

    /// Takes pages for what need not have 31-bit addresses.
    fn take_high(&mut self, length: u64) -> u64 {
        match &mut self.high {
            Some(next) => {
                let at = *next;
                *next = (at + length).next_multiple_of(PAGE);
                at
            }
            None => self.take(length, PAGE),
        }
    }
}

impl Plan {
    /// The plan for `storage` bytes in increments of `increment` bytes, with room for what the run needs, or
    /// `None` if that is too little.
    #[must_use]
    pub fn new(storage: u64, increment: u64, needs: Needs) -> Option<Self> {
        let storage = storage.checked_sub(needs.stopping())?;
        let plan = Self::without_stopping(storage, increment, needs)?;
        Some(Self {
            stopping: needs.stops.then_some(Real(storage)),
            ..plan
        })
    }

    fn without_stopping(storage: u64, increment: u64, needs: Needs) -> Option<Self> {
        let end = storage.min(HSA_END);
        if end < LEAST_STORAGE {
            return None;
        }
        if let Some(plan) = Self::with_hole(storage, increment, needs) {
            return Some(plan);
        }
        // As if all storage were the guest's: slightly more than needed.
        let needed = Self::carve(0, None, Extent::up_to(end), increment, needs).end;
        let base = end.checked_sub(needed)? / increment * increment;
        if base < LEAST_STORAGE / 2 {
            return None;
        }
        let plan = Self::carve(base, None, Extent::up_to(base), increment, needs);
        Some(Self {
            end,
            top: end,
            kept: loader::kept_at(storage, needs.kept)?,
            ..plan
        })
    }

    /// The plan with a part of the guest's storage above 2 GiB, if there is enough storage for that.
    fn with_hole(storage: u64, increment: u64, needs: Needs) -> Option<Self> {
        let storage = storage.min(MOST_STORAGE);
        if storage <= HSA_END {
            return None;
        }
        let mut increment = increment;
        while storage / increment > MOST_INCREMENTS {
            increment *= 2;
        }
        let needed = Self::carve(0, Some(0), Extent::up_to(storage), increment, needs);
        let base = HSA_END.checked_sub(needed.end)? / increment * increment;
        let top = storage.checked_sub(needed.top)? / increment * increment;
        if base < LEAST_STORAGE / 2 || top <= HSA_END {
            return None;
        }
        let guest = Extent::with_hole(base, HSA_END, top);
        let plan = Self::carve(base, Some(top), guest, increment, needs);
        Some(Self {
            end: HSA_END,
            top: storage,
            kept: loader::kept_at(storage, needs.kept)?,
            ..plan
        })
    }

    /// Where the room of each device begins.
    pub fn rooms(&self) -> impl Iterator<Item = Real> {
        let rooms = self.rooms;
        (0..self.devices).map(move |number| rooms.offset(number * ROOM_LENGTH))
    }

    /// Takes what is needed from `base`, and from `high` if there is another part. The ends are what was taken.
    fn carve(base: u64, high: Option<u64>, guest: Extent, increment: u64, needs: Needs) -> Self {
        let storage = guest.end();
        let mut carver = Carver { next: base, high };
        carver.take(IMAGE_ROOM, PAGE);
        let cpus = needs.cpus.clamp(1, MAXIMUM_CPUS);
        let cpu_count = cpus as u64;
        let heap_length = HEAP + HEAP_OF_A_CPU * cpu_count;
        let heap = carver.take(heap_length, PAGE);
        // Not more than there is room for.
        let mut cpus = iter::repeat_n(CpuArea::default(), cpus).collect::<heapless::Vec<_, _>>();
        for cpu in &mut cpus {
            cpu.prefix = Prefix(carver.take(8192, 8192));
            cpu.entries = carver.take(PAGE, PAGE);
            cpu.guard = carver.take(PAGE, PAGE);
            cpu.stack_end = carver.take(STACK, PAGE) + STACK;
            cpu.block_table = carver.take(PAGE, PAGE);
            cpu.blocks = carver.take(BLOCKS * PAGE, PAGE);
        }
        let identity = Real(carver.take_high(SharedShadow::identity_length(storage, cpu_count)));
        let private = Real(carver.take(PRIVATE_LENGTH * cpu_count, PAGE));
        let pool_length = SharedShadow::pool_length(storage);
        let pools = Real(carver.take_high(pool_length * cpu_count));
        let copy_count = if needs.is_strict {
            (storage / PAGE / PAGES_OF_A_COPY).clamp(COPIES, COPIES_IF_STRICT)
        } else {
            COPIES
        };
        let copies = Real(carver.take_high(copy_count * PAGE));
        let programs = Real(carver.take(SUBCHANNELS as u64 * COPY_LENGTH, PAGE));
        let rooms = Real(carver.take(needs.devices * ROOM_LENGTH, PAGE));
        let states = carver.take_high(storage / PAGE * 2);
        let has_devices = u64::from(needs.devices != 0);
        let stores = carver.take_high(storage / PAGE * has_devices);
        let owners = carver.take_high(copy_count * 4);
        let caches = carver.take(needs.caches, PAGE);
        let unused = carver.take(0, PAGE);
        let end = unused + needs.kept;
        Self {
            base,
            end,
            guest,
            top: carver.high.unwrap_or(end),
            increment,
            heap: (heap, heap_length),
            cpus,
            identity,
            private,
            pools,
            pool_length,
            copies,
            copy_count,
            programs,
            rooms,
            devices: needs.devices,
            states,
            stores,
            owners,
            caches,
            unused,
            kept: unused,
            stopping: None,
        }
    }
}
