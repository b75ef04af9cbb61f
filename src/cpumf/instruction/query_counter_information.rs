//! QUERY COUNTER INFORMATION (QCTRI, B28E): versions and states of the counter sets.

use crate::counters::{CounterSets, GlobalCounterControls};
use crate::facility::Facility;
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The information block, 64 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct CounterInformation {
    /// Counter first version number.
    pub cfvn: U16,
    /// Authorization controls.
    pub authorization: U16,
    /// Enable controls.
    pub enable: U16,
    /// Activation controls.
    pub activation: U16,
    /// Maximum CPU address at the basic machine level.
    pub maximum_cpu_address: U16,
    /// Counter second version number.
    pub csvn: U16,
    /// Maximum coprocessor-group address at the basic machine level.
    pub maximum_group_address: U16,
    /// Bit 0: the coprocessor-group-address-change indicator.
    pub address_change: u8,
    reserved: [u8; 49],
}

const _: () = assert!(size_of::<CounterInformation>() == 64);

/// QUERY COUNTER INFORMATION: the 64 bytes for the second-operand location.
///
/// A CPU that is not authorized for the coprocessor-group counter sets sees them unauthorized,
/// regardless of the global controls. The maximum addresses and the address-change indicator do not
/// depend on authorization.
///
/// Condition code: unchanged.
///
/// Program exceptions, in priority order: operation and privileged operation
/// ([`authorize`](crate::authorize)), access (store, operand 2: the caller's). The operand
/// needs no alignment.
///
/// Source: SA23-2260-07, "QUERY COUNTER INFORMATION".
#[must_use]
pub fn query_counter_information(facility: &Facility, global: &GlobalCounterControls) -> [u8; 64] {
    let counters = facility.counters();
    let authorization = counters.authorized();
    let groups = authorization.intersection(CounterSets::COPROCESSOR_GROUP);
    let group_if = |control: bool| if control { groups } else { CounterSets::NONE };
    let information = CounterInformation {
        cfvn: U16::new(counters.model().cfvn),
        authorization: U16::new(authorization.0),
        enable: U16::new(counters.enabled().union(group_if(global.enable)).0),
        activation: U16::new(counters.active().union(group_if(global.activation)).0),
        maximum_cpu_address: U16::new(global.maximum_cpu_address),
        csvn: U16::new(counters.model().csvn),
        maximum_group_address: U16::new(global.maximum_group_address),
        address_change: u8::from(global.address_change) << 7,
        reserved: [0; 49],
    };
    zerocopy::transmute!(information)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::CoprocessorGroups;
    use crate::fixtures::counting;

    #[test]
    fn qctri_shows_versions_controls_and_the_maximum_cpu_address() {
        let global = GlobalCounterControls {
            maximum_cpu_address: 3,
            ..GlobalCounterControls::default()
        };
        let block = query_counter_information(&counting(), &global);
        let expected = [0, 3, 0, 6, 0, 6, 0, 6, 0, 3, 0, 6, 0, 0, 0, 0];
        assert_eq!(block[..16], expected);
        assert_eq!(block[16..], [0; 48]);
    }

    #[test]
    fn a_cpu_sees_the_global_controls_only_when_it_is_authorized_for_the_groups() {
        let global = GlobalCounterControls {
            maximum_group_address: 0x0102,
            enable: true,
            activation: true,
            address_change: true,
            ..GlobalCounterControls::default()
        };
        let mut facility = counting();
        let block = query_counter_information(&facility, &global);
        assert_eq!(block[2..8], [0, 6, 0, 6, 0, 6]);
        assert_eq!(block[12..16], [1, 2, 0x80, 0]);
        facility.authorize_coprocessor_groups(true, &CoprocessorGroups::none());
        let block = query_counter_information(&facility, &global);
        assert_eq!(block[2..8], [0x80, 6, 0x80, 6, 0x80, 6]);
    }
}
