//! The identity shadow, for a guest with DAT off.
//!
//! It is complete from the beginning. The CPUs share its page tables; only the segment table and the page
//! tables for absolute 0 and the guest's prefix are each CPU's own.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::shadow::requests::Request;
use crate::state::shadow::{SEGMENT, Side, TABLE};
use crate::storage::shadow::crossing;
use crate::storage::shadow::entry::entry;
use crate::storage::shadow::{alone, slots};
use arch::address::{Absolute, PAGE, Real, Virtual, apply_prefix};
use arch::control::asce;
use arch::cpu::MAXIMUM_CPUS;
use arch::table::{PTE_INVALID, STE_INVALID};

/// Entries of a region or segment table.
const ENTRIES: u64 = TABLE / 8;

/// The length of a page table in bytes.
const TABLE_OF_PAGES: u64 = SEGMENT / PAGE * 8;

/// A region-third table, in its address-space-control element and in its entries, with all entries of the table that it
/// leads to.
const REGION_THIRD: u64 = 1 << 2 | asce::TABLE_LENGTH;

/// The entry that the CPUs share for the absolute page `at` on a side. What may not be executed behind every other page is not
/// executed here (`adjoining`).
fn shared_entry<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    side: Side,
    at: Absolute,
) -> u64 {
    if side == Side::Instructions && is_left_out_for_all(configuration, hardware, at) {
        return PTE_INVALID;
    }
    entry(configuration, 0, side, at)
}

/// The identity entry of CPU `cpu` for the guest-real page `real`.
fn identity_entry<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    cpu: usize,
    side: Side,
    real: Real,
) -> u64 {
    if side == Side::Instructions && is_left_out_for(configuration, hardware, cpu, real) {
        return PTE_INVALID;
    }
    let at = apply_prefix(real, configuration.shadow.guest_prefix(cpu));
    entry(configuration, cpu, side, at)
}

/// Whether the tables that the CPUs share have no page to execute at `at`, although it is text.
#[inline]
fn is_left_out_for_all<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    at: Absolute,
) -> bool {
    let pages = &configuration.page_frames;
    // In front of a segment, and behind it, each CPU may have another page.
    pages.begins(at)
        || pages.has_edge(at)
            && (matches!(at.0 / PAGE % 256, 0 | 255)
                || crosses(configuration, hardware, Real(at.0), 0))
}

/// Whether the tables of CPU `cpu` for its own segments have no page to execute at `real`, although it is text.
#[inline]
fn is_left_out_for<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    cpu: usize,
    real: Real,
) -> bool {
    let pages = &configuration.page_frames;
    let prefix = configuration.shadow.guest_prefix(cpu);
    let at = apply_prefix(real, prefix);
    pages.begins(at) || pages.has_edge(at) && crosses(configuration, hardware, real, prefix)
}

/// Whether an instruction that may not be executed extends from the page at `real` into the next one, or into it.
#[cold]
#[inline(never)]
fn crosses<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    real: Real,
    prefix: u64,
) -> bool {
    let [before, at, next] = [real.0.wrapping_sub(PAGE), real.0, real.0.wrapping_add(PAGE)]
        .map(|real| apply_prefix(Real(real), prefix));
    [(before, at), (at, next)]
        .into_iter()
        .any(|(first, second)| crossing::crosses(configuration, hardware, first, second))
}

/// Whether the real space of CPU `cpu` has no page to execute at `real`, although it is text.
pub(super) fn is_left_out<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    cpu: usize,
    real: Real,
) -> bool {
    match private_table(configuration, cpu, Side::Instructions, real.0) {
        Some(_) => is_left_out_for(configuration, hardware, cpu, real),
        None => is_left_out_for_all(configuration, hardware, Absolute(real.0)),
    }
}

/// The private page table of a CPU for the segment of a guest-real address, if there is one.
fn private_table(configuration: &Configuration, cpu: usize, side: Side, real: u64) -> Option<Real> {
    let shadow = &configuration.shadow;
    let segment = real / SEGMENT;
    if segment == 0 {
        Some(shadow.low_table(cpu, side))
    } else if segment == shadow.guest_prefix(cpu) / SEGMENT {
        Some(shadow.prefix_table(cpu, side))
    } else {
        None
    }
}

/// Builds the shared identity page tables and every CPU's private ones; the DAT-on shadows are empty.
pub fn build_identity<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    let shadow = &configuration.shadow;
    let segments = configuration.storage.end().div_ceil(SEGMENT);
    build_upper(configuration, hardware, segments);
    for segment in 0..segments {
        for side in Side::BOTH {
            build_shared(configuration, hardware, segment, side);
        }
    }
    for cpu in 0..MAXIMUM_CPUS.min(usize::from(configuration.cpus)) {
        build_private(configuration, hardware, cpu);
        alone::build(configuration, hardware, cpu);
        slots::build(configuration, hardware, cpu);
        shadow.pool(cpu).forget(hardware);
    }
}

/// Builds the page table of a segment that the CPUs share.
fn build_shared<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    segment: u64,
    side: Side,
) {
    let table = configuration.shadow.identity_table(segment, side);
    let first = Absolute(segment * SEGMENT);
    let is_data = configuration.page_frames.are_data(first, SEGMENT / PAGE);
    if is_data && side == Side::Instructions {
        // Nothing has been executed yet, in any page of most guests.
        hardware.hsa_fill(table, TABLE_OF_PAGES, PTE_INVALID);
        return;
    }
    let is_whole = is_data && segment != 0 && configuration.holds(first, SEGMENT);
    for page in 0..SEGMENT / PAGE {
        let at = first.offset(page * PAGE);
        // CPU 0 represents all: pages 0 and 1, which differ, are only reached by private tables.
        let value = if is_whole {
            at.0
        } else {
            shared_entry(configuration, hardware, side, at)
        };
        hardware.hsa_store(table.offset(page * 8), value);
    }
}

/// Builds the segment tables above the first region, which the CPUs share, and every CPU's region tables.
fn build_upper<H: Hardware>(configuration: &Configuration, hardware: &mut H, segments: u64) {
    let shadow = &configuration.shadow;
    for side in Side::BOTH {
        for segment in ENTRIES..shadow.regions * ENTRIES {
            let table = shadow.upper_segment_table(segment / ENTRIES, side);
            let value = if segment < segments {
                shadow.identity_table(segment, side).0
            } else {
                STE_INVALID
            };
            hardware.hsa_store(table.offset(segment % ENTRIES * 8), value);
        }
        for cpu in 0..usize::from(configuration.cpus) {
            let Some(table) = shadow.region_table(cpu, side) else {
                continue;
            };
            for region in 0..ENTRIES {
                let value = if region == 0 {
                    shadow.segment_table(cpu, side).0 | REGION_THIRD
                } else if region < shadow.regions {
                    shadow.upper_segment_table(region, side).0 | REGION_THIRD
                } else {
                    STE_INVALID | REGION_THIRD
                };
                hardware.hsa_store(table.offset(region * 8), value);
            }
        }
    }
}

/// Builds the private identity tables of one CPU for its present prefix.
pub(super) fn build_private<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    cpu: usize,
) {
    // Another CPU may be changing the state of a page.
    let _alone = configuration.page_frames.changing.lock();
    for side in Side::BOTH {
        build_private_side(configuration, hardware, cpu, side);
    }
}

fn build_private_side<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    cpu: usize,
    side: Side,
) {
    let shadow = &configuration.shadow;
    let table = shadow.segment_table(cpu, side);
    let segments = configuration.storage.end().div_ceil(SEGMENT);
    let prefix_segment = shadow.guest_prefix(cpu) / SEGMENT;
    for segment in 0..ENTRIES {
        let value = if segment == 0 {
            shadow.low_table(cpu, side).0
        } else if segment == prefix_segment {
            shadow.prefix_table(cpu, side).0
        } else if segment < segments {
            shadow.identity_table(segment, side).0
        } else {
            STE_INVALID
        };
        hardware.hsa_store(table.offset(segment * 8), value);
    }
    for (segment, table) in [
        (0, shadow.low_table(cpu, side)),
        (prefix_segment, shadow.prefix_table(cpu, side)),
    ] {
        for page in 0..256 {
            let real = Real(segment * SEGMENT + page * PAGE);
            let value = identity_entry(configuration, hardware, cpu, side, real);
            hardware.hsa_store(table.offset(page * 8), value);
        }
    }
}

/// Replaces the entry of `page` in a page table, and purges its translation.
fn replace<H: Hardware>(hardware: &mut H, table: Real, page: u64, value: u64) {
    let entry = table.offset((page / PAGE % 256) * 8);
    let before = hardware.hsa_load(entry);
    if before == value {
        return;
    }
    if before & PTE_INVALID == 0 {
        hardware.invalidate_page(table, Virtual(page));
    }
    hardware.hsa_store(entry, value);
}

/// Updates every shadow for a new state of the absolute page `at`. The caller holds the lock of the states
/// (`PageFrames::changing`).
pub fn page_changed<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    let shadow = &configuration.shadow;
    for side in Side::BOTH {
        let shared = shared_entry(configuration, hardware, side, at);
        let table = shadow.identity_table(at.0 / SEGMENT, side);
        replace(hardware, table, at.0, shared);
        for cpu in 0..MAXIMUM_CPUS.min(usize::from(configuration.cpus)) {
            let prefix = shadow.guest_prefix(cpu);
            // Prefixing is its own inverse: the guest-real page that this CPU sees there.
            let real = apply_prefix(Real(at.0), prefix).0;
            if let Some(table) = private_table(configuration, cpu, side, real) {
                let value = identity_entry(configuration, hardware, cpu, side, Real(real));
                replace(hardware, table, real, value);
            }
        }
    }
    shadow.requests.post(Request::Frame(at));
}

/// The address-space-control element of a side of the identity shadow of CPU `cpu`.
pub(super) fn identity_asce(configuration: &Configuration, cpu: usize, side: Side) -> u64 {
    let shadow = &configuration.shadow;
    match shadow.region_table(cpu, side) {
        None => shadow.segment_table(cpu, side).0 | asce::TABLE_LENGTH,
        Some(table) => table.0 | REGION_THIRD,
    }
}
