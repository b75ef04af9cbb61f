//! Machine-check interruptions: the code, and the registers that they save.

use super::{interrupt, prefix_area};
use crate::hardware::{Hardware, Saved};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::scanner;
use arch::address::Absolute;
use arch::bits::bit64;
use arch::interruption::Class;
use arch::lowcore::{self, SAVED_ACCESS, SAVED_FLOATING_POINT, SAVED_FLOATING_POINT_CONTROL};

/// Machine-check-interruption code, bit 25: the vector registers have been saved.
pub(super) const VECTOR_VALIDITY: u64 = bit64(25);
/// Machine-check-interruption code, bit 36: the guarded-storage registers have been saved.
pub(super) const GUARDED_STORAGE_VALIDITY: u64 = bit64(36);

/// A machine-check interruption that the hardware has presented (a channel report).
///
/// Stores the code at real E8 and the registers in the save areas from real 1200 on. There is no
/// extended save area, so the validity bits of its registers are set to zero.
pub fn machine_check<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    code: u64,
    saved: &Saved,
) {
    /// After the floating-point registers.
    const GENERAL: u64 = 0x1280;
    const TOD_PROGRAMMABLE: u64 = 0x1324;
    const CPU_TIMER: u64 = 0x1328;
    /// A byte of zeros and bits 0-55 of the clock comparator.
    const CLOCK_COMPARATOR: u64 = 0x1330;
    /// After the access registers.
    const CONTROL: u64 = 0x1380;

    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    let second = Absolute(cpu.prefix).offset(SAVED_FLOATING_POINT);
    scanner::store_into(configuration, hardware, second);
    let valid = code & !(VECTOR_VALIDITY | GUARDED_STORAGE_VALIDITY);
    hardware.store_u64(area.at(lowcore::MACHINE_CHECK_CODE), valid);
    for (n, at) in (0..16).map(|n| (n, n as u64)) {
        hardware.store_u64(
            area.at(SAVED_FLOATING_POINT + 8 * at),
            saved.floating_point[n],
        );
        hardware.store_u64(area.at(GENERAL + 8 * at), cpu.general[n]);
        hardware.store_u32(area.at(SAVED_ACCESS + 4 * at), saved.access[n]);
        hardware.store_u64(area.at(CONTROL + 8 * at), cpu.control[n]);
    }
    hardware.store_u32(
        area.at(SAVED_FLOATING_POINT_CONTROL),
        saved.floating_point_control,
    );
    hardware.store_u32(area.at(TOD_PROGRAMMABLE), cpu.tod_programmable);
    let timer = hardware.cpu_timer();
    hardware.store_u64(area.at(CPU_TIMER), timer);
    hardware.store_u64(area.at(CLOCK_COMPARATOR), cpu.clock_comparator >> 8);
    interrupt(cpu, configuration, hardware, area, Class::MachineCheck);
}
