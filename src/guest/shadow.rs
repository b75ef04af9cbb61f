//! The shadow of the guest's address spaces: what the hardware really translates with.
//!
//! A guest with DAT off runs on an eager *identity* shadow, whose page tables the CPUs share; only
//! the segment table and the page tables for absolute 0 and the guest's prefix are per CPU. A guest
//! with DAT on runs on a shadow that is nothing but a large TLB: 4 KiB entries, filled when the
//! hardware misses one, from the guest's own tables, cached by the value of the address-space-control
//! element, and emptied by what the architecture makes the guest issue.
//!
//! **The large TLB is precise.** An entry goes when one of the two things that it was made of changes, and
//! no other one goes with it:
//!
//! | What changes                                        | What goes                                          |
//! |-----------------------------------------------------|----------------------------------------------------|
//! | the state of a page frame ([`page_changed`])        | the entries that map the frame                     |
//! | a guest's page-table entry (IPTE)                   | the entries that were filled from it               |
//! | a guest's address space (IDTE that clears by ASCE)  | the spaces with this origin                        |
//! | region- or segment-table entries (IDTE), or CSP(G)  | on all CPUs, what the tables say no more           |
//! | nothing that is told (PTLB)                         | on this CPU, what the tables say no more           |
//! | the prefix                                          | everything, on this CPU                            |
//!
//! What the tables say no more is found by looking while little was filled, and is everything after that
//! (`renewal`).
//!
//! So each page frame leads to the entries that map it, and each of the guest's page tables to the shadow
//! page tables that were filled from it (`pool`). A CPU changes its own tables alone, and learns from
//! `requests` what the others did: in exact mode, where one CPU runs at a time, before its guest executes
//! another instruction. In real-time mode it may be in the guest then, and goes on with what its TLB
//! has until its next interruption, or be about to fill: then it drops the translation that it found in
//! the guest's tables.
//!
//! No entry ever designates the HSA, code copies aside (and those never for stores): every absolute
//! address is checked against the guest's storage before it becomes an entry, and real 0-1FFF, which
//! is the machine's own prefix area, is never mapped.

use crate::arch::address::{Absolute, PAGE, PREFIX_AREA, Real};
use crate::arch::control;
use crate::arch::table::{PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION};
use crate::guest::configuration::{Configuration, MAXIMUM_CPUS};
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::scanner::PageState;
use crate::guest::vcpu::Vcpu;
use core::sync::atomic::{AtomicU64, Ordering};

mod identity;
mod pool;
mod renewal;
mod requests;
mod spaces;
mod watching;

use identity::{build_private, identity_asce};
use pool::{Plan, Pool};
use renewal::Recent;
use requests::Requests;
use spaces::{Spaces, catch_up, space};

pub use identity::{build_identity, page_changed};
pub use renewal::renew;
pub use requests::Request;
pub use spaces::{empty, fill};
pub use watching::{
    Role, Watching, allow, forbid, forget_watches, is_allowed, is_allowed_by_identity, is_known,
};

/// Bytes of a region or segment table with 2048 entries.
const TABLE: u64 = 2048 * 8;
/// Bytes of a page table with 256 entries.
const PAGE_TABLE: u64 = 256 * 8;
/// Bytes that a segment, and so a page table, covers.
const SEGMENT: u64 = 1 << 20;

/// Bytes of HSA that each CPU's private identity tables take.
pub const PRIVATE_LENGTH: u64 = TABLE + 4 * PAGE_TABLE;

/// Where the shadow tables stand in the HSA, and what all CPUs must know of one another.
#[derive(Debug)]
pub struct SharedShadow {
    /// The identity page tables, 2 KiB for each MiB of the guest's storage.
    pub identity: Real,
    /// Private identity tables, [`PRIVATE_LENGTH`] bytes for each CPU: segment table, page table of
    /// segment 0, page table of the prefix's segment, page tables of the watched pages' segments.
    pub private: Real,
    /// The pools for the tables of DAT-on spaces.
    pub pools: Real,
    /// Bytes of one CPU's pool.
    pub pool_length: u64,
    /// What stands where in a pool.
    plan: Plan,
    /// The machine's own prefix on each CPU: absolute 0-1FFF is behind it.
    pub machine_prefix: [u64; MAXIMUM_CPUS],
    /// The guest's prefix on each CPU, as its private tables have it.
    guest_prefix: [AtomicU64; MAXIMUM_CPUS],
    /// The page that each CPU watches.
    watching: [Watching; MAXIMUM_CPUS],
    /// What DAT-on shadows may no longer hold.
    requests: Requests,
}

impl SharedShadow {
    /// The plan of the shadow tables for `storage` bytes of guest storage; [`build_identity`] fills
    /// them.
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
            watching: Default::default(),
            requests: Requests::new(),
        }
    }

    /// Bytes of identity page tables that `storage` bytes of guest storage need.
    #[must_use]
    pub const fn identity_length(storage: u64) -> u64 {
        storage.div_ceil(SEGMENT) * PAGE_TABLE
    }

    /// Bytes that one CPU's pool should have for `storage` bytes of guest storage: room to map each page
    /// frame once, as control programs do, and for the page frames' heads, and 1 MiB for the
    /// address spaces of programs.
    #[must_use]
    pub const fn pool_length(storage: u64) -> u64 {
        ((1 << 20) + storage / 256 + storage / 512).next_multiple_of(PAGE)
    }

    /// How many requests to drop something were posted so far.
    #[must_use]
    #[inline]
    pub fn posted(&self) -> u64 {
        self.requests.posted()
    }

    fn pool(&self, cpu: usize) -> Pool {
        Pool {
            plan: self.plan,
            base: self.pools.offset(cpu as u64 * self.pool_length),
        }
    }

    fn machine_prefix(&self, cpu: usize) -> u64 {
        self.machine_prefix.get(cpu).copied().unwrap_or(0)
    }

    fn guest_prefix(&self, cpu: usize) -> u64 {
        self.guest_prefix
            .get(cpu)
            .map_or(0, |prefix| prefix.load(Ordering::Relaxed))
    }

    const fn segment_table(&self, cpu: usize) -> Real {
        Real(self.private.0 + cpu as u64 * PRIVATE_LENGTH)
    }

    const fn low_table(&self, cpu: usize) -> Real {
        Real(self.segment_table(cpu).0 + TABLE)
    }

    const fn prefix_table(&self, cpu: usize) -> Real {
        Real(self.low_table(cpu).0 + PAGE_TABLE)
    }

    const fn watching_table(&self, cpu: usize, role: Role) -> Real {
        Real(self.prefix_table(cpu).0 + PAGE_TABLE * (1 + role as u64))
    }

    const fn identity_table(&self, segment: u64) -> Real {
        Real(self.identity.0 + segment * PAGE_TABLE)
    }
}

/// The shadow of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shadow {
    spaces: Spaces,
    recent: Recent,
    /// The number of the next request that concerns it.
    seen: u64,
    /// Whether the guest had instruction-execution protection on when its entries were filled: the bit
    /// of control register 0.
    execution_protection: u64,
    /// Real control registers 0, 1, 7, 13, 6, 8 and 14 as last loaded.
    loaded: [u64; 7],
    /// The guest's prefix as the private tables have it.
    prefix: u64,
    /// Shadow fills so far.
    pub fills: u64,
    /// Times that it was emptied.
    pub purges: u64,
}

impl Shadow {
    /// Spaces that were dropped so far, and times that it was emptied, together.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.spaces.drops
    }
}

/// The real CR0 bits that the machine needs whatever the guest does: its clock, and its signals.
const CR0_MACHINE: u64 = control::CR0_CLOCK_COMPARATOR
    | control::CR0_EMERGENCY_SIGNAL
    | control::CR0_CPU_TIMER
    | control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
/// The CR0 bits that change what the guest's program can do, and so are mirrored in hardware.
const CR0_MIRRORED: u64 = control::CR0_LOW_ADDRESS_PROTECTION
    | control::CR0_SECONDARY_SPACE
    | control::CR0_AFP
    | control::CR0_VECTOR;

/// The entry by which CPU `cpu` maps the absolute page `at`, without what a guest's table adds.
fn entry(configuration: &Configuration, cpu: usize, at: Absolute) -> u64 {
    if !configuration.holds(at, PAGE) {
        return PTE_INVALID;
    }
    let frame = if at.0 < PREFIX_AREA {
        at.0 + configuration.shadow.machine_prefix(cpu)
    } else {
        at.0
    };
    let watched = if configuration.pages.watched(at) {
        PTE_EXECUTION_PROTECTION
    } else {
        0
    };
    match configuration.pages.state(at) {
        PageState::Data => frame | PTE_EXECUTION_PROTECTION,
        PageState::Text => frame | PTE_PROTECTION | watched,
        PageState::Open => frame,
        PageState::Copied(copy) => copy.0 | PTE_PROTECTION | watched,
    }
}

/// Has the DAT-on shadows of all CPUs, this one too, drop what a guest's purge names; the guest's tables
/// have been changed.
///
/// Another CPU takes notice when it next leaves the firmware.
pub fn purge(configuration: &Configuration, what: Request) {
    configuration.shadow.requests.post(what);
}

/// Whether any CPU purged the DAT-on shadows, or the state of any page changed, since this CPU last
/// left the firmware: what it keeps of translations and of pages is not to be trusted then.
#[must_use]
#[inline]
pub fn stale(cpu: &Vcpu, configuration: &Configuration) -> bool {
    cpu.shadow.seen != configuration.shadow.posted()
}

/// Loads the real control registers that the guest's state asks for, where they differ.
///
/// Every real LCTLG empties the whole TLB of QEMU, so nothing is loaded twice.
pub fn load_controls<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.due.clear(Due::CONTROLS);
    let number = usize::from(cpu.address);
    if cpu.shadow.prefix != cpu.prefix {
        cpu.shadow.prefix = cpu.prefix;
        if let Some(prefix) = configuration.shadow.guest_prefix.get(number) {
            prefix.store(cpu.prefix, Ordering::Relaxed);
        }
        build_private(configuration, hardware, number);
        empty(cpu, configuration, hardware);
    }
    let protection = cpu.control[0] & control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
    if cpu.shadow.execution_protection != protection {
        cpu.shadow.execution_protection = protection;
        empty(cpu, configuration, hardware);
    }
    if stale(cpu, configuration) {
        catch_up(cpu, configuration, hardware);
    }
    let spaces = loop {
        let drops = cpu.shadow.spaces.drops;
        let found = if cpu.psw.dat() {
            [1, 7, 13].map(|n: usize| {
                let guest = cpu.control[n];
                space(cpu, configuration, hardware, guest)
            })
        } else {
            [Some(identity_asce(configuration, number)); 3]
        };
        match found {
            // A space that was dropped to make room may be one that was found before.
            _ if cpu.shadow.spaces.drops != drops => {}
            [Some(primary), Some(secondary), Some(home)] => break [primary, secondary, home],
            _ => empty(cpu, configuration, hardware),
        }
    };
    let zero = CR0_MACHINE | (cpu.control[0] & CR0_MIRRORED);
    for (slot, (register, value)) in [
        (0, zero),
        (1, spaces[0]),
        (7, spaces[1]),
        (13, spaces[2]),
        (6, cpu.control[6]),
        (8, cpu.control[8]),
        (14, cpu.control[14]),
    ]
    .into_iter()
    .enumerate()
    {
        if cpu.shadow.loaded[slot] != value {
            cpu.shadow.loaded[slot] = value;
            hardware.load_control(register, value);
        }
    }
    cpu.due.clear(Due::CONTROLS);
}

#[cfg(test)]
mod tests;
