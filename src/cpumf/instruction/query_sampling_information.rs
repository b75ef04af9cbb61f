//! QUERY SAMPLING INFORMATION (QSI, B286): sizes, limits and the state of sampling.

use crate::facility::Facility;
use crate::model::BSDES;
use crate::state::ControlState;
use arch::bits::bit32;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The information block, 64 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SamplingInformation {
    /// The state controls: A in bits 14-15, E in 22-23, C in 30-31, each basic then diagnostic.
    pub states: U32,
    /// Size of the basic-sampling data entry.
    pub bsdes: U16,
    /// Size of the diagnostic-sampling data entry.
    pub dsdes: U16,
    /// Minimum sampling interval in CPU cycles.
    pub minimum_interval: U64,
    /// Maximum sampling interval in CPU cycles.
    pub maximum_interval: U64,
    /// The table-entry-address register, or zeros when neither function is enabled.
    pub tear: U64,
    /// The data-entry-address register, or zeros when neither function is enabled.
    pub dear: U64,
    /// Bytes 40-43; byte 43 is reserved for IBM use.
    pub reserved: [u8; 4],
    /// CPU cycles per microsecond.
    pub cpu_speed: U32,
    reserved_48: [u8; 16],
}

const _: () = assert!(size_of::<SamplingInformation>() == 64);

/// A function's three controls, by the bits of the basic-sampling function.
const fn controls(state: ControlState) -> u32 {
    match state {
        ControlState::Unauthorized => 0,
        ControlState::Disabled => bit32(14),
        ControlState::Inactive => bit32(14) | bit32(22),
        ControlState::Active => bit32(14) | bit32(22) | bit32(30),
    }
}

/// QUERY SAMPLING INFORMATION: the 64 bytes for the second-operand location.
///
/// Condition code: unchanged.
///
/// Program exceptions, in priority order: operation and privileged operation
/// ([`authorize`](crate::authorize)), access (store, operand 2: the caller's). The operand
/// needs no alignment.
///
/// Source: SA23-2260-07, "QUERY SAMPLING INFORMATION".
#[must_use]
pub fn query_sampling_information(facility: &Facility) -> [u8; 64] {
    let sampling = facility.sampling();
    let limits = sampling.limits();
    let shown = |register: u64| U64::new(if sampling.enabled() { register } else { 0 });
    let information = SamplingInformation {
        states: U32::new(controls(sampling.basic()) | controls(sampling.diagnostic()) >> 1),
        bsdes: U16::new(BSDES),
        dsdes: U16::new(facility.counters().model().dsdes),
        minimum_interval: U64::new(limits.minimum),
        maximum_interval: U64::new(limits.maximum),
        tear: shown(sampling.tear()),
        dear: shown(sampling.dear()),
        reserved: [0; 4],
        cpu_speed: U32::new(limits.cpu_speed),
        reserved_48: [0; 16],
    };
    zerocopy::transmute!(information)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activity;
    use crate::facility::{Installation, Reset};
    use crate::fixtures::{active, partition};
    use crate::fixtures::{of_model, sampling, unauthorized_facility};
    use crate::model::Z16;
    use crate::sampling::request::{ACTIVATE_DIAGNOSTIC, ENABLE_DIAGNOSTIC};

    fn word(block: &[u8; 64], at: usize) -> u32 {
        u32::from_be_bytes(block[at..at + 4].try_into().unwrap())
    }

    fn doubleword(block: &[u8; 64], at: usize) -> u64 {
        u64::from_be_bytes(block[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn qsi_shows_sizes_limits_and_speed() {
        let block = query_sampling_information(&of_model(&Z16));
        assert_eq!(word(&block, 4), 32 << 16 | 173);
        assert_eq!(doubleword(&block, 8), 1000);
        assert_eq!(doubleword(&block, 16), 1 << 32);
        assert_eq!(word(&block, 44), 1000);
        assert_eq!(block[43], 0);
        assert_eq!(block[48..], [0; 16]);
    }

    #[test]
    fn qsi_shows_the_three_controls_of_each_function() {
        assert_eq!(
            word(
                &query_sampling_information(&unauthorized_facility(Installation::ALL)),
                0
            ),
            0
        );
        assert_eq!(
            word(&query_sampling_information(&partition()), 0),
            0x0002_0000
        );
        let mut facility = active(0x1_0000, 0x2_0000);
        assert_eq!(word(&query_sampling_information(&facility), 0), 0x0002_0202);
        facility.reset(Reset::Cpu, &Activity::NONE);
        assert_eq!(word(&query_sampling_information(&facility), 0), 0x0002_0200);
        let diagnostic = sampling(&Z16, ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC, 0, 0);
        let block = query_sampling_information(&diagnostic);
        assert_eq!(word(&block, 0), 0x0003_0101);
    }

    #[test]
    fn qsi_shows_tear_and_dear_while_a_function_is_enabled_and_zeros_otherwise() {
        let mut facility = active(0x1_0000, 0x2_0000);
        let block = query_sampling_information(&facility);
        assert_eq!(doubleword(&block, 24), 0x1_0000);
        assert_eq!(doubleword(&block, 32), 0x2_0000);
        facility.reset(Reset::Initial, &Activity::NONE);
        let block = query_sampling_information(&facility);
        assert_eq!(block[24..40], [0; 16]);
    }
}
