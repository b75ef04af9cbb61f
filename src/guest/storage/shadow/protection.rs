//! Protection of pages beyond that of the guest's tables and of the page frame's state.

use crate::hardware::Hardware;
use crate::state::access::Access;
use crate::state::configuration::Configuration;
use crate::state::shadow::{SEGMENT, Side};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::pool::pool;
use crate::storage::shadow::spaces::find;
use arch::address::{PAGE, Real, Virtual};
use arch::control::asce;
use arch::interruption::ProgramInterruption as Exception;
#[cfg(test)]
use arch::table::PTE_INVALID;
use arch::table::{PTE_EXECUTION_PROTECTION, PTE_PROTECTION, RTE_INVALID};

/// Forbids stores into pages of one of the guest's spaces, or their execution, until they are filled again.
pub fn protect<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    access: Access,
    pages: impl Iterator<Item = Virtual> + Clone,
) {
    let pool = pool(cpu, configuration);
    let (side, protection) = if access == Access::Execute {
        (Side::Instructions, PTE_EXECUTION_PROTECTION)
    } else {
        (Side::Operands, PTE_PROTECTION)
    };
    for side in [side, Side::Single] {
        let Some(root) = find(cpu, guest, side) else {
            continue;
        };
        // Pages are in the order of their addresses, so most of them have the same table as the one before.
        let mut segment = None;
        let mut table = None;
        for at in pages.clone() {
            if segment != Some(at.0 / SEGMENT) {
                segment = Some(at.0 / SEGMENT);
                table = page_table(hardware, root, at);
            }
            if let Some(table) = table {
                let entry = table.offset(at.0 / PAGE % 256 * 8);
                pool.protect(hardware, entry, protection);
            }
        }
    }
}

/// The page table for a virtual address, if there is one.
#[inline]
pub(super) fn page_table<H: Hardware>(hardware: &H, root: u64, at: Virtual) -> Option<Real> {
    find_page_table(hardware, root, at).ok()
}

/// The page table for a virtual address.
///
/// # Errors
/// There is none: the exception that the hardware meets.
#[inline]
pub(super) fn find_page_table<H: Hardware>(
    hardware: &H,
    root: u64,
    at: Virtual,
) -> Result<Real, Exception> {
    let mut level = (root & asce::DESIGNATION_TYPE) >> 2;
    if level < 3 && at.0 >> (31 + 11 * level) != 0 {
        return Err(Exception::AsceType);
    }
    let mut table = Real(root & asce::ORIGIN);
    loop {
        let index = at.0 >> (20 + 11 * level) & 0x7FF;
        let entry = hardware.hsa_load(table.offset(index * 8));
        // The invalid bit of a segment-table entry is in the same place.
        if entry & RTE_INVALID != 0 {
            return Err(match level {
                0 => Exception::SegmentTranslation,
                1 => Exception::RegionThirdTranslation,
                2 => Exception::RegionSecondTranslation,
                _ => Exception::RegionFirstTranslation,
            });
        }
        if level == 0 {
            return Ok(Real(entry & !0x7FF));
        }
        table = Real(entry & !(PAGE - 1));
        level -= 1;
    }
}

/// The protection bits of a page's entry on a side of a space; `None` without an entry.
#[cfg(test)]
pub fn forbidden<H: Hardware>(
    cpu: &Vcpu,
    hardware: &H,
    guest: u64,
    side: Side,
    at: Virtual,
) -> Option<u64> {
    let table = page_table(hardware, find(cpu, guest, side)?, at)?;
    let entry = hardware.hsa_load(table.offset(at.0 / PAGE % 256 * 8));
    let forbids = entry & (PTE_PROTECTION | PTE_EXECUTION_PROTECTION);
    (entry & PTE_INVALID == 0).then_some(forbids)
}
