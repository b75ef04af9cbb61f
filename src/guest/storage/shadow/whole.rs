//! Whether the shadow leads where it may lead.
//!
//! The tables change all the time, so no sum tells whether something else has changed them. Instead the tables are
//! walked as the hardware walks them. Each table must be in the storage for tables, and each entry must lead to guest
//! storage, to the machine's own prefix in the place of absolute 0, or, for instructions and read-only, to a code copy.
//!
//! The tables for an instruction that is executed alone are not walked.

use super::identity::identity_asce;
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::shadow::{SEGMENT, Side, TABLE};
use crate::state::vcpu::Vcpu;
use arch::address::{Absolute, PAGE, PREFIX_AREA, Real};
use arch::control::asce;
use arch::table::{
    PTE_FRAME, PTE_INVALID, PTE_PROTECTION, RTE_INVALID, RTE_ORIGIN, STE_INVALID, STE_ORIGIN,
};

/// Entries of a region or segment table, and of a page table.
const ENTRIES: u64 = TABLE / 8;
const PAGES: u64 = SEGMENT / PAGE;

/// The walk through the tables of one CPU.
struct Walk<'a, H> {
    configuration: &'a Configuration,
    hardware: &'a H,
    cpu: usize,
}

impl<H: Hardware> Walk<'_, H> {
    /// Whether an entry of a page table leads where it may.
    fn is_good(&self, side: Side, entry: u64) -> bool {
        if entry & PTE_INVALID != 0 {
            return true;
        }
        let frame = entry & PTE_FRAME;
        let configuration = self.configuration;
        if frame >= PREFIX_AREA && configuration.storage.holds_byte(Absolute(frame)) {
            return true;
        }
        let prefix = configuration.shadow.machine_prefix(self.cpu);
        if frame & !(PREFIX_AREA - 1) == prefix {
            return true;
        }
        let pages = &configuration.page_frames;
        let copy = frame.wrapping_sub(pages.copies.0) / PAGE;
        let is_copy = copy < pages.owners.len() as u64;
        is_copy && matches!(side, Side::Instructions) && entry & PTE_PROTECTION != 0
    }

    /// An entry of a page table that leads astray.
    fn astray_in_table(&self, side: Side, table: Real) -> Option<Real> {
        let mut places = (0..PAGES).map(|page| table.offset(page * 8));
        places.find(|&at| !self.is_good(side, self.hardware.hsa_load(at)))
    }

    /// Whether a page table is one of those that the CPUs share: they are looked at once for all.
    fn is_shared(&self, table: Real) -> bool {
        let shadow = &self.configuration.shadow;
        let inside = table.0.wrapping_sub(shadow.identity.0);
        inside < 2 * shadow.identity_side
    }

    /// Whether a whole table is in the storage for the tables of this CPU.
    fn is_own(&self, table: Real, length: u64) -> bool {
        let shadow = &self.configuration.shadow;
        let is_within = |begin: Real, room: u64| {
            let inside = table.0.checked_sub(begin.0);
            inside.is_some_and(|inside| inside + length <= room)
        };
        let pool = Real(shadow.pools.0 + self.cpu as u64 * shadow.pool_length);
        let upper = shadow.upper_tables();
        is_within(pool, shadow.pool_length)
            || is_within(
                shadow.segment_table(self.cpu, Side::Instructions),
                shadow.own_length(),
            )
            || is_within(upper.0, upper.1)
    }

    /// An entry that leads astray, among all to which the region or segment table leads that the entry at `from` designates.
    /// Level 0 is that of segment tables.
    fn astray(&self, side: Side, level: u64, table: Real, from: Real) -> Option<Real> {
        if !self.is_own(table, TABLE) {
            return Some(from);
        }
        let mut places = (0..ENTRIES).map(|number| table.offset(number * 8));
        places.find_map(|at| {
            let entry = self.hardware.hsa_load(at);
            match level {
                0 if entry & STE_INVALID != 0 => None,
                0 => {
                    let table = Real(entry & STE_ORIGIN);
                    if self.is_shared(table) {
                        None
                    } else if self.is_own(table, PAGES * 8) {
                        self.astray_in_table(side, table)
                    } else {
                        Some(at)
                    }
                }
                _ if entry & RTE_INVALID != 0 => None,
                _ => self.astray(side, level - 1, Real(entry & RTE_ORIGIN), at),
            }
        })
    }

    fn astray_in_space(&self, side: Side, element: u64) -> Option<Real> {
        let level = (element & asce::DESIGNATION_TYPE) >> 2;
        let table = Real(element & asce::ORIGIN);
        self.astray(side, level, table, table)
    }
}

/// An entry of the page tables that the CPUs share that leads astray.
#[must_use]
pub fn astray_in_shared_tables<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
) -> Option<Real> {
    let walk = Walk {
        configuration,
        hardware,
        cpu: 0,
    };
    let segments = configuration.storage.end().div_ceil(SEGMENT);
    Side::BOTH.into_iter().find_map(|side| {
        let mut tables =
            (0..segments).map(|segment| configuration.shadow.identity_table(segment, side));
        tables.find_map(|table| walk.astray_in_table(side, table))
    })
}

/// An entry of a CPU's own tables that leads astray.
#[must_use]
pub fn astray_in_own_tables<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Option<Real> {
    let walk = Walk {
        configuration,
        hardware,
        cpu: usize::from(cpu.address),
    };
    let identity = Side::BOTH
        .into_iter()
        .find_map(|side| walk.astray_in_space(side, identity_asce(configuration, walk.cpu, side)));
    identity.or_else(|| {
        cpu.shadow.spaces.spaces.iter().find_map(|space| {
            let sides = [Side::Instructions, Side::Operands, Side::Single];
            sides
                .into_iter()
                .find_map(|side| match space.shadow[side as usize] {
                    0 => None,
                    element => walk.astray_in_space(side, element),
                })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::shadow::build_identity;
    use crate::test_machine::Bench;

    #[test]
    fn no_entry_of_an_identity_shadow_leads_to_the_hardware_system_area() {
        let mut bench = Bench::new();
        build_identity(&bench.configuration, &mut bench.hardware);
        let end = bench.configuration.storage.end();
        let shadow = &bench.configuration.shadow;
        let [instructions, operands] = Side::BOTH;
        let copy = bench.configuration.page_frames.copies.0;
        let prefix = shadow.machine_prefix(0);
        let is_whole = |bench: &Bench| {
            let (configuration, hardware) = (&bench.configuration, &bench.hardware);
            astray_in_shared_tables(configuration, hardware).is_none()
                && astray_in_own_tables(&bench.cpu, configuration, hardware).is_none()
        };
        assert!(is_whole(&bench));
        let shared = |side| shadow.identity_table(2, side).offset(8);
        let low = |side| shadow.low_table(0, side).offset(8);
        let segment = shadow.segment_table(0, operands);
        for (at, value, is_good) in [
            (shared(operands), end - PAGE, true),
            (shared(operands), end + PREFIX_AREA, false),
            (shared(operands), end | PTE_INVALID, true),
            (shared(operands), prefix, true),
            (shared(operands), prefix + PREFIX_AREA, false),
            (shared(operands), 0, false),
            (shared(operands), copy | PTE_PROTECTION, false),
            (shared(instructions), copy | PTE_PROTECTION, true),
            (shared(instructions), copy, false),
            (low(operands), copy | PTE_PROTECTION, false),
            (low(operands), 1 << 40, false),
            (segment.offset(8), end + PREFIX_AREA, false),
            (segment.offset(8), 0x1_0000, false),
            (segment.offset(8), STE_INVALID | end, true),
        ] {
            let before = bench.hardware.hsa_load(at);
            bench.hardware.hsa_store(at, value);
            assert_eq!(is_whole(&bench), is_good, "{value:x} at {at:x?}");
            bench.hardware.hsa_store(at, before);
        }
        assert!(is_whole(&bench));
    }
}
