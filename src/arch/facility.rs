//! Facility bits, which STORE FACILITY LIST EXTENDED stores.

/// The number of doublewords in this machine's list of facility bits.
pub const FACILITY_DOUBLEWORDS: usize = 4;

/// Bit 6: the ASN-and-LX-reuse facility.
pub const ASN_AND_LX_REUSE: u32 = 6;
/// Bit 8: the enhanced-DAT facility 1.
pub const ENHANCED_DAT_1: u32 = 8;
/// Bit 10: the conditional-SSKE facility.
pub const CONDITIONAL_SSKE: u32 = 10;
/// Bit 11: the configuration-topology facility.
pub const CONFIGURATION_TOPOLOGY: u32 = 11;
/// Bit 13: the IPTE-range facility.
pub const IPTE_RANGE: u32 = 13;
/// Bit 14: the nonquiescing key-setting facility.
pub const NONQUIESCING_KEY_SETTING: u32 = 14;
/// Bit 36: the enhanced-monitor facility.
pub const ENHANCED_MONITOR: u32 = 36;
/// Bit 40: the load-program-parameter facility.
pub const LOAD_PROGRAM_PARAMETER: u32 = 40;
/// Bit 50: the constrained transactional-execution facility.
pub const CONSTRAINED_TRANSACTIONAL_EXECUTION: u32 = 50;
/// Miscellaneous-instruction-extensions facility 2.
pub const MISCELLANEOUS_EXTENSIONS_2: u32 = 58;
/// Bit 66: the reset-reference-bits-multiple facility.
pub const RESET_REFERENCE_BITS_MULTIPLE: u32 = 66;
/// Bit 67: the CPU-measurement counter facility.
pub const MEASUREMENT_COUNTER: u32 = 67;
/// Bit 68: the CPU-measurement sampling facility.
pub const MEASUREMENT_SAMPLING: u32 = 68;
/// Bit 73: the transactional-execution facility.
pub const TRANSACTIONAL_EXECUTION: u32 = 73;
/// Bit 78: the enhanced-DAT facility 2.
pub const ENHANCED_DAT_2: u32 = 78;
/// Bit 129: the vector facility for z/Architecture.
pub const VECTOR: u32 = 129;
/// Bit 130: the instruction-execution-protection facility.
pub const INSTRUCTION_EXECUTION_PROTECTION: u32 = 130;
/// Bit 142: the store-CPU-counter-multiple facility.
pub const STORE_COUNTER_MULTIPLE: u32 = 142;

/// The list of facility bits, bit 0 leftmost in the first doubleword.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FacilityList(pub [u64; FACILITY_DOUBLEWORDS]);

impl FacilityList {
    /// The list with bit `n` one; a bit beyond the list is ignored.
    #[must_use]
    pub const fn with(mut self, n: u32) -> Self {
        let doubleword = (n / 64) as usize;
        if doubleword < FACILITY_DOUBLEWORDS {
            self.0[doubleword] |= 1 << (63 - n % 64);
        }
        self
    }

    /// The list with bit `n` zero.
    #[must_use]
    pub const fn without(mut self, n: u32) -> Self {
        let doubleword = (n / 64) as usize;
        if doubleword < FACILITY_DOUBLEWORDS {
            self.0[doubleword] &= !(1 << (63 - n % 64));
        }
        self
    }

    /// Whether bit `n` is set.
    #[must_use]
    pub const fn has(&self, n: u32) -> bool {
        let doubleword = (n / 64) as usize;
        doubleword < FACILITY_DOUBLEWORDS && self.0[doubleword] & (1 << (63 - n % 64)) != 0
    }

    /// The number of doublewords up to the last nonzero one, at least one.
    #[must_use]
    pub fn doublewords(&self) -> usize {
        self.0
            .iter()
            .rposition(|&word| word != 0)
            .map_or(1, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_set_and_cleared_by_itself() {
        let list = FacilityList([u64::MAX; FACILITY_DOUBLEWORDS]).without(CONFIGURATION_TOPOLOGY);
        assert!(!list.has(CONFIGURATION_TOPOLOGY) && list.has(10) && list.has(12));
        assert_eq!(list.0[0], !(1 << 52));
        assert_eq!(list.with(CONFIGURATION_TOPOLOGY).0[0], u64::MAX);
        assert_eq!(list.without(4000), list);
    }

    #[test]
    fn facility_bits_are_numbered_from_the_left_across_doublewords() {
        let list = FacilityList::default().with(0).with(67).with(142);
        assert_eq!(list.0, [1 << 63, 1 << (63 - 3), 1 << (63 - 14), 0]);
        assert!(list.has(142) && !list.has(143));
        assert_eq!(list.doublewords(), 3);
    }
}
