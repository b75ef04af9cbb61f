//! Virtio devices driven by hand: [`channel`] programs, and the [`queue`]s.
//!
//! Everything that a device accesses is at a fixed place, one mebibyte for each device, so that a guest can put there
//! whatever it likes. Source: Virtual I/O Device (VIRTIO) 1.2, sections 2.7 and 4.3.

pub mod channel;
pub mod disk;
pub mod queue;

use core::ptr::{
    read_volatile, with_exposed_provenance, with_exposed_provenance_mut, write_volatile,
};

/// A value at an absolute address, which the caller has to itself.
#[must_use]
pub fn load<T: Copy>(at: u64) -> T {
    // SAFETY: plain bytes of storage that nothing of Rust is in.
    unsafe { read_volatile(with_exposed_provenance(at as usize)) }
}

/// Stores a value at such an address.
pub fn store<T: Copy>(at: u64, value: T) {
    // SAFETY: as `load`.
    unsafe { write_volatile(with_exposed_provenance_mut(at as usize), value) }
}
