//! LOAD PERIPHERAL-COUNTER-SET CONTROLS (LPCTL, B285): enables and activates the coprocessor-group
//! counter sets, which all CPUs share.

use crate::counters::CoprocessorGroups;
use crate::facility::Facility;
use arch::bits::bit64;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// Bit 62: the enable control of all coprocessor-group counter sets.
const ENABLE: u64 = bit64(62);
/// Bit 63: their activation control.
const ACTIVATION: u64 = bit64(63);

/// LOAD PERIPHERAL-COUNTER-SET CONTROLS. `operand` is the doubleword at the second-operand address:
/// bit 62 is the enable control and bit 63 the activation control of all coprocessor-group counter
/// sets. Disabling clears the counters of all groups and the coprocessor-group-address-change
/// indicator.
///
/// Condition codes: 0, controls set, or already as requested (zeros from an unauthorized CPU change
/// nothing); 3, controls not set: the sets are not installed, the CPU is not authorized for them, or the
/// activation control is one and the enable control zero.
///
/// # Errors
/// [`ProgramInterruption::Specification`] when any of bits 0-61 is one. Operation, privileged
/// operation ([`authorize`](crate::authorize)) and access (fetch, operand 2: the caller's)
/// precede it. The operand needs no alignment.
///
/// Source: SA23-2260-07, "LOAD PERIPHERAL-COUNTER-SET CONTROLS" with its programming notes.
pub fn load_peripheral_counter_set_controls(
    facility: &Facility,
    groups: &mut CoprocessorGroups,
    operand: u64,
) -> Result<ConditionCode, ProgramInterruption> {
    if operand & !(ENABLE | ACTIVATION) != 0 {
        return Err(ProgramInterruption::Specification);
    }
    let authorized = facility.counters().coprocessor_groups_authorized();
    let state = groups.state(authorized);
    let next = state.request(operand & ENABLE != 0, operand & ACTIVATION != 0);
    match next {
        Ok(next) if groups.installed() => {
            if state.authorized() {
                groups.enter(next);
            }
            Ok(ConditionCode::Zero)
        }
        _ => Ok(ConditionCode::Three),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Coprocessor;
    use crate::fixtures::{grouped, partition};
    use crate::instruction::{extract_peripheral_counter, set_peripheral_counter};
    use crate::state::ControlState;

    fn lpctl(facility: &Facility, groups: &mut CoprocessorGroups, operand: u64) -> ConditionCode {
        load_peripheral_counter_set_controls(facility, groups, operand).unwrap()
    }

    #[test]
    fn lpctl_enables_and_activates_the_sets_of_all_groups_for_all_authorized_cpus() {
        let (facility, mut groups) = grouped();
        for (operand, state) in [
            (2, ControlState::Inactive),
            (3, ControlState::Active),
            (2, ControlState::Inactive),
            (0, ControlState::Disabled),
            (3, ControlState::Active),
        ] {
            assert_eq!(lpctl(&facility, &mut groups, operand), ConditionCode::Zero);
            assert_eq!(groups.state(true), state);
            assert_eq!(groups.state(false), ControlState::Unauthorized);
        }
    }

    #[test]
    fn lpctl_of_activation_without_enablement_sets_condition_code_3_and_changes_nothing() {
        let (facility, mut groups) = grouped();
        lpctl(&facility, &mut groups, 3);
        assert_eq!(lpctl(&facility, &mut groups, 1), ConditionCode::Three);
        assert_eq!(groups.state(true), ControlState::Active);
    }

    #[test]
    fn lpctl_by_an_unauthorized_cpu_succeeds_only_with_zeros_and_changes_nothing() {
        let (authorized, mut groups) = grouped();
        lpctl(&authorized, &mut groups, 3);
        let unauthorized = partition();
        assert_eq!(lpctl(&unauthorized, &mut groups, 0), ConditionCode::Zero);
        assert_eq!(groups.state(true), ControlState::Active);
        for operand in 1..4 {
            let found = lpctl(&unauthorized, &mut groups, operand);
            assert_eq!(found, ConditionCode::Three);
        }
    }

    #[test]
    fn lpctl_sets_condition_code_3_when_no_coprocessor_group_is_installed() {
        let (facility, _) = grouped();
        for operand in 0..4 {
            let found = lpctl(&facility, &mut CoprocessorGroups::none(), operand);
            assert_eq!(found, ConditionCode::Three);
        }
    }

    #[test]
    fn every_unassigned_bit_of_the_lpctl_operand_is_a_specification_exception() {
        let (facility, mut groups) = grouped();
        for bit in 0..62 {
            let found = load_peripheral_counter_set_controls(&facility, &mut groups, bit64(bit));
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
    }

    #[test]
    fn disabling_by_lpctl_clears_the_counters_and_deactivation_keeps_them() {
        let (facility, mut groups) = grouped();
        lpctl(&facility, &mut groups, 3);
        groups.issue(0, Coprocessor::Sha, 0, 70);
        set_peripheral_counter(&facility, &mut groups, false, 5, 0x0107).unwrap();
        lpctl(&facility, &mut groups, 2);
        groups.issue(0, Coprocessor::Sha, 1000, 70);
        let mut read = |operand, r2| {
            lpctl(&facility, &mut groups, operand);
            let found = extract_peripheral_counter(&facility, &groups, false, r2);
            found.unwrap().0
        };
        assert_eq!(read(2, 1), Some(70));
        assert_eq!(read(2, 0x0107), Some(5));
        assert_eq!(read(0, 1), None);
        assert_eq!(read(2, 1), Some(0));
        assert_eq!(read(2, 0x0107), Some(0));
    }
}
