//! The address spaces in a CPU's DAT-on shadow, and their tables.
//!
//! A space is found by the guest's address-space-control element, and has two sides. It has units of the CPU's
//! pool: one for each of its region and segment tables, and one for every four page tables. When there is no more
//! room, the space that was not used for the longest time is dropped, with all its units.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::spaces::{SPACES, ShadowSpace, ShadowSpaces, WAYS};
use crate::state::shadow::{SEGMENT, Side};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::identity::identity_asce;
use crate::storage::shadow::is_complete;
use crate::storage::shadow::pool::{Pool, UNIT_LENGTH, pool};
#[cfg(test)]
use arch::address::PAGE;
use arch::address::{Absolute, Real, Virtual};
use arch::control::asce;
#[cfg(test)]
use arch::table::PTE_INVALID;
use arch::table::RTE_INVALID;

/// The first of the places in which the space of an address-space-control element may be. Control programs
/// allocate their highest tables in units of 16 KiB, so the rightmost bits do not distinguish them.
const fn ways(guest: u64) -> usize {
    ((guest >> 14 ^ guest >> 18) as usize & (SPACES / WAYS - 1)) * WAYS
}

/// The place of the space of the guest's address-space-control element; makes an empty space if there is none.
#[inline]
pub(super) fn place<H: Hardware>(
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
    cpu.shadow.spaces.spaces[at] = ShadowSpace {
        guest,
        used,
        is_there: true,
        ..ShadowSpace::default()
    };
    at
}

/// The shadow's address-space-control element for a side of the space in a place; `None` if there is no room
/// left.
#[inline]
pub(super) fn root<H: Hardware>(
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

/// The shadow's address-space-control element for a side of the guest's space, if there is one.
pub(super) fn find(cpu: &Vcpu, guest: u64, side: Side) -> Option<u64> {
    let ways = ways(guest);
    let spaces = &cpu.shadow.spaces.spaces[ways..ways + WAYS];
    let space = spaces
        .iter()
        .find(|space| space.is_there && space.guest == guest)?;
    let found = space.shadow[side as usize];
    (found != 0).then_some(found)
}

/// The shadow's address-space-control element for a side of the guest's space; `None` if there is no room left.
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

/// The single table of a program's space, unless it has two sides, as every space has if the machine below cannot forbid
/// the execution of a page.
pub(super) fn single_table<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
) -> Option<u64> {
    loop {
        let at = place(cpu, configuration, hardware, guest);
        if cpu.shadow.spaces.spaces[at].is_split || !configuration.execution_protection {
            return None;
        }
        match root(cpu, configuration, hardware, at, Side::Single) {
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

/// Drops the space in this place, if there is one, and frees its units. The way out purges the TLB.
pub(super) fn drop_space<H: Hardware>(cpu: &mut Vcpu, pool: Pool, hardware: &mut H, at: usize) {
    let spaces = &mut cpu.shadow.spaces;
    let Some(space) = spaces.spaces.get_mut(at) else {
        return;
    };
    let space = core::mem::take(space);
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
        // The hardware may be translating by this space.
        cpu.pending_work |= PendingWork::CONTROLS;
        cpu.shadow.purges_tlb = true;
    }
}

/// Takes a unit for the space in a place; drops another space if there is none.
fn take<H: Hardware>(cpu: &mut Vcpu, pool: Pool, hardware: &mut H, at: usize) -> Option<u64> {
    loop {
        let spaces = &mut cpu.shadow.spaces;
        let unit = if spaces.free != 0 {
            let unit = spaces.free;
            spaces.free = pool.next(hardware, unit);
            unit
        } else if spaces.fresh < pool.plan.units {
            spaces.fresh += 1;
            cpu.shadow.most_units = cpu.shadow.most_units.max(spaces.fresh);
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
pub(super) fn take_table<H: Hardware>(
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
pub(super) fn take_page_table<H: Hardware>(
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
    let segment = Virtual(address.0 & !(SEGMENT - 1));
    let (table, last) = pool.take_page_table(hardware, unit, segment, origin);
    cpu.shadow.spaces.spaces[at].open = if last { 0 } else { unit };
    Some(table)
}

/// Empties this CPU's DAT-on shadow, and forgets the translations kept for millicode. The way out purges the TLB.
pub fn empty<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.pending_work |= PendingWork::CONTROLS;
    cpu.forget_translations();
    cpu.shadow.purges_tlb = true;
    let spaces = &mut cpu.shadow.spaces;
    if spaces.fresh != 0 {
        let drops = spaces.drops + 1;
        *spaces = ShadowSpaces {
            drops,
            ..ShadowSpaces::default()
        };
        cpu.shadow.recent.clear();
        cpu.shadow.purges += 1;
        pool(cpu, configuration).forget(hardware);
    }
}

/// Every valid entry of a CPU's shadow: the guest's address-space-control element, the side, the virtual
/// address, and the entry.
#[cfg(test)]
pub(crate) fn valid_entries<H: Hardware>(
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
        for side in [Side::Instructions, Side::Operands, Side::Single] {
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
