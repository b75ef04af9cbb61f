//! The state that a sample records, and the basic-sampling data entry of it.

use super::super::configuration_level::ConfigurationLevel;
use super::block::{BASIC_FORMAT, BasicEntry};
use arch::psw::{ADDRESS_SPACE, DAT, PROBLEM, Psw, WAIT};
use zerocopy::byteorder::big_endian::U64;

/// The CPU at the sampling point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The PSW of the program that is measured.
    pub psw: Psw,
    /// Its control register 4; bits 48-63 are the primary ASN.
    pub cr4: u64,
    /// The program parameter that it set most recently, at its own level.
    pub program_parameter: u64,
    /// The program parameter set most recently at the logical-partition level, when the CPU is at
    /// the virtual-machine level. Not examined otherwise.
    pub host_program_parameter: u64,
    /// The level that the CPU runs at.
    pub level: ConfigurationLevel,
    /// LS: the CPU executes instructions for a secure guest whose plaintext control flags have bit
    /// 49 zero.
    pub limited: bool,
}

/// One, in the U field (bits 20-23).
const ONE_INSTRUCTION: u64 = 1 << (63 - 23);

/// How far right the wait-state, problem-state and address-space bits move from the PSW (bits
/// 14-17) to the entry (bits 27-30).
const STATE_SHIFT: u32 = 13;
/// The same for the DAT mode, from bit 5 to bit 26.
const DAT_SHIFT: u32 = 21;

impl Snapshot {
    /// The basic-sampling data entry for blocks of a facility with this host indicator, which is zero
    /// except at the logical-partition level.
    ///
    /// Where SA23-2260 leaves the choice:
    /// * U is 1 unless the CPU is in the wait state: this CPU has one instruction at the sampling
    ///   point in every cycle, no pipeline and no delay.
    /// * The guest program parameter of a sample at the virtual-machine level is the one that the
    ///   program there set, also when the host indicator makes it unpredictable.
    /// * The instruction address of a sample in the wait state is the PSW's.
    /// * I is always zero: the snapshot was taken between two instructions and is consistent.
    #[must_use]
    #[inline]
    pub const fn entry(&self, host_indicator: bool) -> BasicEntry {
        let mask = self.psw.mask;
        let guest_level = matches!(self.level, ConfigurationLevel::VirtualMachine);
        let (guest, host) = match (guest_level, host_indicator) {
            (false, false) => (self.program_parameter, 0),
            (false, true) => (0, self.program_parameter),
            (true, false) => (self.program_parameter, 0),
            (true, true) => (self.program_parameter, self.host_program_parameter),
        };
        let head = (BASIC_FORMAT as u64) << 48
            | (self.level as u64) << (63 - 33)
            | (host_indicator as u64) << (63 - 34);
        if self.limited {
            return BasicEntry {
                head: U64::new(head | 1 << (63 - 35)),
                instruction_address: U64::ZERO,
                guest_program_parameter: U64::ZERO,
                host_program_parameter: U64::new(host),
            };
        }
        let unique = if mask & WAIT == 0 { ONE_INSTRUCTION } else { 0 };
        BasicEntry {
            head: U64::new(
                head | unique
                    | (mask & DAT) >> DAT_SHIFT
                    | (mask & (WAIT | PROBLEM | ADDRESS_SPACE)) >> STATE_SHIFT
                    | self.cr4 & 0xFFFF,
            ),
            instruction_address: U64::new(self.psw.address),
            guest_program_parameter: U64::new(guest),
            host_program_parameter: U64::new(host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    fn snapshot(mask: u64, level: ConfigurationLevel) -> Snapshot {
        Snapshot {
            psw: Psw {
                mask,
                address: 0x0123_4567_89AB_CDEF,
            },
            cr4: 0xAAAA_BBBB_CCCC_FFFE,
            program_parameter: 0x11,
            host_program_parameter: 0x22,
            level,
            limited: false,
        }
    }

    const LPAR: ConfigurationLevel = ConfigurationLevel::LogicalPartition;
    const VM: ConfigurationLevel = ConfigurationLevel::VirtualMachine;

    #[test]
    fn the_entry_has_the_bytes_of_figure_2_17() {
        // DAT on, problem state, home space.
        let entry = snapshot(DAT | PROBLEM | ADDRESS_SPACE, LPAR).entry(false);
        let expected = [
            0, 1, 0x01, 0x2E, 0x40, 0, 0xFF, 0xFE, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF,
            0, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(entry.as_bytes(), expected);
    }

    #[test]
    fn every_state_bit_of_the_psw_has_its_own_bit_in_the_entry() {
        let of = |mask| snapshot(mask, LPAR).entry(false);
        assert!(of(DAT).dat() && !of(!DAT).dat());
        assert!(of(WAIT).wait() && !of(!WAIT).wait());
        assert!(of(PROBLEM).problem_state() && !of(!PROBLEM).problem_state());
        for control in 0..4 {
            assert_eq!(u64::from(of(control << 46).address_space()), control);
        }
        let all = of(u64::MAX);
        assert_eq!((all.format(), all.invalid()), (1, false));
    }

    #[test]
    fn one_instruction_is_at_the_sampling_point_unless_the_cpu_waits() {
        assert_eq!(snapshot(0, LPAR).entry(false).unique_instructions(), 1);
        assert_eq!(snapshot(WAIT, LPAR).entry(false).unique_instructions(), 0);
    }

    #[test]
    fn the_host_indicator_decides_which_field_holds_the_program_parameter() {
        // (level, H, guest program parameter, host program parameter)
        let table = [
            (LPAR, false, 0x11, 0),
            (LPAR, true, 0, 0x11),
            (VM, false, 0x11, 0),
            (VM, true, 0x11, 0x22),
        ];
        for (level, indicator, guest, host) in table {
            let entry = snapshot(0, level).entry(indicator);
            assert_eq!(entry.configuration_level(), level as u8);
            assert_eq!(entry.host_indicator(), indicator);
            assert_eq!(entry.guest_program_parameter.get(), guest);
            assert_eq!(entry.host_program_parameter.get(), host);
        }
    }

    #[test]
    fn a_limited_sample_has_no_state_of_the_secure_guest() {
        let limited = Snapshot {
            limited: true,
            ..snapshot(u64::MAX, VM)
        };
        let entry = limited.entry(true);
        let expected = [0, 1, 0, 0, 0xB0, 0, 0, 0];
        assert_eq!(entry.as_bytes()[..8], expected);
        assert_eq!(entry.as_bytes()[8..24], [0; 16]);
        assert_eq!(entry.host_program_parameter.get(), 0x22);
    }
}
