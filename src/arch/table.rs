//! Entries of region, segment and page tables.

use super::bits::bit64;

/// Page-table entry: page-frame real address.
pub const PTE_FRAME: u64 = !0xFFF;
/// Page-table entry bit 52: must be zero.
pub const PTE_ZERO: u64 = bit64(52);
/// Page-table entry: page invalid.
pub const PTE_INVALID: u64 = bit64(53);
/// Page-table entry: DAT protection.
pub const PTE_PROTECTION: u64 = bit64(54);
/// Page-table entry: instruction-execution protection.
pub const PTE_EXECUTION_PROTECTION: u64 = bit64(55);

/// Segment-table entry: page-table origin.
pub const STE_ORIGIN: u64 = !0x7FF;
/// Segment-table entry: segment invalid.
pub const STE_INVALID: u64 = bit64(58);
/// Segment-table entry: DAT protection.
pub const STE_PROTECTION: u64 = bit64(54);
/// Segment-table entry: common segment.
pub const STE_COMMON: u64 = bit64(59);

/// Region-table entry: origin of the next lower table.
pub const RTE_ORIGIN: u64 = !0xFFF;
/// Region-table entry: DAT protection.
pub const RTE_PROTECTION: u64 = bit64(54);
/// Region-table entry: region invalid.
pub const RTE_INVALID: u64 = bit64(58);
/// Region-table entry: table offset (bits 56-57), in units of 4096 bytes.
pub const RTE_OFFSET: u64 = 0xC0;
/// Region-table entry: table length, in units of 4096 bytes, less one.
pub const RTE_LENGTH: u64 = 0x3;
/// Table type, in region- and segment-table entries: 3 region first, 2 second, 1 third, 0 segment.
pub const TABLE_TYPE: u64 = 0xC;

/// Translation-exception identification: the address that could not be translated.
pub const TEID_ADDRESS: u64 = !0xFFF;
/// TEID bits 52-53 of 10: the access was a fetch.
pub const TEID_FETCH: u64 = bit64(52);
/// TEID bits 52-53 of 01: the access was a store.
pub const TEID_STORE: u64 = bit64(53);
/// TEID bits 62-63: the address space, in the order of the PSW's address-space control.
pub const TEID_SPACE: u64 = bit64(62) | bit64(63);
/// TEID bits 56, 60 and 61: the kind of protection.
pub const TEID_PROTECTION: u64 = bit64(56) | bit64(60) | bit64(61);
/// TEID bit 60 alone: key-controlled protection.
pub const TEID_KEY_CONTROLLED: u64 = bit64(60);
/// TEID bit 61 alone: DAT protection.
pub const TEID_DAT_PROTECTION: u64 = bit64(61);
/// TEID bits 56 and 61 with bit 60 zero: instruction-execution protection.
pub const TEID_EXECUTION_PROTECTION: u64 = bit64(56) | bit64(61);
/// TEID bit 56 with bits 60 and 61 zero: low-address protection.
pub const TEID_LOW_ADDRESS: u64 = bit64(56);
