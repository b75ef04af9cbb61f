//! LOAD PROGRAM PARAMETER (LPP, B280): identifies the task that the CPU executes next.
//!
//! The control program loads a value that identifies the current task; the sample-data-block update
//! process copies it into every entry. Control programs issue LPP at every task switch, whether or
//! not sampling is enabled, so the instruction is a no-operation while it is not.

use crate::facility::Facility;

/// LOAD PROGRAM PARAMETER. `operand` is the doubleword at the second-operand address;
/// `enabled_below` says whether a sampling function is enabled at the configuration level below.
///
/// Places the parameter in the program-parameter register if a sampling function is enabled at this
/// level or the one below; otherwise changes nothing.
///
/// Condition code: unchanged.
///
/// Program exceptions, in priority order: operation and privileged operation
/// ([`authorize`](crate::authorize)), access (fetch, operand 2: the caller's).
///
/// Source: SA23-2260-07, section 1, "LOAD PROGRAM PARAMETER".
#[inline(always)]
pub const fn load_program_parameter(facility: &mut Facility, operand: u64, enabled_below: bool) {
    if enabled_below || facility.sampling_enabled() {
        facility.set_program_parameter(operand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{active, partition};

    #[test]
    fn lpp_is_a_no_operation_while_no_sampling_function_is_enabled() {
        let mut facility = partition();
        load_program_parameter(&mut facility, 0x1234, false);
        assert_eq!(facility.program_parameter(), 0);
    }

    #[test]
    fn lpp_loads_the_parameter_when_sampling_is_enabled_at_this_level() {
        let mut facility = active(0x1_0000, 0x2_0000);
        load_program_parameter(&mut facility, 0x1234, false);
        assert_eq!(facility.program_parameter(), 0x1234);
    }

    #[test]
    fn lpp_loads_the_parameter_when_sampling_is_enabled_only_at_the_level_below() {
        let mut facility = partition();
        load_program_parameter(&mut facility, 0x1234, true);
        assert_eq!(facility.program_parameter(), 0x1234);
    }
}
