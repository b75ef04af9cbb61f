//! The identity shadow: what a guest with DAT off runs on.
//!
//! It is complete from the beginning. The CPUs share its page tables; only the segment table and the page
//! tables for absolute 0, the guest's prefix and the page under watch are each CPU's own.

use super::requests::Request;
use super::{SEGMENT, entry, watching};
use crate::arch::address::{Absolute, PAGE, Real, Virtual, apply_prefix};
use crate::arch::control::asce;
use crate::arch::table::{PTE_EXECUTION_PROTECTION, STE_INVALID};
use crate::guest::configuration::{Configuration, MAXIMUM_CPUS};
use crate::guest::hardware::Hardware;

/// The identity entry of CPU `cpu` for the guest-real page `real`.
pub(super) fn identity_entry(configuration: &Configuration, cpu: usize, real: Real) -> u64 {
    let at = apply_prefix(real, configuration.shadow.guest_prefix(cpu));
    let value = entry(configuration, cpu, at);
    if watching::identity_allows(configuration, cpu, at) {
        value & !PTE_EXECUTION_PROTECTION
    } else {
        value
    }
}

/// Builds the shared identity page tables and every CPU's private ones; the DAT-on shadows are empty.
pub fn build_identity<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    let shadow = &configuration.shadow;
    let segments = configuration.storage_end.div_ceil(SEGMENT);
    for page in 0..segments * 256 {
        let at = Absolute(page * PAGE);
        // CPU 0 stands for all: pages 0 and 1, which differ, are only reached by private tables.
        let value = entry(configuration, 0, at);
        hardware.hsa_store(shadow.identity.offset(page * 8), value);
    }
    for cpu in 0..MAXIMUM_CPUS.min(usize::from(configuration.cpus)) {
        build_private(configuration, hardware, cpu);
        shadow.pool(cpu).forget(hardware);
    }
}

/// Builds the private identity tables of one CPU for its present prefix.
pub(super) fn build_private<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    cpu: usize,
) {
    let shadow = &configuration.shadow;
    let table = shadow.segment_table(cpu);
    watching::reset(configuration, cpu);
    let segments = configuration.storage_end.div_ceil(SEGMENT);
    let prefix_segment = shadow.guest_prefix(cpu) / SEGMENT;
    for segment in 0..2048 {
        let value = if segment == 0 {
            shadow.low_table(cpu).0
        } else if segment == prefix_segment {
            shadow.prefix_table(cpu).0
        } else if segment < segments {
            shadow.identity_table(segment).0
        } else {
            STE_INVALID
        };
        hardware.hsa_store(table.offset(segment * 8), value);
    }
    for (segment, table) in [
        (0, shadow.low_table(cpu)),
        (prefix_segment, shadow.prefix_table(cpu)),
    ] {
        for page in 0..256 {
            let value = identity_entry(configuration, cpu, Real(segment * SEGMENT + page * PAGE));
            hardware.hsa_store(table.offset(page * 8), value);
        }
    }
}

/// Replaces the entry of `page` in a page table, wherever its translation may be kept.
pub(super) fn replace<H: Hardware>(hardware: &mut H, table: Real, page: u64, value: u64) {
    hardware.invalidate_page(table, Virtual(page));
    hardware.hsa_store(table.offset((page / PAGE % 256) * 8), value);
}

/// Brings every shadow in line with a new state of the absolute page `at`.
pub fn page_changed<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Absolute) {
    let shadow = &configuration.shadow;
    let shared = entry(configuration, 0, at);
    replace(
        hardware,
        shadow.identity_table(at.0 / SEGMENT),
        at.0,
        shared,
    );
    for cpu in 0..MAXIMUM_CPUS.min(usize::from(configuration.cpus)) {
        let prefix = shadow.guest_prefix(cpu);
        // Prefixing is its own inverse: the guest-real page that this CPU sees there.
        let real = apply_prefix(Real(at.0), prefix).0;
        if let Some(table) = watching::private_table(configuration, cpu, real) {
            let value = identity_entry(configuration, cpu, Real(real));
            replace(hardware, table, real, value);
        }
    }
    shadow.requests.post(Request::Frame(at));
}

/// The address-space-control element of the identity shadow of CPU `cpu`.
pub(super) fn identity_asce(configuration: &Configuration, cpu: usize) -> u64 {
    configuration.shadow.segment_table(cpu).0 | asce::TABLE_LENGTH
}
