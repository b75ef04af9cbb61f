//! When every CPU waits, in real time.

use super::{InStorage, Turns, Word, Words, all_wait};
use crate::state::schedule::NEVER;
use crate::test_machine::Bench;

#[test]
fn every_cpu_waits_if_none_is_awake_ready_ordered_or_has_a_clock() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    let turns = Turns::new(false, 1);
    let words = InStorage {
        turns: &turns,
        configuration: &bench.configuration,
    };
    words.store(Word::Awake, 0);
    for cpu in 0..2 {
        words.store(Word::WakeAt(cpu), NEVER);
    }
    assert!(all_wait(&words));
    let reasons = [
        (Word::Awake, 2),
        (Word::Ready, 1),
        (Word::Orders(1), 1),
        (Word::WakeAt(1), 5),
    ];
    for (word, value) in reasons {
        let before = words.swap(word, value);
        assert!(!all_wait(&words), "{word:?}");
        words.store(word, before);
        assert!(all_wait(&words), "{word:?}");
    }
}
