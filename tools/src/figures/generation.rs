//! The models whose formulas are known.
//!
//! The machine can show itself as one of the models of [`cpumf::model`]. Records of real machines also come from newer
//! ones, so this list is longer.

use cpumf::{Model, model};

/// A model with its own extended counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// System z10.
    Z10,
    /// zEnterprise 196 and 114.
    Z196,
    /// zEnterprise EC12 and BC12.
    ZEc12,
    /// z13 and z13s.
    Z13,
    /// z14 and z14 ZR1.
    Z14,
    /// z15.
    Z15,
    /// z16.
    Z16,
    /// z17.
    Z17,
}

/// The machine types of z17, which the machine cannot show itself as.
const TYPES_OF_Z17: [u16; 2] = [0x9175, 0x9176];

impl Generation {
    /// All of them, oldest first.
    pub const ALL: [Self; 8] = [
        Self::Z10,
        Self::Z196,
        Self::ZEc12,
        Self::Z13,
        Self::Z14,
        Self::Z15,
        Self::Z16,
        Self::Z17,
    ];

    /// The model of the machine, unless it is newer.
    pub const fn model(self) -> Option<&'static Model> {
        Some(match self {
            Self::Z10 => &model::Z10,
            Self::Z196 => &model::Z196,
            Self::ZEc12 => &model::ZEC12,
            Self::Z13 => &model::Z13,
            Self::Z14 => &model::Z14,
            Self::Z15 => &model::Z15,
            Self::Z16 => &model::Z16,
            Self::Z17 => return None,
        })
    }

    /// The name by which it is sold.
    pub fn name(self) -> &'static str {
        self.model().map_or("z17", |model| model.name)
    }

    /// Its machine types.
    fn types(self) -> [u16; 2] {
        self.model().map_or(TYPES_OF_Z17, |model| model.types)
    }

    /// The one with this machine type, four digits.
    pub fn of_type(text: &str) -> Option<Self> {
        let machine_type = u16::from_str_radix(text, 16).ok()?;
        let mut all = Self::ALL.into_iter();
        all.find(|generation| generation.types().contains(&machine_type))
    }

    /// The one with this counter second version number.
    pub fn of_version(csvn: u16) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|generation| generation.model().is_some_and(|model| model.csvn == csvn))
    }

    /// The one with this name, in upper or lower case.
    pub fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|generation| generation.name().eq_ignore_ascii_case(name))
    }

    /// Whether it has counters of functions for elliptic curves: from z15 on.
    pub fn counts_curves(self) -> bool {
        self >= Self::Z15
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_found_by_machine_type_version_number_and_name() {
        for generation in Generation::ALL {
            assert_eq!(Generation::of_name(generation.name()), Some(generation));
            for machine_type in generation.types() {
                let text = format!("{machine_type:04X}");
                assert_eq!(Generation::of_type(&text), Some(generation), "{text}");
            }
        }
        assert_eq!(Generation::of_version(7), Some(Generation::Z16));
        for unknown in ["2094", "", "8561-T01"] {
            assert_eq!(Generation::of_type(unknown), None, "{unknown}");
        }
        assert_eq!(Generation::of_version(8), None);
    }

    #[test]
    fn models_with_counters_of_curves_have_twenty_crypto_activity_counters() {
        for generation in Generation::ALL {
            let Some(model) = generation.model() else {
                continue;
            };
            let count = model.range(cpumf::CounterSet::CryptoActivity).count;
            assert_eq!(generation.counts_curves(), count == 20, "{}", model.name);
        }
    }
}
