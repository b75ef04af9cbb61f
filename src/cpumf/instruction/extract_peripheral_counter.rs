//! EXTRACT PERIPHERAL COUNTER (EPCTR, B2E5): one counter of a coprocessor group into a register.

use crate::counters::CoprocessorGroups;
use crate::counters::peripheral::CounterPlace;
use crate::facility::Facility;
use crate::instruction::authority::{Instruction, authorize};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// EXTRACT PERIPHERAL COUNTER. `r2` is the whole general register R2: bits 40-55 are the
/// coprocessor-group address at the basic machine level, bits 56-63 the counter number.
///
/// Returns the contents for general register R1 (64 bits), or `None` when the register is unchanged.
///
/// Condition codes: 0, the counter was extracted; 3, the counter is not available: the group is not
/// installed, the number is unassigned, or the sets are disabled or, for this CPU, unauthorized.
///
/// # Errors
/// In priority order: [`ProgramInterruption::Operation`];
/// [`ProgramInterruption::PrivilegedOperation`] in the problem state, always;
/// [`ProgramInterruption::Specification`] when bits 0-39 of R2 are not zeros.
///
/// Source: SA23-2260-07, "EXTRACT PERIPHERAL COUNTER".
pub fn extract_peripheral_counter(
    facility: &Facility,
    groups: &CoprocessorGroups,
    problem_state: bool,
    r2: u64,
) -> Result<(Option<u64>, ConditionCode), ProgramInterruption> {
    let instruction = Instruction::ExtractPeripheralCounter;
    authorize(facility, instruction, problem_state, 0)?;
    let place = CounterPlace::designated(r2).ok_or(ProgramInterruption::Specification)?;
    let authorized = facility.counters().coprocessor_groups_authorized();
    match groups.counter(authorized, place) {
        Some(value) => Ok((Some(value), ConditionCode::Zero)),
        None => Ok((None, ConditionCode::Three)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Coprocessor;
    use crate::fixtures::{grouped, partition};
    use crate::instruction::load_peripheral_counter_set_controls as lpctl;

    #[test]
    fn epctr_gives_the_counter_of_the_designated_group() {
        let (facility, mut groups) = grouped();
        lpctl(&facility, &mut groups, 3).unwrap();
        groups.issue(2, Coprocessor::DeaAes, 0, 90);
        for (r2, value) in [(0x0104, 1), (0x0105, 90), (0x0106, 0), (0x0005, 0)] {
            let found = extract_peripheral_counter(&facility, &groups, false, r2);
            assert_eq!(found, Ok((Some(value), ConditionCode::Zero)), "{r2:X}");
        }
    }

    #[test]
    fn epctr_sets_condition_code_3_for_a_counter_that_is_not_available() {
        let (facility, mut groups) = grouped();
        let nothing = Ok((None, ConditionCode::Three));
        let disabled = extract_peripheral_counter(&facility, &groups, false, 0);
        assert_eq!(disabled, nothing);
        lpctl(&facility, &mut groups, 2).unwrap();
        // A group too many, an unassigned number, the last of both.
        for r2 in [0x0200, 0x0008, 0x00FF, 0xFF_FFFF] {
            let found = extract_peripheral_counter(&facility, &groups, false, r2);
            assert_eq!(found, nothing, "{r2:X}");
        }
        let unauthorized = extract_peripheral_counter(&partition(), &groups, false, 0);
        assert_eq!(unauthorized, nothing);
    }

    #[test]
    fn epctr_with_anything_in_bits_0_to_39_is_a_specification_exception() {
        let (facility, groups) = grouped();
        for bit in 0..40 {
            let found = extract_peripheral_counter(&facility, &groups, false, 1 << (63 - bit));
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
        let problem = extract_peripheral_counter(&facility, &groups, true, u64::MAX);
        assert_eq!(problem, Err(ProgramInterruption::PrivilegedOperation));
    }
}
