//! The names of the counters that SA23-2260 itself defines, for reports.
//!
//! Extended counters are model-dependent and named in SA23-2261, not here.

use super::super::model::Model;

/// Counters 0-5 (Figures 2-3 and 2-4).
static BASIC: [&str; 6] = [
    "Cycle count",
    "Instruction count",
    "Level-1 I-cache directory-write count",
    "Level-1 I-cache penalty cycle count",
    "Level-1 D-cache directory-write count",
    "Level-1 D-cache penalty cycle count",
];

/// Counters 32-37 (Figures 2-5 and 2-6; 34-37 only with CFVN 1).
static PROBLEM_STATE: [&str; 6] = [
    "Problem-state cycle count",
    "Problem-state instruction count",
    "Problem-state level-1 I-cache directory-write count",
    "Problem-state level-1 I-cache penalty cycle count",
    "Problem-state level-1 D-cache directory-write count",
    "Problem-state level-1 D-cache penalty cycle count",
];

/// Counters 64-83 (Figures 2-7 and 2-8; 80-83 only with CSVN 6 and above).
static CRYPTO_ACTIVITY: [&str; 20] = [
    "PRNG function count",
    "PRNG cycle count",
    "PRNG blocked function count",
    "PRNG blocked cycle count",
    "SHA function count",
    "SHA cycle count",
    "SHA blocked function count",
    "SHA blocked cycle count",
    "DEA function count",
    "DEA cycle count",
    "DEA blocked function count",
    "DEA blocked cycle count",
    "AES function count",
    "AES cycle count",
    "AES blocked function count",
    "AES blocked cycle count",
    "ECC function count",
    "ECC cycle count",
    "ECC blocked function count",
    "ECC blocked cycle count",
];

/// Counters 448-449 (Figure 2-9); 450-495 are reserved.
static MT_DIAGNOSTIC: [&str; 2] = [
    "Cycle count with one thread active",
    "Cycle count with two threads active",
];

/// Counters 0-7 of a coprocessor-group counter set (Figure 2-10; 8-63 are reserved).
pub static COPROCESSOR_GROUP: [&str; 8] = [
    "SHA function count",
    "SHA cycle count",
    "SHA blocked function count",
    "SHA blocked cycle count",
    "DEA/AES/MAC function count",
    "DEA/AES/MAC cycle count",
    "DEA/AES/MAC blocked function count",
    "DEA/AES/MAC blocked cycle count",
];

/// The name of counter `number`, if `model` installs it and SA23-2260 names it.
#[must_use]
pub fn name(model: &Model, number: u16) -> Option<&'static str> {
    use super::CounterSet;
    let (set, index) = model.locate(number)?;
    let names: &[&'static str] = match set {
        CounterSet::Basic => &BASIC,
        CounterSet::ProblemState => &PROBLEM_STATE,
        CounterSet::CryptoActivity => &CRYPTO_ACTIVITY,
        CounterSet::MtDiagnostic => &MT_DIAGNOSTIC,
        CounterSet::Extended => return None,
    };
    names.get(usize::from(index)).copied()
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{Z10, Z14, Z15};
    use super::*;

    #[test]
    fn names_follow_the_version_numbers() {
        assert_eq!(name(&Z15, 1), Some("Instruction count"));
        assert_eq!(name(&Z15, 33), Some("Problem-state instruction count"));
        assert_eq!(name(&Z15, 34), None);
        assert!(name(&Z10, 34).is_some());
        assert_eq!(name(&Z15, 80), Some("ECC function count"));
        assert_eq!(name(&Z14, 80), None);
        assert_eq!(name(&Z15, 128), None);
        assert_eq!(name(&Z15, 449), Some("Cycle count with two threads active"));
        assert_eq!(name(&Z15, 450), None);
    }
}
