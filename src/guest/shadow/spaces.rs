//! The DAT-on shadow of a CPU: a large TLB, which [`fill`] enters translations into.

use super::identity::identity_asce;
use super::watching::is_allowed;
use super::{PAGE_TABLE, SPACES, TABLE, entry, load_controls, stale};
use crate::arch::address::{PAGE, Real, Virtual};
use crate::arch::control::asce;
use crate::arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION, RTE_INVALID, STE_INVALID,
};
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Translation};
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::scanner::PageState;
use crate::guest::vcpu::Vcpu;

/// One guest address space in a CPU's shadow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Space {
    /// The guest's address-space-control element.
    guest: u64,
    /// The shadow's.
    pub(super) shadow: u64,
}

/// The shadow's address-space-control element for the guest's; makes an empty space if need be.
pub(super) fn space<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
) -> u64 {
    if guest & asce::REAL_SPACE != 0 {
        return identity_asce(configuration, usize::from(cpu.address));
    }
    let count = cpu.shadow.count.min(SPACES);
    if let Some(found) = cpu.shadow.spaces[..count]
        .iter()
        .find(|space| space.guest == guest)
    {
        return found.shadow;
    }
    if count == SPACES || cpu.shadow.used + 2 * TABLE > configuration.shadow.pool_length {
        empty(cpu, configuration, hardware);
    }
    let root = take(cpu, configuration, TABLE);
    let level = (guest & asce::DESIGNATION_TYPE) >> 2;
    clear_table(hardware, root, level);
    let shadow =
        root.0 | (guest & (asce::DESIGNATION_TYPE | asce::PRIVATE_SPACE)) | asce::TABLE_LENGTH;
    if let Some(slot) = cpu.shadow.spaces.get_mut(cpu.shadow.count) {
        *slot = Space { guest, shadow };
        cpu.shadow.count += 1;
    }
    shadow
}

/// Fills a region or segment table with invalid entries of its type (3 region first … 0 segment).
fn clear_table<H: Hardware>(hardware: &mut H, table: Real, level: u64) {
    let invalid = RTE_INVALID | (level << 2);
    for index in 0..TABLE / 8 {
        hardware.hsa_store(table.offset(index * 8), invalid);
    }
}

/// Takes a table of `length` bytes out of the CPU's pool, on the boundary that its kind needs; the
/// caller has made sure that there is room.
fn take(cpu: &mut Vcpu, configuration: &Configuration, length: u64) -> Real {
    let shadow = &configuration.shadow;
    let boundary = length.min(PAGE);
    let offset = cpu.shadow.used.next_multiple_of(boundary);
    cpu.shadow.used = offset + length;
    Real(shadow.pools.0 + u64::from(cpu.address) * shadow.pool_length + offset)
}

/// Empties this CPU's DAT-on shadow.
pub(super) fn empty<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.shadow.count = 0;
    cpu.shadow.used = 0;
    cpu.shadow.purges += 1;
    cpu.shadow.generation = configuration.shadow.generation();
    cpu.due |= Due::CONTROLS;
    hardware.purge_tlb();
}

/// Enters a translation of the guest's into the DAT-on shadow: the shadow fill.
///
/// `guest` is the address-space-control element that `at` was translated by.
pub fn fill<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    at: Virtual,
    translation: &Translation,
    access: Access,
) {
    let frame = cpu.absolute(translation.real);
    let mut value = entry(configuration, usize::from(cpu.address), frame);
    // Only who executes sees the copy; every other alias sees the original, until it executes too.
    if access != Access::Execute && matches!(configuration.pages.state(frame), PageState::Copied(_))
    {
        value = hardware.real_of(frame.page()).0 | PTE_PROTECTION | PTE_EXECUTION_PROTECTION;
    }
    if access == Access::Execute && is_allowed(cpu, configuration, frame, at) {
        value &= !PTE_EXECUTION_PROTECTION;
    }
    if translation.protected {
        value |= PTE_PROTECTION;
    }
    if translation.execution_protected {
        value |= PTE_EXECUTION_PROTECTION;
    }
    // A root, three tables and a page table at most are made, each on its boundary.
    if cpu.shadow.used + 5 * TABLE > configuration.shadow.pool_length || stale(cpu, configuration) {
        empty(cpu, configuration, hardware);
        load_controls(cpu, configuration, hardware);
    }
    let shadow = space(cpu, configuration, hardware, guest);
    let mut level = (shadow & asce::DESIGNATION_TYPE) >> 2;
    let mut table = Real(shadow & asce::ORIGIN);
    loop {
        let index = (at.0 >> (20 + 11 * level)) & 0x7FF;
        let slot = table.offset(index * 8);
        let found = hardware.hsa_load(slot);
        if level == 0 {
            let page_table = if found & STE_INVALID == 0 {
                Real(found & !0x7FF)
            } else {
                let new = take(cpu, configuration, PAGE_TABLE);
                for entry in 0..PAGE_TABLE / 8 {
                    hardware.hsa_store(new.offset(entry * 8), PTE_INVALID);
                }
                hardware.hsa_store(slot, new.0);
                cpu.fills.segments += 1;
                new
            };
            let index = (at.0 >> 12) & 0xFF;
            let old = hardware.hsa_load(page_table.offset(index * 8));
            if old & PTE_INVALID == 0 && old != value {
                hardware.invalidate_page(page_table, at);
            }
            hardware.hsa_store(page_table.offset(index * 8), value);
            break;
        }
        table = if found & RTE_INVALID == 0 {
            Real(found & !0xFFF)
        } else {
            let new = take(cpu, configuration, TABLE);
            clear_table(hardware, new, level - 1);
            hardware.hsa_store(slot, new.0 | (level << 2) | 3);
            new
        };
        level -= 1;
    }
    cpu.shadow.fills += 1;
}
