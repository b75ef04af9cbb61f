//! The CPU-measurement counter facility.
//!
//! Counters do not run. The caller totals the CPU's [`Activity`], exactly and at no cost per trap; a
//! counter of an active set is a stored value plus the activity since ([`CounterFacility`]). Some
//! counters have no such total and count each event as it happens: the functions of coprocessors, for
//! the CPU and for the group ([`CoprocessorGroups`]), the cycles of threads, and the extended counters.
//! A counter without any source keeps what the program sets and counts nothing, by definition.

mod activity;
mod coprocessor;
pub mod extended;
mod global;
pub mod names;
pub(crate) mod peripheral;
pub mod provenance;
pub(crate) mod state;

#[cfg(test)]
mod model_lcctl;
#[cfg(test)]
mod model_peripheral;

pub use activity::Activity;
pub use coprocessor::{Coprocessor, CryptoFunction, Occupation};
pub use global::GlobalCounterControls;
pub use peripheral::CoprocessorGroups;
pub use state::CounterFacility;

use arch::bits::bit16;
use arch::set_operations;

/// The bits of a register that must be zeros where it designates a counter or a count.
pub(crate) const NOT_A_NUMBER: u64 = !0xFFFF;

/// The code for the MT-diagnostic set that also clears its loss alert (STORE CPU COUNTER MULTIPLE).
pub(crate) const MT_WITH_CLEARING: u8 = 9;

/// A CPU counter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterSet {
    /// Cycles, instructions and level-1 caches, in both states. Numbers from 0.
    Basic,
    /// The same, in the problem state. Numbers from 32.
    ProblemState,
    /// The functions of the coprocessors. Numbers from 64.
    CryptoActivity,
    /// Model-dependent. Numbers from 128.
    Extended,
    /// Cycles by number of active threads; read-only. Numbers from 448.
    MtDiagnostic,
}

impl CounterSet {
    /// All CPU counter sets, by counter number.
    pub const ALL: [Self; 5] = [
        Self::Basic,
        Self::ProblemState,
        Self::CryptoActivity,
        Self::Extended,
        Self::MtDiagnostic,
    ];

    /// The sets that LOAD CPU-COUNTER-SET CONTROLS controls.
    pub const LOADED: [Self; 4] = [
        Self::Basic,
        Self::ProblemState,
        Self::CryptoActivity,
        Self::Extended,
    ];

    /// The set's bit in the halfwords of control bits.
    #[must_use]
    #[inline]
    pub const fn bit(self) -> CounterSets {
        match self {
            Self::Basic => CounterSets::BASIC,
            Self::ProblemState => CounterSets::PROBLEM_STATE,
            Self::CryptoActivity => CounterSets::CRYPTO_ACTIVITY,
            Self::Extended => CounterSets::EXTENDED,
            Self::MtDiagnostic => CounterSets::MT_DIAGNOSTIC,
        }
    }

    /// The code in the M3 field of STORE CPU COUNTER MULTIPLE that designates this set.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Extended => 0,
            Self::Basic => 1,
            Self::ProblemState => 2,
            Self::CryptoActivity => 3,
            Self::MtDiagnostic => 5,
        }
    }

    /// The set that the M3 field of STORE CPU COUNTER MULTIPLE designates.
    #[must_use]
    #[inline(always)]
    pub const fn designated(m3: u8) -> Option<Self> {
        Some(match m3 {
            0 => Self::Extended,
            1 => Self::Basic,
            2 => Self::ProblemState,
            3 => Self::CryptoActivity,
            5 | MT_WITH_CLEARING => Self::MtDiagnostic,
            _ => return None,
        })
    }
}

/// A halfword of one bit per counter set, as QUERY COUNTER INFORMATION and LOAD CPU-COUNTER-SET
/// CONTROLS have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterSets(pub u16);

set_operations!(CounterSets of CounterSet);

impl CounterSets {
    /// The coprocessor-group counter sets (bit 0).
    pub const COPROCESSOR_GROUP: Self = Self(bit16(0));
    /// The MT-diagnostic counter set (bit 10).
    pub const MT_DIAGNOSTIC: Self = Self(bit16(10));
    /// Reserved for IBM use (bit 11).
    pub const RESERVED: Self = Self(bit16(11));
    /// The crypto-activity counter set (bit 12).
    pub const CRYPTO_ACTIVITY: Self = Self(bit16(12));
    /// The problem-state counter set (bit 13).
    pub const PROBLEM_STATE: Self = Self(bit16(13));
    /// The basic counter set (bit 14).
    pub const BASIC: Self = Self(bit16(14));
    /// The extended counter set (bit 15).
    pub const EXTENDED: Self = Self(bit16(15));
    /// The sets that have an honest source here: basic and problem-state.
    pub const HONEST: Self = Self::BASIC.union(Self::PROBLEM_STATE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_store_cpu_counter_multiple_designate_the_sets() {
        let table = [
            (0, Some(CounterSet::Extended)),
            (1, Some(CounterSet::Basic)),
            (2, Some(CounterSet::ProblemState)),
            (3, Some(CounterSet::CryptoActivity)),
            (4, None),
            (5, Some(CounterSet::MtDiagnostic)),
        ];
        for (code, set) in table {
            assert_eq!(CounterSet::designated(code), set, "{code}");
            assert!(set.is_none_or(|set| set.code() == code), "{code}");
        }
        for code in 6..=15 {
            let clearing = (code == 9).then_some(CounterSet::MtDiagnostic);
            assert_eq!(CounterSet::designated(code), clearing, "{code}");
        }
    }

    #[test]
    fn the_control_bits_are_those_of_the_query_block() {
        let table = [
            (CounterSets::COPROCESSOR_GROUP, 0x8000),
            (CounterSets::MT_DIAGNOSTIC, 0x0020),
            (CounterSets::RESERVED, 0x0010),
            (CounterSets::CRYPTO_ACTIVITY, 0x0008),
            (CounterSets::PROBLEM_STATE, 0x0004),
            (CounterSets::BASIC, 0x0002),
            (CounterSets::EXTENDED, 0x0001),
        ];
        for (sets, bits) in table {
            assert_eq!(sets.0, bits);
        }
    }
}
