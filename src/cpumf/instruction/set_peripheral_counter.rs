//! SET PERIPHERAL COUNTER (SPCTR, B2E1): a register into one counter of a coprocessor group.

use crate::counters::CoprocessorGroups;
use crate::counters::peripheral::CounterPlace;
use crate::facility::Facility;
use crate::instruction::authority::{Instruction, authorize};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// SET PERIPHERAL COUNTER. `r1` is the value (64 bits); `r2` is the whole general register R2: bits
/// 40-55 are the coprocessor-group address at the basic machine level, bits 56-63 the counter number.
///
/// Condition codes: 0, the counter was set; 3, the counter is not available: the group is not
/// installed, the number is unassigned, or the sets are disabled or, for this CPU, unauthorized.
///
/// # Errors
/// In priority order: [`ProgramInterruption::Operation`];
/// [`ProgramInterruption::PrivilegedOperation`] in the problem state, always;
/// [`ProgramInterruption::Specification`] when bits 0-39 of R2 are not zeros.
///
/// Source: SA23-2260-07, "SET PERIPHERAL COUNTER".
pub fn set_peripheral_counter(
    facility: &Facility,
    groups: &mut CoprocessorGroups,
    problem_state: bool,
    r1: u64,
    r2: u64,
) -> Result<ConditionCode, ProgramInterruption> {
    authorize(
        facility,
        Instruction::SetPeripheralCounter,
        problem_state,
        0,
    )?;
    let place = CounterPlace::designated(r2).ok_or(ProgramInterruption::Specification)?;
    let authorized = facility.counters().coprocessor_groups_authorized();
    if groups.set_counter(authorized, place, r1) {
        Ok(ConditionCode::Zero)
    } else {
        Ok(ConditionCode::Three)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Coprocessor;
    use crate::fixtures::{grouped, partition};
    use crate::instruction::{
        extract_peripheral_counter, load_peripheral_counter_set_controls as lpctl,
    };

    #[test]
    fn a_peripheral_counter_that_was_set_counts_on_and_wraps() {
        let (facility, mut groups) = grouped();
        lpctl(&facility, &mut groups, 3).unwrap();
        let set = set_peripheral_counter(&facility, &mut groups, false, u64::MAX, 0x0101);
        assert_eq!(set, Ok(ConditionCode::Zero));
        groups.issue(3, Coprocessor::Sha, 0, 4);
        let found = extract_peripheral_counter(&facility, &groups, false, 0x0101);
        assert_eq!(found, Ok((Some(3), ConditionCode::Zero)));
    }

    #[test]
    fn spctr_sets_condition_code_3_for_a_counter_that_is_not_available() {
        let (facility, mut groups) = grouped();
        let not_available = Ok(ConditionCode::Three);
        let disabled = set_peripheral_counter(&facility, &mut groups, false, 1, 0);
        assert_eq!(disabled, not_available);
        lpctl(&facility, &mut groups, 2).unwrap();
        for r2 in [0x0200, 0x0008, 0x00FF, 0xFF_FFFF] {
            let found = set_peripheral_counter(&facility, &mut groups, false, 1, r2);
            assert_eq!(found, not_available, "{r2:X}");
        }
        let unauthorized = set_peripheral_counter(&partition(), &mut groups, false, 1, 0);
        assert_eq!(unauthorized, not_available);
        let found = extract_peripheral_counter(&facility, &groups, false, 0);
        assert_eq!(found, Ok((Some(0), ConditionCode::Zero)));
    }

    #[test]
    fn spctr_with_anything_in_bits_0_to_39_is_a_specification_exception() {
        let (facility, mut groups) = grouped();
        for bit in 0..40 {
            let r2 = 1 << (63 - bit);
            let found = set_peripheral_counter(&facility, &mut groups, false, 1, r2);
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
        let problem = set_peripheral_counter(&facility, &mut groups, true, 1, u64::MAX);
        assert_eq!(problem, Err(ProgramInterruption::PrivilegedOperation));
    }
}
