//! EXTRACT CPU COUNTER (ECCTR, B2E4): one counter into a register.

use crate::alert::Alert;
use crate::counters::Activity;
use crate::counters::NOT_A_NUMBER;
use crate::counters::state::MT_DIAGNOSTIC;
use crate::facility::Facility;
use crate::instruction::authority::{Instruction, authorize};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// EXTRACT CPU COUNTER. `r2` is the whole general register R2, whose bits 48-63 number the counter.
///
/// Returns the contents for general register R1 (64 bits), or `None` when the register is unchanged.
///
/// Condition codes: 0, the counter was extracted; 3, the counter is not available: unassigned, not
/// installed, unauthorized, disabled, or an MT-diagnostic counter with loss of MT counter data
/// pending.
///
/// # Errors
/// In priority order: [`ProgramInterruption::Operation`];
/// [`ProgramInterruption::PrivilegedOperation`] in the problem state with bit 15 of control register
/// 0 zero; [`ProgramInterruption::Specification`] when bits 0-47 of R2 are not zeros.
///
/// Source: SA23-2260-07, "EXTRACT CPU COUNTER".
#[inline(always)]
pub fn extract_cpu_counter(
    facility: &Facility,
    activity: &Activity,
    problem_state: bool,
    cr0: u64,
    r2: u64,
) -> Result<(Option<u64>, ConditionCode), ProgramInterruption> {
    authorize(facility, Instruction::ExtractCpuCounter, problem_state, cr0)?;
    let lost = || facility.alerts().has(Alert::LossOfMtCounterData);
    match facility.counters().read(r2, activity) {
        Some(value) if r2 < MT_DIAGNOSTIC || !lost() => Ok((Some(value), ConditionCode::Zero)),
        _ if r2 & NOT_A_NUMBER != 0 => Err(ProgramInterruption::Specification),
        _ => Ok((None, ConditionCode::Three)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{CounterSet, CounterSets};
    use crate::fixtures::{counting, partition};
    use crate::instruction::load_cpu_counter_set_controls;

    const NOW: Activity = Activity {
        cycles: 70,
        instructions: 60,
        problem_cycles: 50,
        problem_instructions: 40,
    };

    #[test]
    fn ecctr_gives_the_counter_of_an_enabled_set_with_condition_code_0() {
        let found = extract_cpu_counter(&counting(), &NOW, false, 0, 1);
        assert_eq!(found, Ok((Some(60), ConditionCode::Zero)));
    }

    #[test]
    fn ecctr_sets_condition_code_3_for_a_counter_that_is_not_available() {
        let nothing = Ok((None, ConditionCode::Three));
        // Unassigned, reserved, unauthorized, MT-diagnostic, beyond every set.
        for number in [6, 34, 64, 128, 448, 0xFFFF] {
            assert_eq!(
                extract_cpu_counter(&counting(), &NOW, false, 0, number),
                nothing,
                "{number}"
            );
        }
        assert_eq!(
            extract_cpu_counter(&partition(), &NOW, false, 0, 0),
            nothing,
            "disabled"
        );
    }

    #[test]
    fn ecctr_with_anything_in_bits_0_to_47_is_a_specification_exception() {
        for bit in 0..48 {
            let found = extract_cpu_counter(&counting(), &NOW, false, 0, 1 << (63 - bit));
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
    }

    #[test]
    fn ecctr_in_the_problem_state_tests_privilege_before_specification() {
        let found = extract_cpu_counter(&counting(), &NOW, true, 0, u64::MAX);
        assert_eq!(found, Err(ProgramInterruption::PrivilegedOperation));
        let allowed = extract_cpu_counter(&counting(), &NOW, true, 1 << 48, 33);
        assert_eq!(allowed, Ok((Some(40), ConditionCode::Zero)));
    }

    #[test]
    fn ecctr_hides_mt_diagnostic_counters_while_their_loss_is_pending() {
        let mut facility = partition();
        let sets = CounterSets::MT_DIAGNOSTIC.union(CounterSets::BASIC);
        facility.authorize_counters(sets, &NOW);
        facility.multithreading(true, &NOW);
        load_cpu_counter_set_controls(&mut facility, &NOW, 0x0002_0000).unwrap();
        let shown = Ok((Some(0), ConditionCode::Zero));
        assert_eq!(extract_cpu_counter(&facility, &NOW, false, 0, 448), shown);
        facility.lose_counter_data(CounterSet::MtDiagnostic, &NOW);
        let hidden = Ok((None, ConditionCode::Three));
        assert_eq!(extract_cpu_counter(&facility, &NOW, false, 0, 448), hidden);
        assert_eq!(extract_cpu_counter(&facility, &NOW, false, 0, 5), shown);
    }
}
