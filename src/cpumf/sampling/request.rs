//! The request block of LOAD SAMPLING CONTROLS, 64 bytes.

use arch::bits::bit64;
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bit 0: the maximum-buffer-size indicator.
pub const MAXIMUM_BUFFER_SIZE: u64 = bit64(0);
/// Bit 1: the host indicator.
pub const HOST_INDICATOR: u64 = bit64(1);
/// Bit 54: basic-sampling enable control.
pub const ENABLE_BASIC: u64 = bit64(54);
/// Bit 55: diagnostic-sampling enable control.
pub const ENABLE_DIAGNOSTIC: u64 = bit64(55);
/// Bit 62: basic-sampling activation control.
pub const ACTIVATE_BASIC: u64 = bit64(62);
/// Bit 63: diagnostic-sampling activation control.
pub const ACTIVATE_DIAGNOSTIC: u64 = bit64(63);

/// Every bit of the first doubleword that may be one; the others (2-53, 56-61) must be zeros.
pub(crate) const ASSIGNED: u64 = MAXIMUM_BUFFER_SIZE
    | HOST_INDICATOR
    | ENABLE_BASIC
    | ENABLE_DIAGNOSTIC
    | ACTIVATE_BASIC
    | ACTIVATE_DIAGNOSTIC;

/// The request block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SamplingRequest {
    /// Bits 0-63: the indicators and state controls.
    pub controls: U64,
    /// The sampling interval in CPU cycles.
    pub interval: U64,
    /// The contents for the table-entry-address register.
    pub tear: U64,
    /// The contents for the data-entry-address register.
    pub dear: U64,
    /// Bytes 32-63, ignored.
    pub ignored: [u8; 32],
}

const _: () = assert!(size_of::<SamplingRequest>() == 64);

impl SamplingRequest {
    /// A request with these controls ([`ENABLE_BASIC`] and so on).
    #[must_use]
    pub const fn new(controls: u64, interval: u64, tear: u64, dear: u64) -> Self {
        Self {
            controls: U64::new(controls),
            interval: U64::new(interval),
            tear: U64::new(tear),
            dear: U64::new(dear),
            ignored: [0; 32],
        }
    }

    /// A request for the basic-sampling function with 4 KiB blocks and host indicator zero.
    #[must_use]
    pub const fn basic(enable: bool, activate: bool, interval: u64, tear: u64, dear: u64) -> Self {
        let enable = if enable { ENABLE_BASIC } else { 0 };
        let activate = if activate { ACTIVATE_BASIC } else { 0 };
        Self::new(enable | activate, interval, tear, dear)
    }
}
