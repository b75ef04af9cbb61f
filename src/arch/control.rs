//! Control-register bits, by the names of the Principles of Operation.

use super::bits::bit64;

/// CR0: transactional-execution control.
pub const CR0_TRANSACTIONAL_EXECUTION: u64 = bit64(8);
/// CR0 bit 15: measurement-counter-extraction authorization (SA23-2260).
pub const CR0_COUNTER_EXTRACTION: u64 = bit64(15);
/// CR0: SSM-suppression control.
pub const CR0_SSM_SUPPRESSION: u64 = bit64(33);
/// CR0: low-address-protection control.
pub const CR0_LOW_ADDRESS_PROTECTION: u64 = bit64(35);
/// CR0: extraction-authority control (IPK, IVSK, EPAR and their like in problem state).
pub const CR0_EXTRACTION_AUTHORITY: u64 = bit64(36);
/// CR0: secondary-space control.
pub const CR0_SECONDARY_SPACE: u64 = bit64(37);
/// CR0: fetch-protection override.
pub const CR0_FETCH_PROTECTION_OVERRIDE: u64 = bit64(38);
/// CR0: storage-protection override.
pub const CR0_STORAGE_PROTECTION_OVERRIDE: u64 = bit64(39);
/// CR0: enhanced-DAT enablement.
pub const CR0_ENHANCED_DAT: u64 = bit64(40);
/// CR0: instruction-execution-protection enablement.
pub const CR0_INSTRUCTION_EXECUTION_PROTECTION: u64 = bit64(43);
/// CR0: AFP-register control.
pub const CR0_AFP: u64 = bit64(45);
/// CR0: vector enablement.
pub const CR0_VECTOR: u64 = bit64(46);
/// CR0: malfunction-alert subclass mask.
pub const CR0_MALFUNCTION_ALERT: u64 = bit64(48);
/// CR0: emergency-signal subclass mask.
pub const CR0_EMERGENCY_SIGNAL: u64 = bit64(49);
/// CR0: external-call subclass mask.
pub const CR0_EXTERNAL_CALL: u64 = bit64(50);
/// CR0: clock-comparator subclass mask.
pub const CR0_CLOCK_COMPARATOR: u64 = bit64(52);
/// CR0: CPU-timer subclass mask.
pub const CR0_CPU_TIMER: u64 = bit64(53);
/// CR0: service-signal subclass mask.
pub const CR0_SERVICE_SIGNAL: u64 = bit64(54);
/// CR0: interrupt-key subclass mask.
pub const CR0_INTERRUPT_KEY: u64 = bit64(57);
/// CR0 bit 58: measurement-alert subclass mask (SA23-2260).
pub const CR0_MEASUREMENT_ALERT: u64 = bit64(58);

/// The CR0 that initial CPU reset leaves: malfunction alert is not set, interrupt key,
/// measurement alert and timing alert are.
pub const CR0_INITIAL: u64 = 0xE0;
/// CR8: the monitor masks, bits 48-63, one for each class.
pub const CR8_MONITOR: u64 = 0xFFFF;
/// CR6: every I/O-interruption subclass.
pub const CR6_ALL_SUBCLASSES: u64 = 0xFF00_0000;
/// CR8: the enhanced-monitor masks, bits 16-31, one for each class.
pub const CR8_ENHANCED_MONITOR: u64 = 0xFFFF << 32;
/// CR14: the masks of machine checks, bits 32-39.
pub const CR14_MASKS: u64 = 0xFF00_0000;
/// CR14: channel-report-pending subclass mask.
pub const CR14_CHANNEL_REPORT: u64 = bit64(35);
/// The CR14 that initial CPU reset leaves.
pub const CR14_INITIAL: u64 = 0xC200_0000;

/// An address-space-control element: a region or segment table with its type and length.
pub mod asce {
    use super::super::bits::bit64;
    /// Real-space control.
    pub const REAL_SPACE: u64 = bit64(58);
    /// Storage-alteration-event bit: designates the space for storage-alteration events.
    pub const STORAGE_ALTERATION_EVENT: u64 = bit64(56);
    /// Private-space control.
    pub const PRIVATE_SPACE: u64 = bit64(55);
    /// Designation-type control.
    pub const DESIGNATION_TYPE: u64 = 0xC;
    /// Table length, in units of 4096 bytes, less one.
    pub const TABLE_LENGTH: u64 = 0x3;
    /// Table origin.
    pub const ORIGIN: u64 = !0xFFF;
}
