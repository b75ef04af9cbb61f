//! Prefixed storage: the assigned locations that guests read, and the locations that this runtime uses.
//!
//! After an interruption the runtime reads the assigned locations by volatile accesses to real addresses below 8192.
//! Its own fields lie in the part that the architecture leaves to programs, beyond the 512 bytes that low-address
//! protection covers.

use core::ptr;

/// External-interruption parameter, a word.
pub const EXTERNAL_PARAMETER: usize = 0x80;
/// CPU address of an external interruption, a halfword.
pub const EXTERNAL_CPU_ADDRESS: usize = 0x84;
/// External-interruption code, a halfword.
pub const EXTERNAL_CODE: usize = 0x86;
/// Instruction-length code of a supervisor call, a halfword.
pub const SVC_LENGTH: usize = 0x88;
/// Supervisor-call code, a halfword.
pub const SVC_CODE: usize = 0x8A;
/// Instruction-length code of a program interruption, a halfword.
pub const PROGRAM_LENGTH: usize = 0x8C;
/// Program-interruption code, a halfword.
pub const PROGRAM_CODE: usize = 0x8E;
/// Data-exception code, a word.
pub const DATA_EXCEPTION_CODE: usize = 0x90;
/// Monitor class, a halfword.
pub const MONITOR_CLASS: usize = 0x94;
/// PER code and mode, and PER address: ten bytes.
pub const PER_CODE: usize = 0x96;
/// PER address.
pub const PER_ADDRESS: usize = 0x98;
/// Exception-access identification, a byte.
pub const EXCEPTION_ACCESS: usize = 0xA0;
/// Translation-exception identification, a doubleword.
pub const TRANSLATION_EXCEPTION: usize = 0xA8;
/// Monitor code, a doubleword.
pub const MONITOR_CODE: usize = 0xB0;
/// The word that STORE FACILITY LIST stores.
pub const FACILITY_LIST: usize = 0xC8;

/// Software: six save areas of sixteen general registers, one per class.
pub const SAVE: usize = 0x400;
/// Software: where an attempted instruction resumes; zero when none is attempted.
pub const RESUME: usize = 0x700;
/// Software: the class that ended an attempt (class number + 1), or zero when it completed.
pub const ENDED_BY: usize = 0x708;
/// Software: the PSW that resumes after an attempt (its mask may be changed for DAT).
pub const RESUME_PSW: usize = 0x710;
/// Software: the address of the attempted instruction.
pub const ATTEMPTED: usize = 0x720;
/// Software: the PSW that an attempt in problem state starts with.
pub const PROBLEM_PSW: usize = 0x730;
/// Software: six interruption stack pointers, one per class.
pub const STACKS: usize = 0x780;
/// Software: stack pointer of a CPU started by a restart.
pub const CPU_STACK: usize = 0x7C0;
/// Software: the function a restarted CPU performs.
pub const CPU_FUNCTION: usize = 0x7C8;
/// Software: six handlers, one per class.
pub const HANDLERS: usize = 0x7D0;
/// Software: the task that this CPU performs (supervisor).
pub const CURRENT_TASK: usize = 0x800;

/// A value at a real address, which is prefixed by this CPU. DAT must be off.
#[must_use]
pub fn read<T: Copy>(address: usize) -> T {
    // SAFETY: assigned and software locations are storage on every CPU, and plain bytes.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance(address)) }
}

/// Stores a value at a real address below 8192.
pub fn write<T: Copy>(address: usize, value: T) {
    // SAFETY: as `read`; a guest owns its prefix area.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(address), value) }
}
