//! EXTRACT COPROCESSOR-GROUP ADDRESS (ECPGA, B2ED): which coprocessors a CPU uses.

use crate::counters::NOT_A_NUMBER;
use crate::facility::Facility;
use crate::instruction::authority::{Instruction, authorize};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// Bits 0-31 of the first operand, which remain unchanged.
const UNCHANGED: u64 = 0xFFFF_FFFF_0000_0000;

/// EXTRACT COPROCESSOR-GROUP ADDRESS. `r1` is the whole general register R1 before the instruction;
/// `r2` is the whole general register R2, whose bits 48-63 are the CPU address at the basic machine
/// level. `attached` tells the group of the CPU at an address, as the configuration assigns addresses
/// at present; it has `None` for an address without a CPU and for a CPU without a group.
///
/// Returns the contents for general register R1: bits 0-31 as they were, the coprocessor-group
/// address at the basic machine level in bits 40-55, and zeros in bits 32-39 and 56-63. `None` when
/// the register is unchanged.
///
/// The result does not depend on the state of the coprocessor-group counter sets or on the CPU's
/// authorization for them: SA23-2260 names no such condition.
///
/// Condition codes: 0, the address was extracted; 3, the CPU is not installed, or no coprocessor group
/// is installed (SA23-2260 does not define the latter case).
///
/// # Errors
/// In priority order: [`ProgramInterruption::Operation`];
/// [`ProgramInterruption::PrivilegedOperation`] in the problem state, always;
/// [`ProgramInterruption::Specification`] when bits 0-47 of R2 are not zeros.
///
/// Source: SA23-2260-07, "EXTRACT COPROCESSOR-GROUP ADDRESS".
pub fn extract_coprocessor_group_address(
    facility: &Facility,
    attached: impl FnOnce(u16) -> Option<u16>,
    problem_state: bool,
    r1: u64,
    r2: u64,
) -> Result<(Option<u64>, ConditionCode), ProgramInterruption> {
    let instruction = Instruction::ExtractCoprocessorGroupAddress;
    authorize(facility, instruction, problem_state, 0)?;
    if r2 & NOT_A_NUMBER != 0 {
        return Err(ProgramInterruption::Specification);
    }
    match attached(r2 as u16) {
        Some(group) => {
            let contents = r1 & UNCHANGED | u64::from(group) << 8;
            Ok((Some(contents), ConditionCode::Zero))
        }
        None => Ok((None, ConditionCode::Three)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::CoprocessorGroups;
    use crate::fixtures::{grouped, partition};

    /// EXTRACT COPROCESSOR-GROUP ADDRESS in the supervisor state, where an address is a number.
    fn ecpga(
        facility: &Facility,
        groups: &CoprocessorGroups,
        r1: u64,
        r2: u64,
    ) -> Result<(Option<u64>, ConditionCode), ProgramInterruption> {
        let attached = |address| groups.attached(address);
        extract_coprocessor_group_address(facility, attached, false, r1, r2)
    }

    #[test]
    fn ecpga_puts_the_group_of_a_cpu_between_zeros_and_keeps_the_left_half() {
        let (facility, groups) = grouped();
        for (cpu, group) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
            let found = ecpga(&facility, &groups, u64::MAX, cpu);
            let expected = 0xFFFF_FFFF_0000_0000 | group << 8;
            assert_eq!(found, Ok((Some(expected), ConditionCode::Zero)), "{cpu}");
        }
    }

    #[test]
    fn ecpga_sets_condition_code_3_for_a_cpu_that_is_not_installed() {
        let (facility, groups) = grouped();
        let nothing = Ok((None, ConditionCode::Three));
        for cpu in [4, 15, 16, 0xFFFF] {
            let found = ecpga(&facility, &groups, 0, cpu);
            assert_eq!(found, nothing, "{cpu}");
        }
        let none = CoprocessorGroups::none();
        let found = ecpga(&facility, &none, 0, 0);
        assert_eq!(found, nothing);
    }

    #[test]
    fn ecpga_needs_no_authorization() {
        let (_, groups) = grouped();
        let found = ecpga(&partition(), &groups, 0, 3);
        assert_eq!(found, Ok((Some(0x100), ConditionCode::Zero)));
    }

    #[test]
    fn ecpga_with_anything_in_bits_0_to_47_is_a_specification_exception() {
        let (facility, groups) = grouped();
        for bit in 0..48 {
            let r2 = 1 << (63 - bit);
            let found = ecpga(&facility, &groups, 0, r2);
            assert_eq!(found, Err(ProgramInterruption::Specification), "bit {bit}");
        }
        let attached = |address| groups.attached(address);
        let problem = extract_coprocessor_group_address(&facility, attached, true, 0, u64::MAX);
        assert_eq!(problem, Err(ProgramInterruption::PrivilegedOperation));
    }
}
