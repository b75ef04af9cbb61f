//! Where the value of each counter comes from, for those who judge what a number means.
//!
//! A counter either has a source with the meaning that SA23-2260 defines, or is zero by definition: it is
//! installed, can be set and read, and counts nothing. No counter is ever estimated.

use super::super::model::Model;
use super::CounterSet;
use super::extended::Translation;

/// Where the value of a counter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The counter counts this.
    Counted(&'static str),
    /// The counter counts nothing, for this reason.
    Zero(&'static str),
    /// The counter is installed and reserved.
    Reserved,
}

/// Basic and problem-state sets: cycles and instructions.
static TOTALS: [Provenance; 2] = [
    Provenance::Counted("guest time at the CPU speed; in exact mode one instruction is one cycle"),
    Provenance::Counted("instructions completed, told from time by the clock that counts them"),
];

/// The same sets: directory writes and penalty cycles, in a run that models caches.
static MODELLED: [Provenance; 2] = [
    Provenance::Counted("lines that the model of the cache brought in"),
    Provenance::Counted("what that cost by the model of the cache; no cycle count has it"),
];

/// The same in any other run.
const NO_CACHE: Provenance = Provenance::Zero("no cache is modelled (run --exact-caches does)");

/// Crypto-activity set: four counters for each kind of function.
static FUNCTIONS: [Provenance; 4] = [
    Provenance::Counted("functions that the CPU issued to the coprocessor of its group"),
    Provenance::Counted("cycles in which the coprocessor performed them"),
    Provenance::Counted("functions that found the coprocessor busy for another CPU"),
    Provenance::Counted("cycles in which they waited for it"),
];

/// MT-diagnostic set.
static THREADS: [Provenance; 2] = [
    Provenance::Counted("cycles of the core's threads while the other thread has no work"),
    Provenance::Counted("cycles of the core's threads while the other thread has work, too"),
];

/// Where the value of counter `number` comes from, if `model` installs it, in a run that models caches or in
/// one that does not.
#[must_use]
pub fn provenance(model: &Model, number: u16, caches: bool) -> Option<Provenance> {
    let (set, index) = model.locate(number)?;
    let index = usize::from(index);
    Some(match set {
        CounterSet::Basic | CounterSet::ProblemState => match TOTALS.get(index) {
            Some(total) => *total,
            None if caches => MODELLED[index % 2],
            None => NO_CACHE,
        },
        CounterSet::CryptoActivity => FUNCTIONS[index % 4],
        CounterSet::Extended => match translation(model, number) {
            Some(counted) => Provenance::Counted(counted.meaning()),
            None => Provenance::Zero("what this model counts here has no like below"),
        },
        CounterSet::MtDiagnostic => THREADS.get(index).copied().unwrap_or(Provenance::Reserved),
    })
}

/// The event in the shadow that an extended counter counts, if any.
#[must_use]
pub fn translation(model: &Model, number: u16) -> Option<Translation> {
    Translation::ALL
        .into_iter()
        .find(|translation| translation.counter(model) == number)
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{MODELS, Z10, Z15};
    use super::super::activity::Source;
    use super::*;

    #[test]
    fn every_installed_counter_has_a_source_or_is_zero_by_definition() {
        for model in &MODELS {
            for number in 0..512 {
                let installed = model.locate(number).is_some();
                for caches in [false, true] {
                    let found = provenance(model, number, caches);
                    assert_eq!(found.is_some(), installed, "{} {number}", model.name);
                }
            }
        }
    }

    #[test]
    fn only_counters_with_a_total_or_a_cache_model_are_counted_in_the_first_two_sets() {
        for model in &MODELS {
            for set in [CounterSet::Basic, CounterSet::ProblemState] {
                let range = model.range(set);
                for index in 0..range.count {
                    let total = Source::of(set, index) != Source::Nothing;
                    for caches in [false, true] {
                        let found = provenance(model, range.first + index, caches);
                        let counted = matches!(found, Some(Provenance::Counted(_)));
                        assert_eq!(counted, total || caches, "{} {set:?} {index}", model.name);
                    }
                }
            }
        }
    }

    #[test]
    fn directory_writes_have_even_numbers_and_penalty_cycles_odd_ones() {
        let model = |number| provenance(&Z10, number, true);
        for writes in [2, 4, 34, 36] {
            assert_eq!(model(writes), Some(MODELLED[0]));
            assert_eq!(model(writes + 1), Some(MODELLED[1]));
        }
    }

    #[test]
    fn an_extended_counter_counts_an_event_in_the_shadow_or_nothing() {
        // z15: (number, what its meaning says)
        let table = [
            (
                129,
                "entries that the shadow tables gained because of an operand",
            ),
            (130, "cycles"),
            (134, "because of an instruction fetch"),
            (135, "cycles"),
            (137, "page entries"),
            (138, "page tables"),
        ];
        let range = Z15.range(CounterSet::Extended);
        for number in range.first..range.first + range.count {
            let counted = table.iter().find(|(counted, _)| *counted == number);
            match (provenance(&Z15, number, false), counted) {
                (Some(Provenance::Counted(meaning)), Some((_, words))) => {
                    assert!(meaning.contains(words), "{number}: {meaning}");
                }
                (Some(Provenance::Zero(_)), None) => {}
                (other, _) => panic!("{number}: {other:?}"),
            }
        }
    }

    #[test]
    fn reserved_counters_of_the_mt_diagnostic_set_are_reserved() {
        assert_eq!(provenance(&Z15, 450, false), Some(Provenance::Reserved));
        assert_eq!(provenance(&Z15, 495, false), Some(Provenance::Reserved));
        assert!(matches!(
            provenance(&Z15, 449, false),
            Some(Provenance::Counted(_))
        ));
        assert_eq!(provenance(&Z10, 448, false), None);
    }
}
