//! Random sequences of commands and events: each run begins once and ends once.

use super::bench::{Bench, Called, shown};
use super::event::{CounterLoss, Event, Events, SampleTypes};
use super::exit::Handling::{Done, Pending};
use super::operator::His;
use super::registry::MOST_PROFILERS;
use super::registry::WINDOW;
use super::run::{HISPROF, Run};
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

const LINES: [&str; 17] = [
    "F HIS,B",
    "F HIS,B,CTRONLY,STATECHANGE=STOP",
    "F HIS,B,SAMPFREQ=60000,DATALOSS=STOP,SI=1",
    "F HIS,B,CTR=(BASIC,CRYPTO),DURATION=3",
    "F HIS,B,CNT=NO,STATECHANGE=IGNORE",
    "F HIS,B,SAMPTYPE=PERSIST,SAMPFREQ=PERSIST,BUFCNT=PERSIST",
    "F HIS,END",
    "F HIS,SERVICE",
    "F HIS,SERVICE,SAMPFREQ=120000,BUFCNT=PERSIST",
    "F HIS,SERVICE,SAMPTYPE=NONE",
    "F HIS,SERVICE,BUFCNT=9999",
    "F HIS,SERVICE,REFRESH",
    "D HIS",
    "F HIS,B,SAMPTYPE=(BASIC,DIAG),CTR=COMPLETE",
    "F HIS,SERVICE,SAMPTYPE=DIAG",
    "P HIS",
    "S HIS",
];

#[derive(Clone, Copy, Debug)]
enum Occurrence {
    Typed(usize),
    Authorized(u32, u32),
    Speed(u32),
    SamplesLost,
    CountersLost(CounterLoss),
    Blocks(usize),
    Filling(u32),
    Minutes(u64),
}

fn occurrence() -> impl Strategy<Value = Occurrence> {
    prop_oneof![
        4 => (0..LINES.len()).prop_map(Occurrence::Typed),
        1 => (0u32..64, 0u32..4).prop_map(|(sets, types)| Occurrence::Authorized(sets, types)),
        1 => (500u32..2_000).prop_map(Occurrence::Speed),
        1 => Just(Occurrence::SamplesLost),
        1 => prop_oneof![Just(CounterLoss::Cpu), Just(CounterLoss::Mt)].prop_map(Occurrence::CountersLost),
        2 => (0..=WINDOW + 1).prop_map(Occurrence::Blocks),
        1 => (1u32..126).prop_map(Occurrence::Filling),
        2 => (0u64..3).prop_map(Occurrence::Minutes),
    ]
}

fn perform(his: &mut His<Called>, bench: &mut Bench, runs: &Rc<Cell<u32>>, what: Occurrence) {
    match what {
        Occurrence::Typed(line) => {
            let heard = Rc::clone(&bench.heard);
            his.command(bench, LINES[line], |_| {
                runs.set(runs.get() + 1);
                let run = runs.get();
                Called::new(move |call, _| {
                    heard.borrow_mut().push(format!("{run} {}", shown(call)));
                    if run.is_multiple_of(2) { Pending } else { Done }
                })
            });
        }
        Occurrence::Authorized(sets, types) => {
            bench.authorized = Events(sets << 26);
            bench.types = SampleTypes(types << 30);
            his.authorization_changed(bench);
        }
        Occurrence::Speed(cycles) => {
            bench.limits.cpu_speed = cycles;
            his.speed_changed(bench);
        }
        Occurrence::SamplesLost => his.sample_data_lost(bench, 1),
        Occurrence::CountersLost(loss) => his.counter_data_lost(bench, loss),
        Occurrence::Blocks(blocks) => {
            bench.full.extend(vec![(1, 126); blocks]);
            his.blocks_ready(bench);
        }
        Occurrence::Filling(samples) => bench.filling = [samples, 0],
        Occurrence::Minutes(minutes) => {
            bench.clock.set(bench.clock.get() + minutes * 60_000_000);
            his.tick(bench);
        }
    }
}

proptest! {
    #[test]
    fn a_run_begins_once_and_ends_once_and_hisprof_is_registered_in_between(
        sequence in prop::collection::vec(occurrence(), 1..60),
    ) {
        let mut bench = Bench::new();
        let mut his: His<Called> = His::new();
        his.service.enable(&mut bench);
        let runs = Rc::new(Cell::new(0));
        let mut heard = Vec::new();
        for what in sequence {
            perform(&mut his, &mut bench, &runs, what);
            heard.extend(bench.happened());
            let running = his.run().is_some_and(Run::running);
            let registry = his.service.registry();
            let registered = registry.profilers().any(|one| one.registration.name == HISPROF);
            prop_assert_eq!(running, registered);
            prop_assert!(registry.profilers().count() <= MOST_PROFILERS);
            prop_assert_eq!(his.due_at().is_some(), running && {
                let begin = &his.run().unwrap().parameters;
                begin.counters || begin.duration.is_some()
            });
            prop_assert_eq!(bench.enabled.without(bench.authorized), Events::NONE);
            prop_assert!(running || bench.order.is_none());
            prop_assert!(bench.order.is_none_or(|order| order.types.has(SampleTypes::BASIC)));
        }
        his.guest_ended(&mut bench);
        heard.extend(bench.happened());
        prop_assert_eq!(bench.enabled.has(Event::Basic), false);
        for run in 1..=runs.get() {
            let begins = format!("{run} ");
            let mine: Vec<&str> = heard.iter().filter_map(|line| line.strip_prefix(&begins)).collect();
            prop_assert_eq!(mine.first(), Some(&"Begin"));
            prop_assert_eq!(mine.last(), Some(&"End"));
            prop_assert_eq!(mine.iter().filter(|line| **line == "Begin" || **line == "End").count(), 2);
            let starts = mine.iter().filter(|line| line.starts_with("UpdateStart")).count();
            let dones = mine.iter().filter(|line| line.starts_with("UpdateDone")).count();
            prop_assert_eq!(starts, dones);
        }
    }
}
