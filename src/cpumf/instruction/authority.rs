//! Whether the program may issue an instruction of the facilities.
//!
//! # Priority of the program exceptions
//!
//! SA23-2260 lists each instruction's exceptions without ordering them; the order here is that of
//! the Principles of Operation for program-interruption conditions:
//!
//! 1. operation: the facility is not installed;
//! 2. privileged operation;
//! 3. special operation (STCCTM code 9 in the problem state);
//! 4. specification that does not depend on the storage operand (a register's contents, the M3 field,
//!    alignment): an operand on a wrong boundary is not accessed;
//! 5. access to the storage operand;
//! 6. specification by the operand's contents (LCCTL, LPCTL, LSCTL), which the fetch reveals.
//!
//! [`authorize`] makes tests 1 and 2. The caller then fetches or tests the storage operand, if there is
//! one, and calls the instruction's routine. The routine of STCCTM makes tests 3 and 4 before the caller
//! stores, and changes the state only in a second step after the store.

use crate::facility::Facility;
use arch::control::CR0_COUNTER_EXTRACTION;
use arch::interruption::ProgramInterruption;

/// The instructions of SA23-2260 that are performed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// LOAD PROGRAM PARAMETER (LPP).
    LoadProgramParameter,
    /// LOAD CPU-COUNTER-SET CONTROLS (LCCTL).
    LoadCpuCounterSetControls,
    /// QUERY COUNTER INFORMATION (QCTRI).
    QueryCounterInformation,
    /// EXTRACT CPU COUNTER (ECCTR).
    ExtractCpuCounter,
    /// SET CPU COUNTER (SCCTR).
    SetCpuCounter,
    /// STORE CPU COUNTER MULTIPLE (STCCTM).
    StoreCpuCounterMultiple,
    /// LOAD PERIPHERAL-COUNTER-SET CONTROLS (LPCTL).
    LoadPeripheralCounterSetControls,
    /// EXTRACT PERIPHERAL COUNTER (EPCTR).
    ExtractPeripheralCounter,
    /// SET PERIPHERAL COUNTER (SPCTR).
    SetPeripheralCounter,
    /// EXTRACT COPROCESSOR-GROUP ADDRESS (ECPGA).
    ExtractCoprocessorGroupAddress,
    /// LOAD SAMPLING CONTROLS (LSCTL).
    LoadSamplingControls,
    /// QUERY SAMPLING INFORMATION (QSI).
    QuerySamplingInformation,
}

impl Instruction {
    /// Whether the facility that this instruction belongs to is installed.
    const fn installed(self, facility: &Facility) -> bool {
        let installation = facility.installation();
        match self {
            Self::LoadProgramParameter => installation.load_program_parameter,
            Self::StoreCpuCounterMultiple => installation.store_counter_multiple,
            Self::LoadSamplingControls | Self::QuerySamplingInformation => installation.sampling,
            Self::LoadCpuCounterSetControls
            | Self::QueryCounterInformation
            | Self::ExtractCpuCounter
            | Self::SetCpuCounter
            | Self::LoadPeripheralCounterSetControls
            | Self::ExtractPeripheralCounter
            | Self::SetPeripheralCounter
            | Self::ExtractCoprocessorGroupAddress => installation.counters,
        }
    }

    /// Whether bit 15 of control register 0 opens the instruction to the problem state.
    const fn extracts(self) -> bool {
        matches!(
            self,
            Self::ExtractCpuCounter | Self::StoreCpuCounterMultiple
        )
    }
}

/// The tests that precede any operand access: operation, then privileged operation.
///
/// `cr0` is examined only in the problem state and only for the two instructions that extract
/// counters.
///
/// # Errors
/// * [`ProgramInterruption::Operation`]: the facility is not installed.
/// * [`ProgramInterruption::PrivilegedOperation`]: the CPU is in the problem state, and the
///   instruction is privileged, or is ECCTR or STCCTM with the measurement-counter-extraction-
///   authorization control (bit 15 of `cr0`) zero.
#[inline]
pub const fn authorize(
    facility: &Facility,
    instruction: Instruction,
    problem_state: bool,
    cr0: u64,
) -> Result<(), ProgramInterruption> {
    if !instruction.installed(facility) {
        return Err(ProgramInterruption::Operation);
    }
    if problem_state && !(instruction.extracts() && cr0 & CR0_COUNTER_EXTRACTION != 0) {
        return Err(ProgramInterruption::PrivilegedOperation);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facility::Installation;
    use crate::fixtures::{partition, unauthorized_facility};

    const ALL: [Instruction; 12] = [
        Instruction::LoadProgramParameter,
        Instruction::LoadCpuCounterSetControls,
        Instruction::QueryCounterInformation,
        Instruction::ExtractCpuCounter,
        Instruction::SetCpuCounter,
        Instruction::StoreCpuCounterMultiple,
        Instruction::LoadPeripheralCounterSetControls,
        Instruction::ExtractPeripheralCounter,
        Instruction::SetPeripheralCounter,
        Instruction::ExtractCoprocessorGroupAddress,
        Instruction::LoadSamplingControls,
        Instruction::QuerySamplingInformation,
    ];

    #[test]
    fn every_instruction_is_open_to_the_supervisor_state_whatever_control_register_0_says() {
        for instruction in ALL {
            for cr0 in [0, u64::MAX] {
                assert_eq!(authorize(&partition(), instruction, false, cr0), Ok(()));
            }
        }
    }

    #[test]
    fn only_the_two_extracting_instructions_are_open_to_the_problem_state_and_only_by_bit_15() {
        let bit_15 = 0x0001_0000_0000_0000;
        for instruction in ALL {
            let refused = Err(ProgramInterruption::PrivilegedOperation);
            assert_eq!(
                authorize(&partition(), instruction, true, !bit_15),
                refused,
                "{instruction:?}"
            );
            let extracting = matches!(
                instruction,
                Instruction::ExtractCpuCounter | Instruction::StoreCpuCounterMultiple
            );
            let expected = if extracting { Ok(()) } else { refused };
            assert_eq!(
                authorize(&partition(), instruction, true, bit_15),
                expected,
                "{instruction:?}"
            );
        }
    }

    #[test]
    fn an_instruction_of_a_facility_that_is_not_installed_is_an_operation_exception_first() {
        let facility = unauthorized_facility(Installation::NONE);
        for instruction in ALL {
            assert_eq!(
                authorize(&facility, instruction, true, 0),
                Err(ProgramInterruption::Operation),
                "{instruction:?}"
            );
        }
    }
}
