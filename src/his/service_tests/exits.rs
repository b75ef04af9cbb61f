//! Requests within exits, and blocks while an exit is slow.

use super::*;
use crate::event::CounterLoss;
use crate::exit::Handling::{Done, Pending};
use crate::query::Query;
use crate::registry::WINDOW;
use std::rc::Rc;

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
    service.counter_data_lost(&mut bench, CounterLoss::Cpu);
    assert_eq!(
        bench.happened(),
        ["OTHER None 20000000", "[WithinExit, WithinExit] 144"]
    );
    assert_eq!(service.registry().profilers().count(), 2);
}

#[test]
fn a_slow_profiler_misses_samples_and_learns_it_and_the_others_miss_none() {
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
fn servstat_exits_are_called_when_service_and_profiling_start_and_stop() {
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
