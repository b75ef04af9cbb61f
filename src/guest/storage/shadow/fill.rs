//! The shadow fill: enters a translation of the guest into the DAT-on shadow of a CPU.

use crate::hardware::Hardware;
use crate::state::access::{Access, Translation};
use crate::state::configuration::Configuration;
use crate::state::shadow::recent::Filled;
use crate::state::shadow::{LastFilled, SEGMENT, Side};
use crate::state::vcpu::Vcpu;
use crate::storage::scanner;
use crate::storage::shadow::catch_up::catch_up;
use crate::storage::shadow::entry::entry;
use crate::storage::shadow::pool::pool;
use crate::storage::shadow::spaces::{empty, place, root, take_page_table, take_table};
use crate::storage::shadow::{is_complete, stale};
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::control::asce;
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION, RTE_INVALID, STE_INVALID,
};

/// Enters a translation of the guest into the DAT-on shadow: the shadow fill.
///
/// `guest` is the address-space-control element by which `at` was translated. If a guest has purged
/// anything since, the translation may be out of date: it is not entered, and the guest tries
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
        scanner::look_for_device_store(configuration, hardware, frame);
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
    // A space that needs more room than there is gets the whole pool.
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

/// The shadow page table for a virtual address, whose entry in the guest's own page table is at
/// `from`.
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
    let segment = Virtual(address.0 & !(SEGMENT - 1));
    let number = LastFilled::place(segment, side);
    let last = &cpu.shadow.last_filled[number];
    if last.guest == guest
        && last.segment == segment
        && last.side == side
        && last.drops == cpu.shadow.spaces.drops
        && pool.origin(hardware, last.table) == origin
    {
        return Some(last.table);
    }
    let table = walk(cpu, configuration, hardware, guest, side, address, origin)?;
    cpu.shadow.last_filled[number] = LastFilled {
        guest,
        segment,
        side,
        drops: cpu.shadow.spaces.drops,
        table,
    };
    Some(table)
}

/// The same by the shadow's own tables.
fn walk<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    side: Side,
    address: Virtual,
    origin: Absolute,
) -> Option<Real> {
    let pool = pool(cpu, configuration);
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
