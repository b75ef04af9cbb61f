//! Counter sets as they arrived, and their names.

use std::collections::BTreeMap;

use {
    cpumf::{
        CounterSet, Model,
        counters::{
            names,
            provenance::{Provenance, provenance, translation},
        },
    },
    link::{
        data::{COPROCESSOR_GROUP, CounterHead, Level, parse_counters},
        loader::MOST_THREADS,
    },
};

/// One counter set of one CPU, or of one coprocessor group, at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterValues {
    /// CPU address; for a coprocessor-group counter set the address of the group.
    pub cpu: u16,
    /// Whose measurement it is.
    pub level: Level,
    /// The set, as the M3 field of STORE CPU COUNTER MULTIPLE names it, or [`COPROCESSOR_GROUP`].
    pub set: u16,
    /// Number of the first counter.
    pub first: u16,
    /// Whether the set is authorized.
    pub authorized: bool,
    /// The counters.
    pub values: Vec<u64>,
}

impl CounterValues {
    /// Whether the set belongs to a group, not a CPU.
    pub const fn is_of_group(&self) -> bool {
        self.set == COPROCESSOR_GROUP
    }

    /// Whether its counters are in the sum over all CPUs. Both threads of a core have the cycles of
    /// their core, which are counted once.
    pub fn is_in_sum(&self) -> bool {
        let shared = u16::from(CounterSet::MtDiagnostic.code());
        self.set != shared || u32::from(self.cpu).is_multiple_of(MOST_THREADS)
    }
}

/// The set's name in reports and in JSON.
pub fn set_name(set: u16) -> String {
    match set {
        0 => "extended".to_owned(),
        1 => "basic".to_owned(),
        2 => "problem-state".to_owned(),
        3 => "crypto-activity".to_owned(),
        5 => "mt-diagnostic".to_owned(),
        COPROCESSOR_GROUP => "coprocessor-group".to_owned(),
        other => format!("set-{other}"),
    }
}

/// The name of counter `number` of a model.
pub fn counter_name(model: &Model, number: u16) -> String {
    let is_extended = model.range(CounterSet::Extended).contains(number);
    match (names::name(model, number), translation(model, number)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(translation)) if is_extended => translation.name(model).to_owned(),
        (None, _) if is_extended => format!("Extended counter {number}"),
        (None, _) => match model.locate(number) {
            Some(_) => "Reserved".to_owned(),
            None => format!("Counter {number}"),
        },
    }
}

/// The name of a counter of a coprocessor group.
pub fn group_counter_name(number: u16) -> String {
    match names::COPROCESSOR_GROUP.get(usize::from(number)) {
        Some(name) => (*name).to_owned(),
        None => "Reserved".to_owned(),
    }
}

/// Whether a counter of a CPU counts anything on this model. A counter that does not is zero unless a program sets it.
pub fn counts(model: &Model, number: u16, models_caches: bool) -> bool {
    matches!(
        provenance(model, number, models_caches),
        Some(Provenance::Counted(_))
    )
}

/// Gives consecutive payloads to `take`; each holds its own length. Returns true if the bytes end in the middle of one.
pub fn each(mut bytes: &[u8], mut take: impl FnMut(CounterValues)) -> bool {
    while !bytes.is_empty() {
        let length = payload_length(bytes);
        let Some(Ok((head, values))) = length
            .and_then(|length| bytes.get(..length))
            .map(parse_counters)
        else {
            break;
        };
        let Some(level) = Level::from_number(head.level.get()) else {
            break;
        };
        take(CounterValues {
            cpu: head.cpu.get(),
            level,
            set: head.set.get(),
            first: head.first.get(),
            authorized: head.authorized.get() != 0,
            values: values.iter().map(|value| value.get()).collect(),
        });
        bytes = &bytes[length.unwrap_or(bytes.len())..];
    }
    !bytes.is_empty()
}

/// Reads payloads. A later one of the same CPU, level and set replaces an earlier one. Returns the sets in ascending
/// order of level, CPU and set, and whether the bytes end in the middle of one.
pub fn read(bytes: &[u8]) -> (Vec<CounterValues>, bool) {
    let mut sets = BTreeMap::new();
    let cut = each(bytes, |found| {
        sets.insert(key(&found), found);
    });
    (sets.into_values().collect(), cut)
}

fn key(set: &CounterValues) -> (Level, u16, u16) {
    (set.level, set.cpu, set.set)
}

fn payload_length(bytes: &[u8]) -> Option<usize> {
    use zerocopy::FromBytes;
    let (head, _) = CounterHead::ref_from_prefix(bytes).ok()?;
    Some(size_of::<CounterHead>() + usize::from(head.count.get()) * size_of::<u64>())
}

/// The first counters of two sets.
const BASIC: u16 = 0;
const PROBLEM_STATE: u16 = 32;

/// The instructions that the guest executed in supervisor state, if they were counted.
pub fn in_supervisor_state(sets: &[CounterValues]) -> Option<u64> {
    let instructions = |first| {
        let own = sets
            .iter()
            .filter(|set| set.level == Level::Machine && set.first == first && !set.is_of_group());
        let counts = own.map(|set| set.values.get(1).copied());
        let counts = counts.collect::<Option<Vec<u64>>>()?;
        (!counts.is_empty()).then(|| {
            counts
                .iter()
                .fold(0_u64, |sum, count| sum.wrapping_add(*count))
        })
    };
    instructions(BASIC)?.checked_sub(instructions(PROBLEM_STATE)?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cpumf::model::{Z10, Z15};
    use link::data::Counters;
    use proptest::prelude::*;

    pub(crate) fn payload(cpu: u16, level: Level, set: u16, first: u16, values: &[u64]) -> Vec<u8> {
        let values: Vec<_> = values.iter().map(|&value| value.into()).collect();
        Counters::new(level, cpu, set, first, &values)
            .pieces()
            .concat()
    }

    #[test]
    fn a_later_payload_of_the_same_set_replaces_an_earlier_one() {
        let mut bytes = payload(1, Level::Machine, 1, 0, &[5, 6]);
        bytes.extend(payload(0, Level::Machine, 2, 32, &[1]));
        bytes.extend(payload(1, Level::Machine, 1, 0, &[7, 8]));
        let (sets, cut) = read(&bytes);
        assert!(!cut);
        let found: Vec<_> = sets
            .iter()
            .map(|set| (set.cpu, set.set, set.values.clone()))
            .collect();
        assert_eq!(found, [(0, 2, vec![1]), (1, 1, vec![7, 8])]);
    }

    #[test]
    fn bytes_that_end_in_the_middle_keep_what_came_before() {
        let mut bytes = payload(0, Level::Guest, 1, 0, &[5, 6]);
        bytes.extend(&payload(0, Level::Guest, 2, 32, &[9])[..15]);
        let (sets, cut) = read(&bytes);
        assert_eq!((sets.len(), cut), (1, true));
    }

    #[test]
    fn counters_have_the_names_of_the_manual() {
        let of_z15 = |number| counter_name(&Z15, number);
        assert_eq!(of_z15(1), "Instruction count");
        assert_eq!(of_z15(33), "Problem-state instruction count");
        assert_eq!(of_z15(137), "TLB2_PTE_WRITES");
        assert_eq!(of_z15(200), "Extended counter 200");
        assert_eq!(of_z15(450), "Reserved");
        assert_eq!(of_z15(300), "Counter 300");
        assert_eq!(counter_name(&Z10, 139), "DTLB1_WRITES");
        assert_eq!(group_counter_name(4), "DEA/AES/MAC function count");
        assert_eq!(
            (set_name(1), set_name(2)),
            ("basic".to_owned(), "problem-state".to_owned())
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }
    }
}
