//! LOAD CPU-COUNTER-SET CONTROLS (LCCTL, B284): enables, activates and disables counter sets.

use crate::counters::{Activity, CounterSet, CounterSets};
use crate::facility::Facility;
use crate::model::Model;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// The sets with an assigned bit in the second operand, including bits that are ignored.
fn assigned(model: &Model) -> CounterSets {
    let controlled = CounterSet::LOADED
        .into_iter()
        .fold(CounterSets::NONE, |sets, set| sets.union(set.bit()));
    controlled
        .intersection(model.installed())
        .union(model.ignored_by_lcctl())
}

/// LOAD CPU-COUNTER-SET CONTROLS. `operand` is the doubleword at the second-operand address: bits
/// 42-47 are the enable controls, bits 58-63 the activation controls.
///
/// Sets the states of all sets or, if any set cannot make its transition, of none. Ignores the bits of
/// the MT-diagnostic set where that set is installed (CSVN above 3).
///
/// Condition codes: 0, controls set, or already as requested; 3, controls not set: a control of an
/// unauthorized set is one, or an activation control is one and the enable control zero.
///
/// # Errors
/// [`ProgramInterruption::Specification`] when any other bit of the operand is one, including the bits
/// of sets that the model does not have. Operation, privileged operation
/// ([`authorize`](crate::authorize)) and access (fetch, operand 2: the caller's) precede it.
///
/// Source: SA23-2260-07, "LOAD CPU-COUNTER-SET CONTROLS" with its programming note 2.
pub fn load_cpu_counter_set_controls(
    facility: &mut Facility,
    activity: &Activity,
    operand: u64,
) -> Result<ConditionCode, ProgramInterruption> {
    let assigned = u64::from(assigned(facility.counters.model()).0);
    if operand & !(assigned << 16 | assigned) != 0 {
        return Err(ProgramInterruption::Specification);
    }
    let enable = CounterSets((operand >> 16) as u16);
    let activation = CounterSets(operand as u16);
    match facility.counters.load(enable, activation, activity) {
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
    use crate::fixtures::{counting, of_model, partition};
    use crate::model::{MODELS, Z15};
    use crate::state::ControlState;

    const NOW: Activity = Activity::NONE;

    #[test]
    fn lcctl_enables_and_activates_authorized_sets() {
        let mut facility = partition();
        let loaded = load_cpu_counter_set_controls(&mut facility, &NOW, 0x0006_0002);
        assert_eq!(loaded, Ok(ConditionCode::Zero));
        let counters = facility.counters();
        assert_eq!(counters.state(CounterSet::Basic), ControlState::Active);
        assert_eq!(
            counters.state(CounterSet::ProblemState),
            ControlState::Inactive
        );
    }

    #[test]
    fn lcctl_sets_condition_code_3_for_an_unauthorized_set_and_changes_nothing() {
        let mut facility = partition();
        let refused = load_cpu_counter_set_controls(&mut facility, &NOW, 0x000A_000A);
        assert_eq!(refused, Ok(ConditionCode::Three));
        assert!(facility.counters().enabled().is_empty());
    }

    #[test]
    fn lcctl_sets_condition_code_3_for_activation_without_enablement() {
        let mut facility = counting();
        let refused = load_cpu_counter_set_controls(&mut facility, &NOW, 0x0000_0002);
        assert_eq!(refused, Ok(ConditionCode::Three));
        assert_eq!(facility.counters().active(), CounterSets::HONEST);
    }

    #[test]
    fn lcctl_of_zeros_succeeds_even_with_every_set_unauthorized() {
        let mut facility = of_model(&Z15);
        assert_eq!(
            load_cpu_counter_set_controls(&mut facility, &NOW, 0),
            Ok(ConditionCode::Zero)
        );
    }

    #[test]
    fn the_reserved_and_mt_bits_of_lcctl_depend_on_the_second_version_number() {
        // (CSVN, bits 42 and 58, bits 43 and 59): true where a one is accepted
        let table = [
            (1, false, false),
            (2, false, false),
            (3, false, false),
            (4, true, true),
            (5, true, false),
            (6, true, false),
            (7, true, false),
        ];
        for (csvn, mt, reserved) in table {
            let model = MODELS.iter().find(|model| model.csvn == csvn).unwrap();
            for (bit, accepted) in [(42, mt), (58, mt), (43, reserved), (59, reserved)] {
                let mut facility = of_model(model);
                let found = load_cpu_counter_set_controls(&mut facility, &NOW, 1 << (63 - bit));
                let expected = if accepted {
                    Ok(ConditionCode::Zero)
                } else {
                    Err(ProgramInterruption::Specification)
                };
                assert_eq!(found, expected, "CSVN {csvn}, bit {bit}");
                assert!(facility.counters().enabled().is_empty());
            }
        }
    }

    #[test]
    fn every_unassigned_bit_of_the_lcctl_operand_is_a_specification_exception() {
        for bit in (0..42).chain(48..58) {
            let found = load_cpu_counter_set_controls(&mut partition(), &NOW, 1 << (63 - bit));
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
    }
}
