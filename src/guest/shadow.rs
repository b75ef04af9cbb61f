//! The shadow of the guest's address spaces: what the hardware really translates with.
//!
//! A guest with DAT off runs on an eager *identity* shadow, whose page tables the CPUs share; only
//! the segment table and the page tables for absolute 0 and the guest's prefix are per CPU. A guest
//! with DAT on runs on a shadow that is nothing but a large TLB: 4 KiB entries, filled when the
//! hardware misses one, from the guest's own tables, cached by the value of the address-space-control
//! element, and emptied by what the architecture makes the guest issue.
//!
//! **Every space is there twice** ([`Side`]): once for instructions, and once for operands. The hardware always
//! runs in the secondary-space mode, in which it fetches instructions from the primary space and accesses
//! operands in the secondary one, whatever the guest's own mode is: control register 1 has the
//! side for instructions of the space that the guest fetches them from, and control register 7 the side for operands
//! of the one that it accesses. So instructions can be fetched from a copy that no operand is ever found
//! in, an access exception tells by itself which of the two met it, and home spaces and guests with DAT off are
//! nothing special.
//!
//! Two registers are loaded for that whenever the guest goes to another space, and QEMU then translates everything anew.
//! So a program, which is in the problem state and the primary-space mode, has one table instead for both
//! ([`Side::Whole`]), control register 13, and the hardware runs it in the home-space mode. In this table no copy can
//! stand. A program that executes a page with a copy is given two sides, once and for all.
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
//! While pages are protected for program-event recording, a guest with DAT off has real storage in a space of its
//! CPU's own, which is filled like any other ([`own_real`]).
//!
//! No entry ever designates the HSA, code copies aside (and those never for stores): every absolute
//! address is checked against the guest's storage before it becomes an entry, and real 0-1FFF, which
//! is the machine's own prefix area, is never mapped.

use crate::arch::address::{Absolute, PAGE, PREFIX_AREA, Real};
use crate::arch::control;
use crate::arch::psw::{ADDRESS_SPACE, AddressSpace, HOME_SPACE, SECONDARY_SPACE};
use crate::arch::table::{PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION};
use crate::guest::configuration::{Configuration, MAXIMUM_CPUS};
use crate::guest::dat::{Access, Space};
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::monitor;
use crate::guest::scanner::PageState;
use crate::guest::vcpu::Vcpu;
use core::sync::atomic::{AtomicU64, Ordering};

mod identity;
mod pool;
mod protection;
mod renewal;
mod requests;
mod spaces;

use identity::{build_private, identity_asce};
use pool::{Plan, Pool};
use renewal::Recent;
use requests::Requests;
use spaces::{Spaces, catch_up, space, whole};

pub use identity::{build_identity, page_changed};
#[cfg(test)]
pub use protection::forbidden;
pub use protection::protect;
pub use renewal::renew;
pub use requests::Request;
pub use spaces::{empty, fill};

/// Bytes of a region or segment table with 2048 entries.
const TABLE: u64 = 2048 * 8;
/// Bytes of a page table with 256 entries.
const PAGE_TABLE: u64 = 256 * 8;
/// Bytes that a segment, and so a page table, covers.
const SEGMENT: u64 = 1 << 20;

/// Bytes of HSA that each CPU's private identity tables take.
pub const PRIVATE_LENGTH: u64 = 2 * PRIVATE_SIDE;
/// Bytes of those of one side.
const PRIVATE_SIDE: u64 = TABLE + 2 * PAGE_TABLE;

/// One of the two tables that translate a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// By which instructions are fetched, those in code copies among them: real control register 1.
    Instructions,
    /// By which operands are accessed: real control register 7.
    Operands,
    /// By which a program that executes no code copies does both: real control register 13.
    Whole,
}

impl Side {
    /// The two that a guest with DAT off has.
    const BOTH: [Self; 2] = [Self::Instructions, Self::Operands];

    /// The side that an access of the CPU goes by.
    const fn of(cpu: &Vcpu, access: Access) -> Self {
        match access {
            _ if is_whole(cpu) => Self::Whole,
            Access::Execute => Self::Instructions,
            Access::Fetch | Access::Store => Self::Operands,
        }
    }
}

/// Where the shadow tables stand in the HSA, and what all CPUs must know of one another.
#[derive(Debug)]
pub struct SharedShadow {
    /// The identity page tables, for each side 2 KiB for each MiB of the guest's storage.
    pub identity: Real,
    /// Private identity tables, [`PRIVATE_LENGTH`] bytes for each CPU, for each side: segment table, page table
    /// of segment 0, page table of the prefix's segment.
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
    /// Bytes of the identity page tables of one side.
    identity_side: u64,
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
            identity_side: Self::identity_length(storage) / 2,
            requests: Requests::new(),
        }
    }

    /// Bytes of identity page tables that `storage` bytes of guest storage need.
    #[must_use]
    pub const fn identity_length(storage: u64) -> u64 {
        2 * storage.div_ceil(SEGMENT) * PAGE_TABLE
    }

    /// Bytes that one CPU's pool should have for `storage` bytes of guest storage: room to map each page
    /// frame once, as control programs do, and for the page frames' heads, and 2 MiB for the
    /// address spaces of programs.
    #[must_use]
    pub const fn pool_length(storage: u64) -> u64 {
        ((2 << 20) + storage / 256 + storage / 512).next_multiple_of(PAGE)
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

    const fn segment_table(&self, cpu: usize, side: Side) -> Real {
        Real(self.private.0 + cpu as u64 * PRIVATE_LENGTH + side as u64 * PRIVATE_SIDE)
    }

    const fn low_table(&self, cpu: usize, side: Side) -> Real {
        Real(self.segment_table(cpu, side).0 + TABLE)
    }

    const fn prefix_table(&self, cpu: usize, side: Side) -> Real {
        Real(self.low_table(cpu, side).0 + PAGE_TABLE)
    }

    const fn identity_table(&self, segment: u64, side: Side) -> Real {
        Real(self.identity.0 + side as u64 * self.identity_side + segment * PAGE_TABLE)
    }
}

/// The address-space-control element of real storage, where it is a space like others ([`own_real`]).
const REAL: u64 = control::asce::REAL_SPACE;

/// The shadow of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shadow {
    /// Whether real storage is translated by tables of this CPU's own.
    owns_real: bool,
    spaces: Spaces,
    recent: Recent,
    /// The number of the next request that concerns it.
    seen: u64,
    /// Whether the guest had instruction-execution protection on when its entries were filled: the bit
    /// of control register 0.
    execution_protection: u64,
    /// Real control registers 1 to 7 as last loaded.
    spaces_loaded: [u64; 7],
    /// Real control registers 0, 8, 13 and 14 as last loaded.
    loaded: [u64; 4],
    /// The guest's address-space-control elements that registers 1 and 7 were loaded for, and the spaces
    /// dropped by then.
    loaded_for: Option<[u64; 3]>,
    /// That of the program that register 13 was loaded for, and the spaces dropped by then.
    home_for: Option<[u64; 2]>,
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

/// Has real storage, and real spaces, translated by tables of the CPU's own, whose pages can be protected as those of
/// any space, or by the ones that the CPUs share.
pub fn own_real(cpu: &mut Vcpu, owns: bool) {
    if cpu.shadow.owns_real != owns {
        cpu.shadow.owns_real = owns;
        cpu.shadow.loaded_for = None;
        cpu.due |= Due::CONTROLS;
    }
}

/// The address-space-control element of the space of an access; with DAT off that of real storage.
#[must_use]
#[inline]
pub const fn asce(cpu: &Vcpu, access: Access) -> u64 {
    match Space::current(cpu, access) {
        Some(space) => space.asce(cpu),
        None => REAL,
    }
}

/// Whether a space is translated by tables that are complete from the beginning.
#[inline]
const fn is_complete(cpu: &Vcpu, guest: u64) -> bool {
    guest & control::asce::REAL_SPACE != 0 && !cpu.shadow.owns_real
}

/// The real CR0 bits that the machine needs whatever the guest does: its clock, and its signals; and
/// instructions that access two spaces go on to the test of their keys, which none passes in the problem state.
const CR0_MACHINE: u64 = control::CR0_CLOCK_COMPARATOR
    | control::CR0_EMERGENCY_SIGNAL
    | control::CR0_CPU_TIMER
    | control::CR0_SECONDARY_SPACE
    | control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
/// The CR0 bits that change what the guest's program can do, and so are mirrored in hardware.
const CR0_MIRRORED: u64 =
    control::CR0_LOW_ADDRESS_PROTECTION | control::CR0_AFP | control::CR0_VECTOR;

/// The entry by which CPU `cpu` maps the absolute page `at` on a side, without what a guest's table adds.
fn entry(configuration: &Configuration, cpu: usize, side: Side, at: Absolute) -> u64 {
    if !configuration.holds(at, PAGE) {
        return PTE_INVALID;
    }
    let frame = if at.0 < PREFIX_AREA {
        at.0 + configuration.shadow.machine_prefix(cpu)
    } else {
        at.0
    };
    match (side, configuration.pages.state(at)) {
        (Side::Instructions, PageState::Data) => PTE_INVALID,
        (Side::Instructions, PageState::Copied(copy)) => copy.0 | PTE_PROTECTION,
        (Side::Whole, PageState::Copied(_)) => frame | PTE_PROTECTION | PTE_EXECUTION_PROTECTION,
        (Side::Whole, PageState::Data) => frame | PTE_EXECUTION_PROTECTION,
        (_, PageState::Text | PageState::Copied(_)) => frame | PTE_PROTECTION,
        (_, PageState::Data | PageState::Open) => frame,
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
/// Every real LCTLG empties the whole TLB of QEMU, so nothing is loaded twice, and the spaces at once.
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
    let (spaces, home) = tables(cpu, configuration, hardware);
    let [subclasses, reports] = if cpu.per.is_stepping() {
        [0, cpu.control[14] & !control::CR14_CHANNEL_REPORT]
    } else {
        [cpu.control[6], cpu.control[14]]
    };
    let spaces = [spaces[0], 0, 0, 0, 0, subclasses, spaces[1]];
    if cpu.shadow.spaces_loaded != spaces {
        cpu.shadow.spaces_loaded = spaces;
        hardware.load_spaces(spaces);
    }
    let zero = CR0_MACHINE | (cpu.control[0] & CR0_MIRRORED);
    let others = [
        (0, zero),
        (8, monitor::real_control(cpu)),
        (13, home),
        (14, reports),
    ];
    for ((register, value), loaded) in others.into_iter().zip(&mut cpu.shadow.loaded) {
        if *loaded != value {
            *loaded = value;
            hardware.load_control(register, value);
        }
    }
    cpu.due.clear(Due::CONTROLS);
}

/// The real address-space control, and what real control registers 1 and 7, and 13, are to be. Those that the mode does not use stay as they are, unless
/// the table that they designate may have gone: nothing but storage of the guest is ever found by any of them.
#[inline]
fn tables<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> ([u64; 2], u64) {
    let number = usize::from(cpu.address);
    let identity = |side| identity_asce(configuration, number, side);
    cpu.real_space = SECONDARY_SPACE;
    let mut home = cpu.shadow.loaded[2];
    let mut spaces = [cpu.shadow.spaces_loaded[0], cpu.shadow.spaces_loaded[6]];
    if !cpu.psw.dat() && !cpu.shadow.owns_real {
        cpu.shadow.loaded_for = None;
        spaces = Side::BOTH.map(identity);
    } else if let Some(program) = program(cpu, configuration, hardware) {
        cpu.real_space = HOME_SPACE;
        home = program;
        let drops = cpu.shadow.spaces.drops;
        if cpu
            .shadow
            .loaded_for
            .is_none_or(|[_, _, then]| then != drops)
        {
            cpu.shadow.loaded_for = None;
            spaces = Side::BOTH.map(identity);
        }
    } else {
        spaces = sides(cpu, configuration, hardware);
    }
    let drops = cpu.shadow.spaces.drops;
    if !is_whole(cpu) && cpu.shadow.home_for.is_none_or(|[_, then]| then != drops) {
        cpu.shadow.home_for = None;
        home = identity(Side::Operands);
    }
    (spaces, home)
}

/// The one table of the program that the guest executes, if it has one.
#[inline]
fn program<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<u64> {
    let guest = cpu.control[1];
    if !cpu.psw.dat()
        || !cpu.psw.problem_state()
        || !matches!(cpu.psw.address_space(), AddressSpace::Primary)
        || guest & control::asce::REAL_SPACE != 0
    {
        return None;
    }
    if cpu.shadow.home_for == Some([guest, cpu.shadow.spaces.drops]) {
        return Some(cpu.shadow.loaded[2]);
    }
    let found = whole(cpu, configuration, hardware, guest)?;
    cpu.shadow.home_for = Some([guest, cpu.shadow.spaces.drops]);
    Some(found)
}

/// The program that the guest executes executes a page that has a copy: it has two sides from now on.
#[cold]
pub fn split<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let guest = cpu.control[1];
    spaces::split(cpu, configuration, hardware, guest);
    cpu.shadow.home_for = None;
    cpu.due |= Due::CONTROLS;
}

/// Whether the program that the guest executes has one table for instructions and operands.
#[must_use]
#[inline]
pub const fn is_whole(cpu: &Vcpu) -> bool {
    cpu.real_space & ADDRESS_SPACE == HOME_SPACE
}

/// The sides of the spaces that the guest fetches instructions from and accesses operands in.
#[inline]
fn sides<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> [u64; 2] {
    let [from, of] = [Access::Execute, Access::Fetch].map(|access| asce(cpu, access));
    loop {
        let wanted = [from, of, cpu.shadow.spaces.drops];
        if cpu.shadow.loaded_for == Some(wanted) {
            return [cpu.shadow.spaces_loaded[0], cpu.shadow.spaces_loaded[6]];
        }
        let found = [(from, Side::Instructions), (of, Side::Operands)]
            .map(|(guest, side)| space(cpu, configuration, hardware, guest, side));
        // A space that was dropped to make room may be one that was found before.
        if let ([Some(instructions), Some(operands)], true) =
            (found, cpu.shadow.spaces.drops == wanted[2])
        {
            cpu.shadow.loaded_for = Some(wanted);
            return [instructions, operands];
        }
        if found.contains(&None) {
            empty(cpu, configuration, hardware);
        }
    }
}

#[cfg(test)]
mod tests;
