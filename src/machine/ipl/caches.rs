//! The models of the CPUs' caches, whose directories stand in the HSA.

use crate::cache::{Caches, Geometry};
use crate::guest::state::reference::CpuCaches;
use crate::machine::hardware::hsa::Plan;
use core::{ptr, slice};
extern crate alloc;
use alloc::boxed::Box;

/// The caches of CPU `number`, empty, if the plan has room for them. At IPL, once for each CPU of the guest, with the
/// geometry that the plan was made for.
pub fn take(plan: &Plan, number: usize, geometry: Geometry) -> Option<CpuCaches> {
    let count = geometry.doublewords();
    let at = plan.caches as usize + number * count * size_of::<u64>();
    if at + count * size_of::<u64>() > plan.kept as usize {
        return None;
    }
    // SAFETY: the directories of this CPU, within what the plan has for those of all CPUs from a page boundary on;
    // nothing else refers to them, and any bytes are doublewords.
    let storage = unsafe {
        let place = ptr::with_exposed_provenance_mut::<u64>(at);
        ptr::write_bytes(place, 0, count);
        slice::from_raw_parts_mut(place, count)
    };
    let caches = Caches::new(geometry, storage)?;
    Some(Box::leak(Box::new(caches)))
}
