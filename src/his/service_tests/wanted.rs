//! The machine counts and samples exactly what the profilers want together.

use super::*;
use crate::event::SampleTypes;
use crate::exit::Handling::{Done, Pending};
use crate::reason::Reason;
use crate::registry::MOST_PROFILERS;

#[test]
fn the_machine_counts_exactly_what_any_profiler_requested() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let a = start(&mut service, &mut bench, "A", BASIC, false, Done);
    let b = start(&mut service, &mut bench, "B", PROBLEM, false, Done);
    let c = start(&mut service, &mut bench, "C", BASIC, false, Done);
    assert_eq!(
        bench.happened(),
        ["enable BASIC", "enable BASIC,PROBLEM-STATE"]
    );
    service.stop(&mut bench, a).unwrap();
    assert_eq!(bench.enabled, BASIC.union(PROBLEM), "C has it still");
    service.stop(&mut bench, c).unwrap();
    assert_eq!(bench.enabled, PROBLEM);
    service.stop(&mut bench, b).unwrap();
    assert_eq!(bench.enabled, Events::NONE);
    assert_eq!(bench.order, None);
}

#[test]
fn a_profiler_is_warned_of_unavailable_event_types_and_gets_them_when_they_become_available() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let registration = Registration::new("A", BASIC.union(Event::Crypto.bit()), false).unwrap();
    let exit = Called::listening("A", &bench, Done);
    let started = service.start(&mut bench, &registration, exit).unwrap();
    assert_eq!(started.warning, Some(Reason::EventsNotAvailable));
    assert_eq!(bench.enabled, BASIC);
    bench.authorized = bench.authorized.union(Event::Crypto.bit());
    service.authorization_changed(&mut bench);
    assert_eq!(bench.enabled, BASIC, "only a refresh looks for more");
    service.refresh(&mut bench);
    assert_eq!(bench.enabled, BASIC.union(Event::Crypto.bit()));
}

#[test]
fn the_machine_samples_while_any_profiler_wants_samples() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let a = start(&mut service, &mut bench, "A", BASIC, false, Done);
    assert_eq!(bench.order, None);
    let b = start(&mut service, &mut bench, "B", Events::NONE, true, Done);
    let order = bench.order.unwrap();
    assert_eq!((order.types, order.interval), (SampleTypes::BASIC, 75_000));
    assert_eq!(service.registry().sampled(), SampleTypes::BASIC);
    service.stop(&mut bench, b).unwrap();
    assert_eq!(bench.order, None);
    assert_eq!(service.registry().sampled(), SampleTypes::NONE);
    service.stop(&mut bench, a).unwrap();
}

#[test]
fn a_profiler_gets_exactly_the_samples_from_its_start_to_its_stop() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    start(&mut service, &mut bench, "A", Events::NONE, true, Done);
    bench.filling = [7, 0];
    bench.happened();
    let b = start(&mut service, &mut bench, "B", Events::NONE, true, Done);
    let resumed = "sample BASIC 75000 4";
    assert_eq!(bench.happened(), ["sample no more", "A cpu0 7", resumed]);
    bench.filling = [0, 5];
    service.stop(&mut bench, b).unwrap();
    assert_eq!(
        bench.happened(),
        ["sample no more", "A cpu1 5", "B cpu1 5", resumed]
    );
}

proptest::proptest! {
    #[test]
    fn in_any_sequence_the_machine_does_exactly_what_the_profilers_want_together(
        steps in proptest::collection::vec((0u8..6, 0u32..64, proptest::bool::ANY), 1..40),
    ) {
        let mut bench = Bench::new();
        let mut service = enabled(&mut bench);
        let mut present: Vec<(Token, Events, bool)> = Vec::new();
        for (kind, number, yes) in steps {
            let events = Events(number << 26);
            match kind {
                0 | 1 if present.len() < MOST_PROFILERS => {
                    let handling = if kind == 0 { Done } else { Pending };
                    let token = start(&mut service, &mut bench, "A", events, yes, handling);
                    present.push((token, events, yes));
                }
                2 if !present.is_empty() => {
                    let (token, ..) = present.remove(number as usize % present.len());
                    service.stop(&mut bench, token).unwrap();
                }
                3 => {
                    bench.authorized = events;
                    bench.types = if yes { SampleTypes::BASIC } else { SampleTypes::NONE };
                    service.authorization_changed(&mut bench);
                }
                4 => service.refresh(&mut bench),
                _ => bench.full.push_back((0, 126)),
            }
            service.blocks_ready(&mut bench);
            let usable = service.registry().usable();
            proptest::prop_assert_eq!(usable.without(bench.authorized), Events::NONE);
            let all = present.iter().fold(Events::NONE, |all, (_, events, _)| all.union(*events));
            proptest::prop_assert_eq!(bench.enabled, all.intersection(usable));
            let wanted = present.iter().any(|(.., samples)| *samples);
            let usable = !service.registry().usable_types().is_empty();
            proptest::prop_assert_eq!(bench.order.is_some(), wanted && usable);
        }
    }
}
