//! The shadow tables: where they are in the HSA, and the state of each CPU's own.

use arch::address::{PAGE, Real, Virtual};
use arch::cpu::MAXIMUM_CPUS;
use core::sync::atomic::{AtomicU64, Ordering};

pub(crate) mod alone;
pub(crate) mod passed;
pub(crate) mod plan;
pub(crate) mod recent;
pub(crate) mod requests;
pub(crate) mod slots;
pub(crate) mod spaces;

use alone::{Alone, Area, Placed};
use passed::Passed;
use plan::Plan;
use recent::Recent;
use requests::Requests;
use slots::SlotArea;
use spaces::ShadowSpaces;

pub use requests::Request;

/// A multiplier that mixes the bits of what is hashed: the golden ratio.
pub(crate) const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Bytes of a region or segment table with 2048 entries.
pub(crate) const TABLE: u64 = 2048 * 8;

/// Bytes of a page table with 256 entries.
const PAGE_TABLE: u64 = 256 * 8;

/// Bytes that a segment, and so a page table, covers.
pub(crate) const SEGMENT: u64 = 1 << 20;

/// Bytes that a segment table covers.
pub(crate) const REGION: u64 = SEGMENT * (TABLE / 8);

/// Bytes of HSA that each CPU's private tables take: those of real storage, those for an instruction alone, and the
/// slot space.
pub const PRIVATE_LENGTH: u64 = 2 * PRIVATE_SIDE + alone::LENGTH + slots::LENGTH;

/// Bytes of the private identity tables of one side.
const PRIVATE_SIDE: u64 = TABLE + 2 * PAGE_TABLE;

/// One of the two tables that translate a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Used to fetch instructions, including those in code copies: real control register 1.
    Instructions,
    /// Used to access operands: real control register 7.
    Operands,
    /// Used for both, by a program that executes no code copies: real control register 13.
    Single,
}

impl Side {
    /// The two that a guest with DAT off has.
    pub(crate) const BOTH: [Self; 2] = [Self::Instructions, Self::Operands];
}

/// Where the shadow tables are in the HSA, and what the CPUs must know of each other.
#[derive(Debug)]
pub struct SharedShadow {
    /// The identity page tables: for each side, 2 KiB for each MiB of the guest's storage. If it extends beyond one
    /// segment table, the segment tables of what is beyond follow for each side, then the region tables for each side
    /// of each CPU.
    pub identity: Real,
    /// The private identity tables: [`PRIVATE_LENGTH`] bytes for each CPU. Each side has a segment table, the page
    /// table of segment 0, and the page table of the prefix's segment. The tables for an instruction alone follow.
    pub private: Real,
    /// The pools for the tables of DAT-on spaces.
    pub pools: Real,
    /// Bytes of one CPU's pool.
    pub pool_length: u64,
    /// The layout of a pool.
    pub(crate) plan: Plan,
    /// The machine's own prefix on each CPU, where absolute 0-1FFF is found.
    pub machine_prefix: [u64; MAXIMUM_CPUS],
    /// The guest's prefix on each CPU, as its private tables have it.
    pub(crate) guest_prefix: [AtomicU64; MAXIMUM_CPUS],
    /// Bytes of the identity page tables of one side.
    pub(crate) identity_side: u64,
    /// How many segment tables translate the guest's storage.
    pub(crate) regions: u64,
    /// What DAT-on shadows must drop.
    pub(crate) requests: Requests,
    /// How far each CPU has come with that.
    pub(crate) passed: Passed,
}

impl SharedShadow {
    /// The layout of the shadow tables for `storage` bytes of guest storage;
    /// [`build_identity`](crate::storage::shadow::build_identity) fills them.
    #[must_use]
    pub fn new(
        storage: u64,
        identity: Real,
        private: Real,
        pools: Real,
        pool_length: u64,
        machine_prefix: [u64; MAXIMUM_CPUS],
    ) -> Self {
        Self {
            identity,
            private,
            pools,
            pool_length,
            plan: Plan::new(storage, pool_length),
            machine_prefix,
            guest_prefix: Default::default(),
            identity_side: storage.div_ceil(SEGMENT) * PAGE_TABLE,
            regions: storage.div_ceil(REGION),
            requests: Requests::new(),
            passed: Passed::new(),
        }
    }

    /// The units of one CPU's pool.
    #[must_use]
    pub const fn units(&self) -> u64 {
        self.plan.units
    }

    /// Bytes of identity tables that guest storage up to `storage` needs, with those of so many CPUs.
    #[must_use]
    pub const fn identity_length(storage: u64, cpus: u64) -> u64 {
        let pages = 2 * storage.div_ceil(SEGMENT) * PAGE_TABLE;
        let regions = storage.div_ceil(REGION);
        if regions > 1 {
            pages + 2 * (regions - 1 + cpus) * TABLE
        } else {
            pages
        }
    }

    /// Bytes that one CPU's pool should have for `storage` bytes of guest storage. There is room to map each page frame
    /// once, as control programs do, for the heads of the page frames, and 2 MiB for the address spaces of programs.
    #[must_use]
    pub const fn pool_length(storage: u64) -> u64 {
        ((2 << 20) + storage / 256 + storage / 512).next_multiple_of(PAGE)
    }

    /// How many requests have been posted so far.
    #[must_use]
    #[inline]
    pub fn posted(&self) -> u64 {
        self.requests.posted()
    }

    pub(crate) fn machine_prefix(&self, cpu: usize) -> u64 {
        self.machine_prefix.get(cpu).copied().unwrap_or(0)
    }

    pub(crate) fn guest_prefix(&self, cpu: usize) -> u64 {
        self.guest_prefix
            .get(cpu)
            .map_or(0, |prefix| prefix.load(Ordering::Relaxed))
    }

    pub(crate) const fn segment_table(&self, cpu: usize, side: Side) -> Real {
        Real(self.private.0 + cpu as u64 * PRIVATE_LENGTH + side as u64 * PRIVATE_SIDE)
    }

    pub(crate) const fn alone(&self, cpu: usize) -> Area {
        Area(Real(
            self.private.0 + cpu as u64 * PRIVATE_LENGTH + 2 * PRIVATE_SIDE,
        ))
    }

    /// The slot space of a CPU.
    pub(crate) const fn slots(&self, cpu: usize) -> SlotArea {
        SlotArea(self.alone(cpu).0.offset(alone::LENGTH))
    }

    pub(crate) const fn low_table(&self, cpu: usize, side: Side) -> Real {
        Real(self.segment_table(cpu, side).0 + TABLE)
    }

    pub(crate) const fn prefix_table(&self, cpu: usize, side: Side) -> Real {
        Real(self.low_table(cpu, side).0 + PAGE_TABLE)
    }

    /// The shared segment table of a region but the first one, which has a table of each CPU.
    pub(crate) const fn upper_segment_table(&self, region: u64, side: Side) -> Real {
        let number = side as u64 * (self.regions - 1) + region - 1;
        Real(self.identity.0 + 2 * self.identity_side + number * TABLE)
    }

    /// The region-third table of a CPU, if there is more than one region.
    pub(crate) const fn region_table(&self, cpu: usize, side: Side) -> Option<Real> {
        if self.regions <= 1 {
            return None;
        }
        let number = 2 * (self.regions - 1) + 2 * cpu as u64 + side as u64;
        Some(Real(
            self.identity.0 + 2 * self.identity_side + number * TABLE,
        ))
    }

    /// The region tables, and the segment tables that the CPUs share: where they begin, and their bytes.
    pub(crate) const fn upper_tables(&self) -> (Real, u64) {
        let begin = Real(self.identity.0 + 2 * self.identity_side);
        let tables = if self.regions > 1 {
            2 * (self.regions - 1 + MAXIMUM_CPUS as u64)
        } else {
            0
        };
        (begin, tables * TABLE)
    }

    /// Bytes of the identity tables that each CPU has of its own.
    pub(crate) const fn own_length(&self) -> u64 {
        2 * PRIVATE_SIDE
    }

    pub(crate) const fn identity_table(&self, segment: u64, side: Side) -> Real {
        Real(self.identity.0 + side as u64 * self.identity_side + segment * PAGE_TABLE)
    }
}

/// The tables that the hardware has for a program and for its control program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// The number of spaces dropped when they were loaded.
    pub(crate) then: u64,
    /// The program's address-space-control element.
    pub(crate) program: u64,
    /// Those of the spaces from which the control program fetches instructions, and of its operands.
    pub(crate) sides: [u64; 2],
}

impl Ready {
    /// The hardware does not have both.
    pub(crate) const NOT: Self = Self {
        then: u64::MAX,
        program: 0,
        sides: [0; 2],
    };
}

impl Default for Ready {
    fn default() -> Self {
        Self::NOT
    }
}

/// The page table of a fill: a program that is new in its space fills one entry after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastFilled {
    /// The guest's address-space-control element.
    pub(crate) guest: u64,
    /// Where the segment begins.
    pub(crate) segment: Virtual,
    /// The side of the space.
    pub(crate) side: Side,
    /// The number of spaces dropped by then; if more are, the table may belong to another space.
    pub(crate) drops: u64,
    /// The shadow's page table.
    pub(crate) table: Real,
}

impl LastFilled {
    /// How many are remembered; a power of two.
    pub(crate) const PLACES: usize = 8;

    /// The place of the page table of a segment.
    pub(crate) const fn place(segment: Virtual, side: Side) -> usize {
        ((segment.0 >> 20) as usize ^ (side as usize * 3)) % Self::PLACES
    }
}

impl Default for LastFilled {
    fn default() -> Self {
        Self {
            guest: 0,
            segment: Virtual(0),
            side: Side::Single,
            drops: u64::MAX,
            table: Real(0),
        }
    }
}

/// The shadow of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shadow {
    /// Whether this CPU translates real storage by tables of its own.
    pub(crate) owns_real: bool,
    /// Whether it must, whatever is recorded.
    pub(crate) needs_real: bool,
    pub(crate) spaces: ShadowSpaces,
    pub(crate) recent: Recent,
    /// The number of the next request that it has to carry out.
    pub(crate) seen: u64,
    /// The instruction-execution-protection bit of the guest's control register 0 when the entries were filled.
    pub(crate) execution_protection: u64,
    /// Real control registers 1 to 7 as last loaded.
    pub(crate) spaces_loaded: [u64; 7],
    /// Real control registers 0, 8, 13 and 14 as last loaded.
    pub(crate) loaded: [u64; 4],
    /// The guest's address-space-control elements for which registers 1 and 7 were loaded, and the number of spaces
    /// dropped by then.
    pub(crate) loaded_for: Option<[u64; 3]>,
    /// The guest's address-space-control element for which register 13 was loaded, and the number of spaces dropped by
    /// then.
    pub(crate) home_for: Option<[u64; 2]>,
    /// What a switch between a program and its control program needs of the two.
    pub(crate) ready: Ready,
    /// Where the last entries were filled.
    pub(crate) last_filled: [LastFilled; LastFilled::PLACES],
    /// The instruction that is executed alone, from the request to the end.
    pub(crate) alone: Option<Alone>,
    /// What is in the pages for it.
    pub(crate) placed: Placed,
    /// The guest's prefix as the private tables have it.
    pub(crate) prefix: u64,
    /// Whether tables that the TLB may have entries of were dropped since it was last purged.
    pub(crate) purges_tlb: bool,
    /// Shadow fills so far.
    pub fills: u64,
    /// How often it was emptied.
    pub purges: u64,
    /// The most units of the pool that were ever in use at once.
    pub most_units: u64,
}

impl Shadow {
    /// The number of spaces dropped and of times that the shadow was emptied, together.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.spaces.drops
    }
}
