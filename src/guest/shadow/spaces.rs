//! The address spaces in a CPU's DAT-on shadow, and how [`fill`] enters translations into them.
//!
//! A space is found by the guest's address-space-control element, and has two sides. It has units of the CPU's
//! pool: one for each of its region and segment tables, and one for every four page tables. When there is no more
//! room the space goes that was not used for the longest time, with all its units.

use super::identity::identity_asce;
use super::pool::{Pool, UNIT_LENGTH};
use super::renewal::{Filled, forget_what_has_moved, renew_entries};
use super::requests::Request;
use super::{Side, entry, is_complete, stale};
use crate::arch::address::{Absolute, PAGE, Real, Virtual};
use crate::arch::control::asce;
use crate::arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION, RTE_INVALID, STE_INVALID,
};
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Translation};
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::scanner;
use crate::guest::vcpu::Vcpu;

/// Spaces among which one is looked for.
const WAYS: usize = 4;
/// The most address spaces that a CPU's shadow holds at once.
pub(super) const SPACES: usize = 16 * WAYS;

/// One guest address space in a CPU's shadow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Space {
    /// The guest's address-space-control element.
    guest: u64,
    /// The shadow's, by [`Side`]; zero where there is none yet.
    shadow: [u64; 3],
    /// Whether it is there.
    is_there: bool,
    /// Whether its program executes pages that have copies.
    is_split: bool,
    /// When it was last used, by [`Spaces::uses`].
    used: u64,
    /// The first one of its units.
    units: u64,
    /// The unit that has page tables left to take; zero if there is none.
    open: u64,
}

/// The spaces of a CPU, and the units that are not theirs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spaces {
    spaces: [Space; SPACES],
    /// How often any space was used.
    uses: u64,
    /// The first unit that was given back; zero if there is none.
    free: u64,
    /// How many units were ever taken since the shadow was last emptied.
    fresh: u64,
    /// How many spaces were dropped so far.
    pub(super) drops: u64,
}

impl Default for Spaces {
    fn default() -> Self {
        Self {
            spaces: [Space::default(); SPACES],
            uses: 0,
            free: 0,
            fresh: 0,
            drops: 0,
        }
    }
}

/// The first one of the places in which the space of an address-space-control element may be. Control
/// programs take their highest tables from storage in 16 KiB, so the rightmost bits tell nothing.
const fn ways(guest: u64) -> usize {
    ((guest >> 14 ^ guest >> 18) as usize & (SPACES / WAYS - 1)) * WAYS
}

pub(super) fn pool(cpu: &Vcpu, configuration: &Configuration) -> Pool {
    configuration.shadow.pool(usize::from(cpu.address))
}

/// The place of the space of the guest's address-space-control element; makes an empty one if need be.
#[inline]
fn place<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
) -> usize {
    let spaces = &mut cpu.shadow.spaces;
    spaces.uses += 1;
    let ways = ways(guest);
    let mut oldest = ways;
    for at in ways..ways + WAYS {
        let space = &mut spaces.spaces[at];
        if space.guest == guest && space.is_there {
            space.used = spaces.uses;
            return at;
        }
        if space.used < spaces.spaces[oldest].used {
            oldest = at;
        }
    }
    create(cpu, configuration, hardware, guest, oldest)
}

/// Makes an empty space in a place.
#[cold]
fn create<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    at: usize,
) -> usize {
    let pool = pool(cpu, configuration);
    drop_space(cpu, pool, hardware, at);
    let used = cpu.shadow.spaces.uses;
    cpu.shadow.spaces.spaces[at] = Space {
        guest,
        used,
        is_there: true,
        ..Space::default()
    };
    at
}

/// The shadow's address-space-control element for a side of the space in a place. `None`: there is no room left.
#[inline]
fn root<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: usize,
    side: Side,
) -> Option<u64> {
    let space = &cpu.shadow.spaces.spaces[at];
    let found = space.shadow[side as usize];
    if found != 0 {
        return Some(found);
    }
    let guest = space.guest;
    let level = (guest & asce::DESIGNATION_TYPE) >> 2;
    let pool = pool(cpu, configuration);
    let table = take_table(cpu, pool, hardware, at, level)?;
    let kept = guest & (asce::DESIGNATION_TYPE | asce::PRIVATE_SPACE);
    let root = table.0 | kept | asce::TABLE_LENGTH;
    cpu.shadow.spaces.spaces[at].shadow[side as usize] = root;
    Some(root)
}

/// The shadow's address-space-control element for a side of the guest's, if there is one.
pub(super) fn find(cpu: &Vcpu, guest: u64, side: Side) -> Option<u64> {
    let ways = ways(guest);
    let spaces = &cpu.shadow.spaces.spaces[ways..ways + WAYS];
    let space = spaces
        .iter()
        .find(|space| space.is_there && space.guest == guest)?;
    let found = space.shadow[side as usize];
    (found != 0).then_some(found)
}

/// The shadow's address-space-control element for a side of the guest's. `None`: there is no room left.
pub(super) fn space<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    side: Side,
) -> Option<u64> {
    if is_complete(cpu, guest) {
        // Low-address protection is not in effect in a private space, a real one included.
        let private = guest & asce::PRIVATE_SPACE;
        let number = usize::from(cpu.address);
        return Some(identity_asce(configuration, number, side) | private);
    }
    let at = place(cpu, configuration, hardware, guest);
    root(cpu, configuration, hardware, at, side)
}

/// The one table of a program's space, unless it has two sides.
pub(super) fn whole<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
) -> Option<u64> {
    loop {
        let at = place(cpu, configuration, hardware, guest);
        if cpu.shadow.spaces.spaces[at].is_split {
            return None;
        }
        match root(cpu, configuration, hardware, at, Side::Whole) {
            Some(found) => return Some(found),
            None => empty(cpu, configuration, hardware),
        }
    }
}

/// A program's space has two sides from now on.
pub(super) fn split<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
) {
    let at = place(cpu, configuration, hardware, guest);
    cpu.shadow.spaces.spaces[at].is_split = true;
}

/// Drops a space, if there is one in this place: its units are free.
fn drop_space<H: Hardware>(cpu: &mut Vcpu, pool: Pool, hardware: &mut H, at: usize) {
    let spaces = &mut cpu.shadow.spaces;
    let space = core::mem::take(&mut spaces.spaces[at]);
    let mut unit = space.units;
    while unit != 0 {
        let next = pool.next(hardware, unit);
        pool.release(hardware, unit);
        pool.set_next(hardware, unit, spaces.free);
        spaces.free = unit;
        unit = next;
    }
    if space.is_there {
        spaces.drops += 1;
        cpu.shadow.recent.lose();
        // It may be one of those that the hardware translates by.
        cpu.due |= Due::CONTROLS;
        hardware.purge_tlb();
    }
}

/// Takes a unit for the space in a place; another space is dropped if there is none.
fn take<H: Hardware>(cpu: &mut Vcpu, pool: Pool, hardware: &mut H, at: usize) -> Option<u64> {
    loop {
        let spaces = &mut cpu.shadow.spaces;
        let unit = if spaces.free != 0 {
            let unit = spaces.free;
            spaces.free = pool.next(hardware, unit);
            unit
        } else if spaces.fresh < pool.plan.units {
            spaces.fresh += 1;
            pool.unit(spaces.fresh - 1)
        } else {
            let others = spaces.spaces.iter().enumerate();
            let (oldest, _) = others
                .filter(|&(other, space)| other != at && space.is_there)
                .min_by_key(|(_, space)| space.used)?;
            drop_space(cpu, pool, hardware, oldest);
            continue;
        };
        let space = &mut spaces.spaces[at];
        pool.set_next(hardware, unit, space.units);
        pool.start(hardware, unit);
        space.units = unit;
        return Some(unit);
    }
}

/// Takes a region or segment table (3 region first … 0 segment), all entries invalid.
fn take_table<H: Hardware>(
    cpu: &mut Vcpu,
    pool: Pool,
    hardware: &mut H,
    at: usize,
    level: u64,
) -> Option<Real> {
    let table = pool.table(take(cpu, pool, hardware, at)?);
    hardware.hsa_fill(table, UNIT_LENGTH, RTE_INVALID | (level << 2));
    Some(table)
}

/// Takes a page table for the segment of a virtual address.
fn take_page_table<H: Hardware>(
    cpu: &mut Vcpu,
    pool: Pool,
    hardware: &mut H,
    at: usize,
    address: Virtual,
    origin: Absolute,
) -> Option<Real> {
    let open = cpu.shadow.spaces.spaces[at].open;
    let unit = if open == 0 {
        take(cpu, pool, hardware, at)?
    } else {
        open
    };
    let segment = Virtual(address.0 & !(super::SEGMENT - 1));
    let (table, last) = pool.take_page_table(hardware, unit, segment, origin);
    cpu.shadow.spaces.spaces[at].open = if last { 0 } else { unit };
    Some(table)
}

/// Empties this CPU's DAT-on shadow, and forgets the translations kept for millicode.
pub fn empty<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.due |= Due::CONTROLS;
    cpu.forget_translations();
    hardware.purge_tlb();
    let spaces = &mut cpu.shadow.spaces;
    if spaces.fresh != 0 {
        let drops = spaces.drops + 1;
        *spaces = Spaces {
            drops,
            ..Spaces::default()
        };
        cpu.shadow.recent.clear();
        cpu.shadow.purges += 1;
        pool(cpu, configuration).forget(hardware);
    }
}

/// Brings this CPU's DAT-on shadow in line with what was posted since it last did. Gives whether any of
/// it may have changed what a guest's tables say.
pub(super) fn catch_up<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let pool = pool(cpu, configuration);
    let posted = configuration.shadow.requests.posted();
    let mut purged = false;
    while cpu.shadow.seen != posted {
        let Some(request) = configuration.shadow.requests.get(cpu.shadow.seen) else {
            // It has fallen too far behind.
            cpu.shadow.seen = posted;
            empty(cpu, configuration, hardware);
            return true;
        };
        cpu.shadow.seen += 1;
        purged |= !matches!(request, Request::Frame(_));
        match request {
            Request::Frame(at) => {
                cpu.forget_operands_in(at);
                pool.invalidate_frame(hardware, at);
            }
            Request::Entry(at) => pool.invalidate_entry(hardware, at),
            Request::Space(origin) => {
                cpu.forget_translations();
                for at in 0..SPACES {
                    if cpu.shadow.spaces.spaces[at].guest & asce::ORIGIN == origin {
                        drop_space(cpu, pool, hardware, at);
                    }
                }
            }
            Request::All => renew_entries(cpu, configuration, hardware),
        }
    }
    if purged {
        forget_what_has_moved(cpu, configuration, hardware);
    }
    purged
}

/// Enters a translation of the guest's into the DAT-on shadow: the shadow fill.
///
/// `guest` is the address-space-control element that `at` was translated by. If a guest has purged
/// anything since then the translation may be out of date: it is not entered, and the guest tries
/// again.
pub fn fill<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    at: Virtual,
    translation: &Translation,
    access: Access,
) {
    if is_complete(cpu, guest) {
        return;
    }
    if stale(cpu, configuration) && catch_up(cpu, configuration, hardware) {
        return;
    }
    let frame = cpu.absolute(translation.real).page();
    if access == Access::Execute && configuration.channels.present() {
        scanner::look_again(configuration, hardware, frame);
    }
    let side = Side::of(cpu, access);
    let mut value = entry(configuration, usize::from(cpu.address), side, frame);
    if value & PTE_INVALID != 0 {
        return;
    }
    if translation.protected {
        value |= PTE_PROTECTION;
    }
    if translation.execution_protected {
        value |= PTE_EXECUTION_PROTECTION;
    }
    let origin = cpu.absolute(translation.entry);
    // Whoever needs more room than there is gets all of it.
    let table = loop {
        match page_table(cpu, configuration, hardware, guest, side, at, origin) {
            Some(table) => break table,
            None => empty(cpu, configuration, hardware),
        }
    };
    let entry = table.offset((at.0 >> 12 & 0xFF) * 8);
    pool(cpu, configuration).enter(hardware, entry, frame, value);
    cpu.shadow.recent.note(Filled {
        guest,
        at: at.page(),
        translation: *translation,
        entry,
    });
    cpu.shadow.fills += 1;
}

/// The shadow page table for a virtual address, whose entry in the guest's own is at `from`.
#[inline]
fn page_table<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    side: Side,
    address: Virtual,
    from: Absolute,
) -> Option<Real> {
    let pool = pool(cpu, configuration);
    let origin = Absolute(from.0 & !0x7FF);
    let at = place(cpu, configuration, hardware, guest);
    let shadow = root(cpu, configuration, hardware, at, side)?;
    let mut level = (shadow & asce::DESIGNATION_TYPE) >> 2;
    let mut table = Real(shadow & asce::ORIGIN);
    loop {
        let index = (address.0 >> (20 + 11 * level)) & 0x7FF;
        let slot = table.offset(index * 8);
        let found = hardware.hsa_load(slot);
        if level == 0 {
            if found & STE_INVALID == 0 {
                let table = Real(found & !0x7FF);
                if pool.origin(hardware, table) != origin {
                    pool.set_origin(hardware, table, origin);
                    hardware.purge_tlb();
                }
                return Some(table);
            }
            let new = take_page_table(cpu, pool, hardware, at, address, origin)?;
            hardware.hsa_store(slot, new.0);
            cpu.fills.segments += 1;
            return Some(new);
        }
        table = if found & RTE_INVALID == 0 {
            Real(found & !(PAGE - 1))
        } else {
            let new = take_table(cpu, pool, hardware, at, level - 1)?;
            hardware.hsa_store(slot, new.0 | (level << 2) | 3);
            new
        };
        level -= 1;
    }
}

/// Every valid entry of a CPU's shadow: the guest's address-space-control element, the side, the virtual
/// address, and the entry.
#[cfg(test)]
pub(super) fn valid_entries<H: Hardware>(
    cpu: &Vcpu,
    hardware: &H,
) -> Vec<(u64, Side, Virtual, u64)> {
    fn walk<H: Hardware>(
        hardware: &H,
        level: u64,
        table: Real,
        base: u64,
        found: &mut Vec<(Virtual, u64)>,
    ) {
        for index in 0..2048 {
            let value = hardware.hsa_load(table.offset(index * 8));
            if value & RTE_INVALID != 0 {
                continue;
            }
            let at = base + (index << (20 + 11 * level));
            if level != 0 {
                walk(hardware, level - 1, Real(value & !0xFFF), at, found);
                continue;
            }
            for page in 0..256 {
                let entry = hardware.hsa_load(Real(value & !0x7FF).offset(page * 8));
                if entry & PTE_INVALID == 0 {
                    found.push((Virtual(at + page * PAGE), entry));
                }
            }
        }
    }
    let spaces = cpu.shadow.spaces.spaces.iter();
    let mut all = Vec::new();
    for space in spaces {
        for side in [Side::Instructions, Side::Operands, Side::Whole] {
            let mut found = Vec::new();
            let shadow = space.shadow[side as usize];
            if shadow == 0 {
                continue;
            }
            let level = (shadow & asce::DESIGNATION_TYPE) >> 2;
            let root = Real(shadow & asce::ORIGIN);
            walk(hardware, level, root, 0, &mut found);
            let found = found.into_iter();
            all.extend(found.map(|(at, entry)| (space.guest, side, at, entry)));
        }
    }
    all
}
