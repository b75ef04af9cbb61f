//! SET CPU COUNTER (SCCTR, B2E0): a register into one counter.

use crate::counters::Activity;
use crate::counters::NOT_A_NUMBER;
use crate::facility::Facility;
use crate::instruction::authority::{Instruction, authorize};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// SET CPU COUNTER. `r1` is the value (64 bits); `r2` is the whole general register R2, whose bits
/// 48-63 number the counter.
///
/// Condition codes: 0, the counter was set; 3, the counter is not available: unassigned, not
/// installed, unauthorized, disabled or read-only (MT-diagnostic).
///
/// # Errors
/// In priority order: [`ProgramInterruption::Operation`];
/// [`ProgramInterruption::PrivilegedOperation`] in the problem state, always;
/// [`ProgramInterruption::Specification`] when bits 0-47 of R2 are not zeros.
///
/// Source: SA23-2260-07, "SET CPU COUNTER".
pub fn set_cpu_counter(
    facility: &mut Facility,
    activity: &Activity,
    problem_state: bool,
    r1: u64,
    r2: u64,
) -> Result<ConditionCode, ProgramInterruption> {
    authorize(facility, Instruction::SetCpuCounter, problem_state, 0)?;
    if r2 & NOT_A_NUMBER != 0 {
        return Err(ProgramInterruption::Specification);
    }
    if facility.counters.write(r2, r1, activity) {
        Ok(ConditionCode::Zero)
    } else {
        Ok(ConditionCode::Three)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{counting, partition};
    use crate::instruction::extract_cpu_counter;

    #[test]
    fn a_counter_that_was_set_reads_back_at_once_and_counts_on() {
        let mut facility = counting();
        let at = |cycles| Activity {
            cycles,
            ..Activity::NONE
        };
        for number in 0..6 {
            let set = set_cpu_counter(&mut facility, &at(500), false, 7000, number);
            assert_eq!(set, Ok(ConditionCode::Zero));
            let read = extract_cpu_counter(&facility, &at(500), false, 0, number);
            assert_eq!(read, Ok((Some(7000), ConditionCode::Zero)));
        }
        let later = extract_cpu_counter(&facility, &at(510), false, 0, 0);
        assert_eq!(later, Ok((Some(7010), ConditionCode::Zero)));
    }

    #[test]
    fn scctr_sets_condition_code_3_for_a_counter_that_is_not_available() {
        let mut facility = counting();
        for number in [6, 34, 64, 128, 448, 0xFFFF] {
            let set = set_cpu_counter(&mut facility, &Activity::NONE, false, 1, number);
            assert_eq!(set, Ok(ConditionCode::Three), "{number}");
        }
        let disabled = set_cpu_counter(&mut partition(), &Activity::NONE, false, 1, 0);
        assert_eq!(disabled, Ok(ConditionCode::Three));
    }

    #[test]
    fn the_mt_diagnostic_counters_are_read_only_even_while_active() {
        let mut facility = partition();
        facility.authorize_counters(crate::counters::CounterSets::MT_DIAGNOSTIC, &Activity::NONE);
        facility.multithreading(true, &Activity::NONE);
        let set = set_cpu_counter(&mut facility, &Activity::NONE, false, 9, 448);
        assert_eq!(set, Ok(ConditionCode::Three));
        assert_eq!(facility.counters().read(448, &Activity::NONE), Some(0));
    }

    #[test]
    fn scctr_tests_privilege_before_bits_0_to_47_of_the_register() {
        let mut facility = counting();
        let wrong = 0x1_0000;
        assert_eq!(
            set_cpu_counter(&mut facility, &Activity::NONE, true, 0, wrong),
            Err(ProgramInterruption::PrivilegedOperation)
        );
        assert_eq!(
            set_cpu_counter(&mut facility, &Activity::NONE, false, 0, wrong),
            Err(ProgramInterruption::Specification)
        );
    }
}
