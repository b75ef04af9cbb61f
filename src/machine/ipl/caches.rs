//! The models of the CPUs' caches, whose directories are in the HSA.

use crate::cache::{Caches, Geometry};
use crate::guest::state::reference::CpuCaches;
use crate::machine::hardware::hsa::Plan;
use core::{ptr, slice};
extern crate alloc;
use alloc::boxed::Box;

/// The caches of CPU `number`, empty, if the plan has room for them. Called at IPL, once for each CPU of the guest,
/// with the geometry of the plan.
pub fn take(plan: &Plan, number: usize, geometry: Geometry) -> Option<CpuCaches> {
    let count = geometry.doublewords();
    let at = plan.caches as usize + number * count * size_of::<u64>();
    if at + count * size_of::<u64>() > plan.unused as usize {
        return None;
    }
    // SAFETY: the directories of this CPU are within those that the plan has for all CPUs, on a page boundary;
    // nothing else refers to them, and any bytes are valid doublewords.
    let storage = unsafe {
        let place = ptr::with_exposed_provenance_mut::<u64>(at);
        ptr::write_bytes(place, 0, count);
        slice::from_raw_parts_mut(place, count)
    };
    let caches = Caches::new(geometry, storage)?;
    Some(Box::leak(Box::new(caches)))
}
