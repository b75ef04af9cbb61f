//! LOAD SAMPLING CONTROLS (LSCTL, B287): starts, stops and directs sampling.

use crate::configuration_level::ConfigurationLevel;
use crate::facility::Facility;
use crate::sampling::controls::AdditionalControls;
use crate::sampling::request::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ASSIGNED, ENABLE_BASIC, ENABLE_DIAGNOSTIC, HOST_INDICATOR,
    MAXIMUM_BUFFER_SIZE, SamplingRequest,
};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// LOAD SAMPLING CONTROLS. `block` is the 64-byte request block at the second-operand address.
///
/// Sets the states of both functions or, if either cannot make its transition, of neither. Places the
/// indicators, the interval, TEAR and DEAR in the registers only if a function is then active, so a
/// program can deactivate with a stale block and resume with the values that QUERY SAMPLING INFORMATION
/// stores. Disabling both functions clears the registers. The host indicator has an effect only at the
/// logical-partition level. LSCTL does not test TEAR and DEAR; an invalid address causes an alert when
/// it is used.
///
/// Condition codes: 0, controls set; 3, state controls not set.
///
/// # Errors
/// [`ProgramInterruption::Specification`] when bits 2-53 or 56-61 are not zeros, or when a function
/// that is authorized is to be made active at an interval outside the supported range (whatever the
/// request for the other function: a program exception precedes a condition code). Operation,
/// privileged operation ([`authorize`](crate::authorize)) and access (fetch, operand 2: the
/// caller's) precede it.
///
/// Source: SA23-2260-07, "LOAD SAMPLING CONTROLS".
pub fn load_sampling_controls(
    facility: &mut Facility,
    block: &[u8; 64],
) -> Result<ConditionCode, ProgramInterruption> {
    let request: SamplingRequest = zerocopy::transmute!(*block);
    let controls = request.controls.get();
    if controls & !ASSIGNED != 0 {
        return Err(ProgramInterruption::Specification);
    }
    let one = |control: u64| controls & control != 0;
    let basic = (one(ENABLE_BASIC), one(ACTIVATE_BASIC));
    let diagnostic = (one(ENABLE_DIAGNOSTIC), one(ACTIVATE_DIAGNOSTIC));

    let sampling = &mut facility.sampling;
    let activates = (basic == (true, true) && sampling.basic().authorized())
        || (diagnostic == (true, true) && sampling.diagnostic().authorized());
    let interval = request.interval.get();
    let limits = sampling.limits();
    if activates && !(limits.minimum..=limits.maximum).contains(&interval) {
        return Err(ProgramInterruption::Specification);
    }

    let partition = matches!(facility.level(), ConfigurationLevel::LogicalPartition);
    let additional = AdditionalControls {
        maximum_buffer_size: one(MAXIMUM_BUFFER_SIZE),
        host_indicator: partition && one(HOST_INDICATOR),
        interval,
        tear: request.tear.get(),
        dear: request.dear.get(),
    };
    match facility.sampling.load(basic, diagnostic, &additional) {
        Ok(()) => {
            facility.settle_alerts();
            Ok(ConditionCode::Zero)
        }
        Err(_) => Ok(ConditionCode::Three),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Alert;
    use crate::facility::{Facility, Installation};
    use crate::fixtures::{LIMITS, active, partition, sampling, unauthorized_facility};
    use crate::instruction::query_sampling_information;
    use crate::model::Z15;
    use crate::sampling::controls::ActiveFunctions;
    use crate::state::ControlState;
    use zerocopy::IntoBytes;
    use zerocopy::byteorder::big_endian::U64;

    fn load(
        facility: &mut Facility,
        request: SamplingRequest,
    ) -> Result<ConditionCode, ProgramInterruption> {
        load_sampling_controls(facility, request.as_bytes().try_into().unwrap())
    }

    fn with(controls: u64) -> SamplingRequest {
        SamplingRequest {
            controls: U64::new(controls),
            ..SamplingRequest::basic(false, false, 5000, 0x3_0000, 0x4_0000)
        }
    }

    #[test]
    fn deactivation_by_lsctl_keeps_tear_and_dear_whatever_the_block_says() {
        let mut facility = active(0x1_0000, 0x2_0000);
        let stale = SamplingRequest::basic(true, false, 1, 0x7_0000, 0x8_0000);
        assert_eq!(load(&mut facility, stale), Ok(ConditionCode::Zero));
        let sampling = facility.sampling();
        assert_eq!(sampling.basic(), ControlState::Inactive);
        assert_eq!((sampling.tear(), sampling.dear()), (0x1_0000, 0x2_0000));
        assert_eq!(sampling.interval(), 1000);
    }

    #[test]
    fn a_program_resumes_sampling_with_the_registers_that_qsi_stored() {
        let mut facility = active(0x1_0000, 0x2_0000);
        facility.sampling.dear = 0x2_0060;
        facility.lose_sample_data();
        assert_eq!(facility.sampling().basic(), ControlState::Inactive);
        let block = query_sampling_information(&facility);
        let word = |at: usize| u64::from_be_bytes(block[at..at + 8].try_into().unwrap());
        let again = SamplingRequest::basic(true, true, 1000, word(24), word(32));
        assert_eq!(load(&mut facility, again), Ok(ConditionCode::Zero));
        let sampling = facility.sampling();
        assert_eq!((sampling.tear(), sampling.dear()), (0x1_0000, 0x2_0060));
        assert_eq!(facility.active_interval(), Some(1000));
    }

    #[test]
    fn one_function_may_be_active_while_the_other_is_inactive_or_disabled() {
        let both = ENABLE_BASIC | ENABLE_DIAGNOSTIC;
        let table = [
            (
                both | ACTIVATE_BASIC | ACTIVATE_DIAGNOSTIC,
                ActiveFunctions::Both,
            ),
            (both | ACTIVATE_BASIC, ActiveFunctions::Basic),
            (both | ACTIVATE_DIAGNOSTIC, ActiveFunctions::Diagnostic),
            (both, ActiveFunctions::None),
            (ENABLE_BASIC | ACTIVATE_BASIC, ActiveFunctions::Basic),
        ];
        let mut facility = sampling(&Z15, 0, 0, 0);
        for (controls, functions) in table {
            assert_eq!(load(&mut facility, with(controls)), Ok(ConditionCode::Zero));
            assert_eq!(facility.sampling().active_functions(), functions);
        }
    }

    #[test]
    fn unauthorizing_one_function_leaves_the_other_and_the_registers_alone() {
        let both = ENABLE_BASIC | ENABLE_DIAGNOSTIC | ACTIVATE_BASIC | ACTIVATE_DIAGNOSTIC;
        let mut facility = sampling(&Z15, both, 0x1_0000, 0x2_0000);
        facility.authorize_diagnostic_sampling(false);
        assert_eq!(facility.take_alerts(), 0x0080_0000);
        assert_eq!(facility.sampling().basic(), ControlState::Active);
        assert_eq!(facility.sampling().dear(), 0x2_0000);
        facility.authorize_basic_sampling(false);
        assert_eq!(facility.take_alerts(), 0x0080_0000);
        assert_eq!(facility.sampling().dear(), 0);
    }

    #[test]
    fn activation_from_the_active_state_places_the_new_controls() {
        let mut facility = active(0x1_0000, 0x2_0000);
        let again = SamplingRequest::basic(true, true, 4000, 0x7_0000, 0x8_0000);
        assert_eq!(load(&mut facility, again), Ok(ConditionCode::Zero));
        let sampling = facility.sampling();
        assert_eq!((sampling.tear(), sampling.dear()), (0x7_0000, 0x8_0000));
        assert_eq!(facility.active_interval(), Some(4000));
    }

    #[test]
    fn disabling_by_lsctl_clears_the_registers_and_the_sampling_alerts() {
        let mut facility = active(0x1_0000, 0x2_0000);
        facility.alerts.recognize(Alert::ProgramRequest);
        facility
            .alerts
            .recognize(Alert::SamplingAuthorizationChange);
        assert_eq!(load(&mut facility, with(0)), Ok(ConditionCode::Zero));
        assert_eq!(
            (facility.sampling().tear(), facility.sampling().dear()),
            (0, 0)
        );
        assert_eq!(facility.take_alerts(), 0x0080_0000);
    }

    #[test]
    fn every_unassigned_bit_of_the_lsctl_block_is_a_specification_exception() {
        for bit in (2..54).chain(56..62) {
            let found = load(&mut partition(), with(bit64_of(bit)));
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
        let mut ignored = with(0);
        ignored.ignored = [0xFF; 32];
        assert_eq!(load(&mut partition(), ignored), Ok(ConditionCode::Zero));
    }

    const fn bit64_of(bit: u32) -> u64 {
        1 << (63 - bit)
    }

    #[test]
    fn lsctl_tests_the_interval_only_when_an_authorized_function_is_activated() {
        let cases = [
            (true, true, 999, Err(ProgramInterruption::Specification)),
            (true, true, 1000, Ok(ConditionCode::Zero)),
            (true, true, 1 << 32, Ok(ConditionCode::Zero)),
            (
                true,
                true,
                (1 << 32) + 1,
                Err(ProgramInterruption::Specification),
            ),
            (true, false, 0, Ok(ConditionCode::Zero)),
            (false, false, 0, Ok(ConditionCode::Zero)),
            (false, true, 0, Ok(ConditionCode::Three)),
        ];
        for (enable, activate, interval, expected) in cases {
            let mut facility = partition();
            let request = SamplingRequest::basic(enable, activate, interval, 0, 0);
            assert_eq!(load(&mut facility, request), expected, "{interval}");
        }
        let mut unauthorized = unauthorized_facility(Installation::ALL);
        let request = SamplingRequest::basic(true, true, 0, 0, 0);
        assert_eq!(load(&mut unauthorized, request), Ok(ConditionCode::Three));
    }

    #[test]
    fn a_refused_lsctl_changes_nothing() {
        let mut facility = active(0x1_0000, 0x2_0000);
        let diagnostic = with(ENABLE_BASIC | ENABLE_DIAGNOSTIC);
        assert_eq!(load(&mut facility, diagnostic), Ok(ConditionCode::Three));
        assert_eq!(facility.sampling().basic(), ControlState::Active);
        let bad = SamplingRequest::basic(true, true, 1, 0, 0);
        assert!(load(&mut facility, bad).is_err());
        assert_eq!(facility.sampling().tear(), 0x1_0000);
    }

    #[test]
    fn the_host_indicator_counts_only_at_the_logical_partition_level() {
        let levels = [
            (ConfigurationLevel::BasicMachine, false),
            (ConfigurationLevel::LogicalPartition, true),
            (ConfigurationLevel::VirtualMachine, false),
        ];
        for (level, expected) in levels {
            let mut facility = Facility::new(level, &Z15, Installation::ALL, LIMITS);
            facility.authorize_basic_sampling(true);
            let request = with(HOST_INDICATOR | ENABLE_BASIC | ACTIVATE_BASIC);
            assert_eq!(load(&mut facility, request), Ok(ConditionCode::Zero));
            assert_eq!(facility.sampling().host_indicator(), expected, "{level:?}");
        }
    }
}
