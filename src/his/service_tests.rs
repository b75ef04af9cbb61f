//! What HISSERV does for its profilers, and what they hear of each other.

use super::bench::{Bench, Called};
use super::event::{Event, Events, SampleTypes};
use super::exit::Handling::{self, Done, Pending};
use super::exit::WINDOW;
use super::query::Query;
use super::reason::Reason;
use super::registry::{MOST_PROFILERS, Registration, Token};
use super::sampling::SamplingControls;
use super::service::Service;
use std::rc::Rc;

const BASIC: Events = Event::Basic.bit();
const PROBLEM: Events = Event::ProblemState.bit();

fn enabled(bench: &mut Bench) -> Service<Called> {
    let mut service = Service::new();
    service.enable(bench);
    service
}

fn start(
    service: &mut Service<Called>,
    bench: &mut Bench,
    name: &'static str,
    events: Events,
    samples: bool,
    handling: Handling,
) -> Token {
    let registration = Registration::new(name, events, samples).unwrap();
    let exit = Called::listening(name, bench, handling);
    service.start(bench, &registration, exit).unwrap().token
}

#[test]
fn the_machine_counts_what_any_profiler_asked_for_and_no_more() {
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
fn a_profiler_that_asks_for_what_is_not_there_is_told_and_has_it_when_it_is() {
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
fn the_machine_samples_while_somebody_wants_samples() {
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
fn a_profiler_has_the_samples_from_its_start_to_its_stop_and_no_others() {
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

#[test]
fn new_sampling_controls_are_an_update_that_every_profiler_hears_begin_and_end() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    start(&mut service, &mut bench, "A", BASIC, false, Done);
    start(&mut service, &mut bench, "B", Events::NONE, true, Done);
    bench.filling = [3, 0];
    bench.happened();
    let controls = SamplingControls {
        frequency: 60_000,
        ..SamplingControls::DEFAULT
    };
    service.set_controls(&mut bench, controls);
    assert_eq!(
        bench.happened(),
        [
            "sample no more",
            "B cpu0 3",
            "A UpdateStart 04000000",
            "B UpdateStart 04000000",
            "sample BASIC 1000000 4",
            "A UpdateDone 00000000",
            "B UpdateDone 00000000",
        ]
    );
    service.set_controls(&mut bench, controls);
    assert_eq!(bench.happened(), [""; 0], "nothing has changed");
}

#[test]
fn an_enabled_set_that_is_deauthorized_is_used_no_more_and_the_reason_says_so() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    start(&mut service, &mut bench, "A", BASIC, true, Done);
    bench.happened();
    bench.authorized = BASIC;
    service.authorization_changed(&mut bench);
    assert_eq!(
        bench.happened(),
        [""; 0],
        "the problem-state set was not enabled"
    );
    bench.authorized = Events::NONE;
    bench.types = SampleTypes::NONE;
    service.authorization_changed(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "sample no more",
            "A UpdateStart C0000000",
            "enable NONE",
            "A UpdateDone 00000000"
        ]
    );
    bench.authorized = BASIC;
    bench.types = SampleTypes::BASIC;
    service.refresh(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "A UpdateStart 04000000",
            "enable BASIC",
            "sample BASIC 75000 4",
            "A UpdateDone 00000000"
        ]
    );
}

#[test]
fn lost_data_disrupts_nothing_and_a_new_speed_moves_the_interval() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let a = start(&mut service, &mut bench, "A", BASIC, true, Done);
    bench.happened();
    service.counter_data_lost(&mut bench);
    service.sample_data_lost(&mut bench);
    assert_eq!(bench.happened(), ["A None 20000000", "A None 10000000"]);
    bench.limits.cpu_speed = 500;
    service.speed_changed(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "sample no more",
            "A UpdateStart 08000000",
            "sample BASIC 37500 4",
            "A UpdateDone 00000000"
        ]
    );
    service.stop(&mut bench, a).unwrap();
    start(&mut service, &mut bench, "B", BASIC, false, Done);
    bench.happened();
    service.speed_changed(&mut bench);
    assert_eq!(bench.happened(), ["B None 08000000"]);
}

#[test]
fn a_profile_request_within_an_exit_is_refused_and_a_query_is_not() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let other = start(&mut service, &mut bench, "OTHER", BASIC, false, Done);
    let heard = Rc::clone(&bench.heard);
    let exit = Called::new(move |_, service| {
        let registration = Registration::new("MORE", BASIC, false).unwrap();
        let mut area = [0; 200];
        let refused = [
            service.start(&registration).unwrap_err(),
            service.stop(other).unwrap_err(),
        ];
        let answered = service.query(&Query::Profilers, &mut area).unwrap();
        let note = format!("{refused:?} {}", answered.stored);
        heard.borrow_mut().push(note);
        Done
    });
    let registration = Registration::new("ASKS", Events::NONE, false).unwrap();
    service.start(&mut bench, &registration, exit).unwrap();
    bench.happened();
    service.counter_data_lost(&mut bench);
    assert_eq!(
        bench.happened(),
        ["OTHER None 20000000", "[WithinExit, WithinExit] 144"]
    );
    assert_eq!(service.registry().profilers().count(), 2);
}

#[test]
fn a_slow_profiler_misses_samples_and_is_told_and_the_others_miss_none() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let quick = start(&mut service, &mut bench, "QUICK", Events::NONE, true, Done);
    let slow = start(
        &mut service,
        &mut bench,
        "SLOW",
        Events::NONE,
        true,
        Pending,
    );
    let counts = start(&mut service, &mut bench, "COUNTS", BASIC, false, Done);
    bench.happened();
    bench.full.extend([(0, 126); WINDOW + 2]);
    service.blocks_ready(&mut bench);
    let happened = bench.happened();
    let heard = |name: &str| {
        happened
            .iter()
            .filter(|line| line.starts_with(name))
            .count()
    };
    assert_eq!((heard("QUICK"), heard("SLOW")), (WINDOW + 2, WINDOW));
    assert_eq!(heard("COUNTS"), 0);
    bench.clock.set(bench.clock.get() + 300);
    service.done(&mut bench, slow);
    assert_eq!(bench.happened(), ["SLOW None 10000000"]);
    service.done(&mut bench, slow);
    assert_eq!(bench.happened(), [""; 0], "it knows");
    bench.full.extend([(1, 126); 2]);
    service.blocks_ready(&mut bench);
    assert_eq!(
        bench.happened(),
        [
            "QUICK cpu1 126",
            "SLOW cpu1 126, 252 missed",
            "QUICK cpu1 126",
            "SLOW cpu1 126"
        ]
    );
    let missed = |token| service.profiler(token).unwrap().missed;
    assert_eq!((missed(quick), missed(slow), missed(counts)), (0, 252, 0));
    assert_eq!(service.profiler(slow).unwrap().per_block(), 300);
}

#[test]
fn the_time_that_each_block_took_is_recorded() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let clock = Rc::clone(&bench.clock);
    let mut takes = 0;
    let exit = Called::new(move |_, _| {
        takes += 100;
        clock.set(clock.get() + takes);
        Done
    });
    let registration = Registration::new("A", Events::NONE, true).unwrap();
    let token = service
        .start(&mut bench, &registration, exit)
        .unwrap()
        .token;
    assert_eq!(service.profiler(token).unwrap().per_block(), 0);
    bench.full.extend([(0, 126); 3]);
    service.blocks_ready(&mut bench);
    let profiler = service.profiler(token).unwrap();
    assert_eq!((profiler.blocks, profiler.per_block()), (3, 200));
}

#[test]
fn servstat_hears_the_service_come_and_go_and_profiling_begin_and_end() {
    let mut bench = Bench::new();
    let mut service = Service::new();
    let exit = Called::listening("SERVSTAT", &bench, Done);
    assert!(service.add_status_exit(exit).is_ok());
    service.enable(&mut bench);
    let a = start(&mut service, &mut bench, "A", BASIC, false, Done);
    let b = start(&mut service, &mut bench, "B", BASIC, false, Done);
    service.stop(&mut bench, a).unwrap();
    service.stop(&mut bench, b).unwrap();
    start(&mut service, &mut bench, "C", Events::NONE, false, Done);
    service.disable(&mut bench);
    let mut happened = bench.happened();
    happened.retain(|line| line.starts_with("SERVSTAT"));
    assert_eq!(
        happened.join(" ").replace("SERVSTAT ", ""),
        "Enabled Started Stopped Started Stopped Disabled"
    );
}

#[test]
fn requests_that_cannot_be_done_have_their_return_and_reason_codes() {
    let mut bench = Bench::new();
    let mut service = Service::new();
    let registration = Registration::new("A", BASIC, false).unwrap();
    let exit = |bench: &Bench| Called::listening("A", bench, Done);
    let closed = exit(&bench);
    let refused = service
        .start(&mut bench, &registration, closed)
        .unwrap_err();
    assert_eq!((refused.return_code(), refused.code()), (12, 0x0C01));
    let refused = service.query(&mut bench, &Query::Event, &mut [0; 99]);
    assert_eq!(refused, Err(Reason::NotEnabled));
    service.enable(&mut bench);
    let mut tokens = Vec::new();
    for _ in 0..MOST_PROFILERS {
        let exit = exit(&bench);
        tokens.push(
            service
                .start(&mut bench, &registration, exit)
                .unwrap()
                .token,
        );
    }
    let many = exit(&bench);
    let refused = service.start(&mut bench, &registration, many).unwrap_err();
    assert_eq!(refused, Reason::TooManyProfilers);
    assert!(service.stop(&mut bench, tokens[0]).is_ok());
    let gone = service.stop(&mut bench, tokens[0]).map(|_| ());
    assert_eq!(gone, Err(Reason::Token), "a token is used once");
    let again = exit(&bench);
    let token = service
        .start(&mut bench, &registration, again)
        .unwrap()
        .token;
    assert!(!tokens.contains(&token), "no two profilers have the same");
    assert_eq!(
        Registration::new("NINE CHAR", BASIC, false),
        Err(Reason::Name)
    );
    assert_eq!(Registration::new("", BASIC, false), Err(Reason::Name));
    assert_eq!(
        Registration::new("A       ", BASIC, false).unwrap().name,
        "A"
    );
    assert_eq!(
        Registration::new("A", Events(1), false),
        Err(Reason::Events)
    );
}

proptest::proptest! {
    #[test]
    fn whatever_comes_and_goes_the_machine_does_what_is_wanted_together_and_no_more(
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
