//! Assigned storage locations: the offsets in the prefix area that interruptions use.

use super::interruption::Class;

/// External-interruption parameter (4 bytes).
pub const EXTERNAL_PARAMETER: u64 = 0x80;
/// CPU address of the signalling CPU (2 bytes).
pub const EXTERNAL_CPU_ADDRESS: u64 = 0x84;
/// External-interruption code (2 bytes).
pub const EXTERNAL_CODE: u64 = 0x86;
/// Supervisor-call identification: instruction-length code and interruption code (4 bytes).
pub const SVC_IDENTIFICATION: u64 = 0x88;
/// Program-interruption identification: instruction-length code and interruption code (4 bytes).
pub const PROGRAM_IDENTIFICATION: u64 = 0x8C;
/// Data-exception code (4 bytes).
pub const DATA_EXCEPTION_CODE: u64 = 0x90;
/// Monitor class (2 bytes).
pub const MONITOR_CLASS: u64 = 0x94;
/// PER code (2 bytes).
pub const PER_CODE: u64 = 0x96;
/// PER address (8 bytes).
pub const PER_ADDRESS: u64 = 0x98;
/// Exception access identification (1 byte).
pub const EXCEPTION_ACCESS: u64 = 0xA0;
/// PER access identification (1 byte).
pub const PER_ACCESS: u64 = 0xA1;
/// Operand access identification (1 byte).
pub const OPERAND_ACCESS: u64 = 0xA2;
/// Store-status architectural-mode identification (1 byte).
pub const ARCHITECTURAL_MODE: u64 = 0xA3;
/// Translation-exception identification (8 bytes).
pub const TRANSLATION_EXCEPTION: u64 = 0xA8;
/// Monitor code (8 bytes).
pub const MONITOR_CODE: u64 = 0xB0;
/// Subsystem identification (4 bytes); parameter and identification word follow.
pub const SUBSYSTEM_IDENTIFICATION: u64 = 0xB8;
/// STORE FACILITY LIST (4 bytes).
pub const FACILITY_LIST: u64 = 0xC8;
/// Machine-check interruption code (8 bytes).
pub const MACHINE_CHECK_CODE: u64 = 0xE8;
/// Enhanced-monitor counter-array origin (8 bytes); size and exception count follow.
pub const COUNTER_ARRAY_ORIGIN: u64 = 0x100;
/// Enhanced-monitor counter-array size (4 bytes): how many counters there are.
pub const COUNTER_ARRAY_SIZE: u64 = 0x108;
/// Enhanced-monitor exception count (4 bytes).
pub const MONITOR_EXCEPTION_COUNT: u64 = 0x10C;
/// Machine-check floating-point-register save area (16 doublewords).
pub const SAVED_FLOATING_POINT: u64 = 0x1200;
/// Machine-check floating-point-control-register save area (4 bytes).
pub const SAVED_FLOATING_POINT_CONTROL: u64 = 0x131C;
/// Machine-check access-register save area (16 words).
pub const SAVED_ACCESS: u64 = 0x1340;
/// The store-status save area that SIGP STORE STATUS AT ADDRESS fills begins here.
pub const SAVE_AREA: u64 = 0x1200;

/// The location at which the old PSW of a class is stored.
#[must_use]
#[inline]
pub const fn old_psw(class: Class) -> u64 {
    0x120 + 0x10 * class as u64
}

/// The location from which the new PSW of a class is fetched.
#[must_use]
#[inline]
pub const fn new_psw(class: Class) -> u64 {
    0x1A0 + 0x10 * class as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_psws_are_at_the_locations_of_the_manual() {
        assert_eq!(old_psw(Class::External), 0x130);
        assert_eq!(old_psw(Class::Program), 0x150);
        assert_eq!(new_psw(Class::SupervisorCall), 0x1C0);
        assert_eq!(new_psw(Class::InputOutput), 0x1F0);
    }
}
