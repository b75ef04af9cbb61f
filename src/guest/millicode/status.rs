//! The status of a CPU: what the orders store status and store additional status leave of it in storage.
//!
//! A CPU stores its own status, because some of its registers stay in the hardware.

use crate::hardware::{Hardware, Saved};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage;
use arch::address::Absolute;

/// The length of the area that store status fills.
pub(super) const LENGTH: u64 = 512;
/// The length of the area of store additional status without the guarded-storage facility. The vector registers fill
/// its first half; the other half stays unchanged.
pub(super) const ADDITIONAL_LENGTH: u64 = 1024;

/// Stores the status of this CPU in the 512 bytes at `area`, in the format of absolute locations from 1200 on.
///
/// Source: Principles of Operation, "Store Status".
pub(super) fn store<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    area: Absolute,
) {
    let timer = cpu.standing_timer.unwrap_or_else(|| hardware.cpu_timer());
    let Saved {
        floating_point,
        floating_point_control,
        access,
    } = hardware.saved_registers();
    let mut put = |offset: u64, bytes: &[u8]| {
        // The area was tested when the order was issued, and storage does not shrink.
        let _ = storage::put_absolute(configuration, hardware, area.offset(offset), bytes);
    };
    let general = cpu.general.iter().zip(&cpu.control);
    let others = floating_point.iter().zip(&access);
    for (n, ((general, control), (floating_point, access))) in (0u64..).zip(general.zip(others)) {
        put(8 * n, &floating_point.to_be_bytes());
        put(0x80 + 8 * n, &general.to_be_bytes());
        put(0x140 + 4 * n, &access.to_be_bytes());
        put(0x180 + 8 * n, &control.to_be_bytes());
    }
    put(0x100, &cpu.psw.mask.to_be_bytes());
    put(0x108, &cpu.psw.address.to_be_bytes());
    put(0x118, &(cpu.prefix as u32).to_be_bytes());
    put(0x11C, &floating_point_control.to_be_bytes());
    put(0x124, &cpu.tod_programmable.to_be_bytes());
    put(0x128, &timer.to_be_bytes());
    // A byte of zeros, then bits 0-55 of the clock comparator.
    put(0x130, &(cpu.clock_comparator >> 8).to_be_bytes());
}

/// Stores the vector registers of this CPU at `area`.
///
/// Source: Principles of Operation, "Store Additional Status at Address".
pub(super) fn store_additional<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    area: Absolute,
) {
    for (n, register) in (0..).zip(hardware.vector_registers()) {
        let at = area.offset(16 * n);
        // The area was tested when the order was issued.
        let _ = storage::put_absolute(configuration, hardware, at, &register.to_be_bytes());
    }
}
