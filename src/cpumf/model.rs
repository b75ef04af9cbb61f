//! What each machine model provides: version numbers, counter numbers and entry sizes.
//!
//! A program distinguishes models by the machine type of STORE CPU ID and by the two counter version
//! numbers of QUERY COUNTER INFORMATION, and names the counters accordingly. So one table has these
//! numbers, and everything else that varies by model follows from it.

use super::counters::{CounterSet, CounterSets};

/// The counters of one set: consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRange {
    /// The number of the first counter.
    pub first: u16,
    /// The number of installed counters; zero when the set is not installed.
    pub count: u16,
}

impl CounterRange {
    /// Whether the range includes counter `number`.
    #[must_use]
    #[inline]
    pub const fn contains(self, number: u16) -> bool {
        number >= self.first && number - self.first < self.count
    }
}

/// A machine model, as the facilities of SA23-2260 show it to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The name by which the model is sold.
    pub name: &'static str,
    /// The machine types that STORE CPU ID gives, in hexadecimal digits; the first is the default.
    pub types: [u16; 2],
    /// The model in STORE SYSTEM INFORMATION: the smallest of the first machine type.
    pub hardware: &'static str,
    /// Counter first version number.
    pub cfvn: u16,
    /// Counter second version number.
    pub csvn: u16,
    /// Size of the diagnostic-sampling data entry.
    ///
    /// z10 to z13: Linux `tools/perf/util/s390-cpumsf.c`, by machine type. z16: an example of the
    /// command lscpumf with version 3.7 in IBM's device-driver book for Linux. No public source gives
    /// the size of z14 and z15: here it is that of z13, the model before them. A program that reads
    /// entries uses the size in the trailer.
    pub dsdes: u16,
}

/// Size of the basic-sampling data entry, on all models.
pub const BSDES: u16 = 32;

/// The largest size of a diagnostic-sampling data entry.
pub const LARGEST_DSDES: u16 = Z16.dsdes;

impl Model {
    /// The installed counters of `set`.
    #[must_use]
    pub const fn range(&self, set: CounterSet) -> CounterRange {
        let (first, count) = match set {
            CounterSet::Basic => (0, 6),
            CounterSet::ProblemState => (32, if self.cfvn == 1 { 6 } else { 2 }),
            CounterSet::CryptoActivity => (64, if self.csvn < 6 { 16 } else { 20 }),
            CounterSet::Extended => {
                let count = match self.csvn {
                    1 => 32,
                    2 => 48,
                    3..=5 => 128,
                    _ => 160,
                };
                (128, count)
            }
            CounterSet::MtDiagnostic => (448, if self.csvn > 3 { 48 } else { 0 }),
        };
        CounterRange { first, count }
    }

    /// The set of counter `number` and the counter's place in it, unless the number is unassigned
    /// or the counter is not installed.
    #[must_use]
    #[inline]
    pub fn locate(&self, number: u16) -> Option<(CounterSet, u16)> {
        CounterSet::ALL.into_iter().find_map(|set| {
            let range = self.range(set);
            range
                .contains(number)
                .then(|| (set, number.wrapping_sub(range.first)))
        })
    }

    /// The CPU counter sets that are installed.
    #[must_use]
    pub const fn installed(&self) -> CounterSets {
        let sets = CounterSets::BASIC
            .union(CounterSets::PROBLEM_STATE)
            .union(CounterSets::CRYPTO_ACTIVITY)
            .union(CounterSets::EXTENDED);
        if self.range(CounterSet::MtDiagnostic).count > 0 {
            sets.union(CounterSets::MT_DIAGNOSTIC)
        } else {
            sets
        }
    }

    /// Whether a core can have two threads: models with the MT-diagnostic counter set.
    #[must_use]
    pub const fn has_threads(&self) -> bool {
        self.range(CounterSet::MtDiagnostic).count > 0
    }

    /// Whether the model has the enhanced-monitor facility: from z196 on.
    #[must_use]
    pub const fn has_enhanced_monitor(&self) -> bool {
        self.csvn > 1
    }

    /// The data-entry-format code of the diagnostic-sampling data entry: 8001 for the first model, and
    /// the next code for each next model. SA23-2260 defined them in this way, edition by edition: one for
    /// each counter second version number that it names.
    #[must_use]
    pub const fn diagnostic_format(&self) -> u16 {
        0x8000 | self.csvn
    }

    /// The counter sets whose bits LOAD CPU-COUNTER-SET CONTROLS ignores: the MT-diagnostic set
    /// where it exists, and with CSVN 4 also the set that is reserved for IBM use.
    #[must_use]
    pub const fn ignored_by_lcctl(&self) -> CounterSets {
        match self.csvn {
            0..=3 => CounterSets::NONE,
            4 => CounterSets::MT_DIAGNOSTIC.union(CounterSets::RESERVED),
            _ => CounterSets::MT_DIAGNOSTIC,
        }
    }
}

/// IBM System z10.
pub const Z10: Model = model("z10", [0x2097, 0x2098], "E12", 1, 1, 64);
/// IBM zEnterprise 196 and 114.
pub const Z196: Model = model("z196", [0x2817, 0x2818], "M15", 1, 2, 74);
/// IBM zEnterprise EC12 and BC12.
pub const ZEC12: Model = model("zEC12", [0x2827, 0x2828], "H20", 1, 3, 85);
/// IBM z13 and z13s, at their later level (the earlier one had CFVN 1).
pub const Z13: Model = model("z13", [0x2964, 0x2965], "N30", 3, 4, 112);
/// IBM z14 and z14 ZR1.
pub const Z14: Model = model("z14", [0x3906, 0x3907], "M01", 3, 5, 112);
/// IBM z15.
pub const Z15: Model = model("z15", [0x8561, 0x8562], "T01", 3, 6, 112);
/// IBM z16.
pub const Z16: Model = model("z16", [0x3931, 0x3932], "A01", 3, 7, 173);

/// All models, oldest first.
pub static MODELS: [Model; 7] = [Z10, Z196, ZEC12, Z13, Z14, Z15, Z16];

/// The default model: that of QEMU's CPU.
pub static DEFAULT: Model = Z15;

const fn model(
    name: &'static str,
    types: [u16; 2],
    hardware: &'static str,
    cfvn: u16,
    csvn: u16,
    dsdes: u16,
) -> Model {
    Model {
        name,
        types,
        hardware,
        cfvn,
        csvn,
        dsdes,
    }
}

/// The model-capacity identifier of a machine with this many general-purpose cores at full speed, in ASCII: 701
/// is one core.
#[must_use]
pub const fn capacity_identifier(cores: u16) -> [u8; 3] {
    [
        b'7',
        b'0' + (cores / 10 % 10) as u8,
        b'0' + (cores % 10) as u8,
    ]
}

/// The model with this name, in upper or lower case.
#[must_use]
pub fn of_name(name: &str) -> Option<&'static Model> {
    MODELS
        .iter()
        .find(|model| model.name.eq_ignore_ascii_case(name))
}

/// The model of a machine type of STORE CPU ID.
#[must_use]
pub fn of_type(machine_type: u16) -> Option<&'static Model> {
    MODELS
        .iter()
        .find(|model| model.types.contains(&machine_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_model_is_a_z15_with_version_numbers_3_and_6() {
        assert_eq!(of_type(0x8561), Some(&DEFAULT));
        assert_eq!((DEFAULT.cfvn, DEFAULT.csvn), (3, 6));
    }

    #[test]
    fn cores_have_threads_from_z13_on() {
        let with = MODELS.iter().filter(|model| model.has_threads());
        assert!(with.eq([&Z13, &Z14, &Z15, &Z16]));
    }

    #[test]
    fn the_enhanced_monitor_facility_came_with_z196() {
        let without = MODELS.iter().filter(|model| !model.has_enhanced_monitor());
        assert!(without.eq([&Z10]));
    }

    #[test]
    fn the_capacity_identifier_counts_the_cores_at_full_speed() {
        assert_eq!(capacity_identifier(1), *b"701");
        assert_eq!(capacity_identifier(43), *b"743");
    }

    #[test]
    fn a_model_is_found_by_either_machine_type_and_by_its_name() {
        // (name, machine types, CFVN, CSVN, size of the diagnostic-sampling data entry, its format)
        let table = [
            ("z10", [0x2097, 0x2098], 1, 1, 64, 0x8001),
            ("z196", [0x2817, 0x2818], 1, 2, 74, 0x8002),
            ("zec12", [0x2827, 0x2828], 1, 3, 85, 0x8003),
            ("z13", [0x2964, 0x2965], 3, 4, 112, 0x8004),
            ("z14", [0x3906, 0x3907], 3, 5, 112, 0x8005),
            ("z15", [0x8561, 0x8562], 3, 6, 112, 0x8006),
            ("z16", [0x3931, 0x3932], 3, 7, 173, 0x8007),
        ];
        for (name, types, cfvn, csvn, dsdes, format) in table {
            let model = of_name(name).unwrap();
            for machine_type in types {
                assert_eq!(of_type(machine_type), Some(model), "{name}");
            }
            assert_eq!((model.cfvn, model.csvn), (cfvn, csvn), "{name}");
            let entry = (model.dsdes, model.diagnostic_format());
            assert_eq!(entry, (dsdes, format), "{name}");
        }
        assert_eq!(table.len(), MODELS.len());
        assert_eq!((of_name("z9"), of_type(0x2094)), (None, None));
    }

    #[test]
    fn counter_numbers_follow_from_the_version_numbers() {
        // (CSVN, last crypto-activity counter, last extended counter, MT-diagnostic counters)
        let table = [
            (1, 79, 159, 0),
            (2, 79, 175, 0),
            (3, 79, 255, 0),
            (4, 79, 255, 48),
            (5, 79, 255, 48),
            (6, 83, 287, 48),
            (7, 83, 287, 48),
        ];
        for (csvn, crypto, extended, mt) in table {
            let model = MODELS.iter().find(|model| model.csvn == csvn).unwrap();
            let last = |set| model.range(set).first + model.range(set).count - 1;
            assert_eq!(last(CounterSet::CryptoActivity), crypto, "{}", model.name);
            assert_eq!(last(CounterSet::Extended), extended, "{}", model.name);
            assert_eq!(
                model.range(CounterSet::MtDiagnostic).count,
                mt,
                "{}",
                model.name
            );
        }
        assert_eq!(Z10.range(CounterSet::ProblemState).count, 6);
        assert_eq!(Z15.range(CounterSet::ProblemState).count, 2);
    }

    #[test]
    fn an_unassigned_counter_number_is_in_no_set() {
        for number in [6, 31, 34, 63, 84, 127, 288, 447, 496, 0xFFFF] {
            assert_eq!(Z15.locate(number), None, "{number}");
        }
        assert_eq!(Z15.locate(287), Some((CounterSet::Extended, 159)));
        assert_eq!(ZEC12.locate(448), None);
        assert_eq!(Z15.locate(449), Some((CounterSet::MtDiagnostic, 1)));
    }
}
