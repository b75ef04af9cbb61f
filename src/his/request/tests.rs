use super::*;
use crate::His;
use crate::answer::AnswerHead;
use crate::bench::{Bench, Called};
use crate::event::Event;
use crate::exit::Handling::{Done, Pending};
use zerocopy::FromBytes;
use zerocopy::byteorder::big_endian::U64;

fn enabled(bench: &mut Bench) -> Service<Called> {
    let mut service = Service::new();
    service.enable(bench);
    service
}

fn made(
    service: &mut Service<Called>,
    bench: &mut Bench,
    owner: Owner,
    mut request: Request,
) -> (Request, Vec<u8>) {
    let mut area = [0; LONGEST_ANSWER];
    let handling = if request.flags.get() & flags::ACKNOWLEDGES != 0 {
        Pending
    } else {
        Done
    };
    let exit = Called::listening("OUTSIDE", bench, handling);
    let stored = perform(service, bench, owner, &mut request, |_| exit, &mut area);
    (request, area[..stored].to_vec())
}

fn start(events: Events, flags: u32) -> Request {
    Request {
        name: *b"OUTSIDE ",
        events: events.0.into(),
        flags: flags.into(),
        ..Request::new(Function::Start)
    }
}

fn of(function: Function, token: U64) -> Request {
    Request {
        token,
        ..Request::new(function)
    }
}

fn query(kind: u32, token: U64, length: u32) -> Request {
    Request {
        kind: kind.into(),
        length: length.into(),
        cpus: u64::MAX.into(),
        ..of(Function::Query, token)
    }
}

#[test]
fn a_profiler_outside_the_machine_starts_queries_and_stops_by_the_same_block() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let basic = start(Event::Basic.bit(), 0);
    let (started, _) = made(&mut service, &mut bench, Owner::Guest, basic);
    assert_eq!(started.reason, 0);
    let (answered, answer) = made(
        &mut service,
        &mut bench,
        Owner::Guest,
        query(4, started.token, 8064),
    );
    let (head, _) = AnswerHead::read_from_prefix(&answer).unwrap();
    assert_eq!((answered.reason.get(), head.entries.get()), (0, 2));
    assert_eq!(head.needed.get() as usize, answer.len());
    let stop = of(Function::Stop, started.token);
    let (stopped, _) = made(&mut service, &mut bench, Owner::Guest, stop);
    assert_eq!((stopped.reason.get(), stopped.missed.get()), (0, 0));
    let (again, _) = made(&mut service, &mut bench, Owner::Guest, stop);
    assert_eq!(refused(&again), Some(Reason::Token));
}

#[test]
fn an_answer_that_fits_in_part_is_a_warning_and_one_that_does_not_fit_is_refused() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let basic = start(Event::Basic.bit(), 0);
    let (started, _) = made(&mut service, &mut bench, Owner::Host, basic);
    let (cut, answer) = made(
        &mut service,
        &mut bench,
        Owner::Host,
        query(4, started.token, 100),
    );
    assert_eq!(cut.reason.get(), Reason::AnswerCut.code());
    assert_eq!(refused(&cut), None);
    assert_eq!(answer.len(), 16 + 24 + 8 + 6 * 8);
    let (none, answer) = made(
        &mut service,
        &mut bench,
        Owner::Host,
        query(1, started.token, 31),
    );
    assert_eq!(refused(&none), Some(Reason::AnswerArea));
    assert!(answer.is_empty());
}

#[test]
fn only_its_owner_stops_queries_or_answers_for_a_profiler() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let asked = start(Events::NONE, flags::SAMPLES | flags::ACKNOWLEDGES);
    let (host, _) = made(&mut service, &mut bench, Owner::Host, asked);
    let registration = Registration::new("HISPROF", Events::NONE, false).unwrap();
    let exit = Called::listening("HISPROF", &bench, Done);
    let hisprof = service
        .start(&mut bench, &registration, exit)
        .unwrap()
        .token;
    for (owner, token) in [(Owner::Guest, host.token), (Owner::Host, hisprof.0.into())] {
        for request in [of(Function::Stop, token), query(4, token, 8064)] {
            let (answered, _) = made(&mut service, &mut bench, owner, request);
            assert_eq!(
                refused(&answered),
                Some(Reason::Token),
                "{owner:?} {request:?}"
            );
        }
    }
    for owner in [Owner::Guest, Owner::Machine] {
        let done = of(Function::Done, host.token);
        let (answered, _) = made(&mut service, &mut bench, owner, done);
        assert_eq!(refused(&answered), Some(Reason::Request));
    }
    assert_eq!(service.registry().profilers().count(), 2);
}

#[test]
fn a_profiler_in_the_guest_has_no_samples() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    for flags in [flags::SAMPLES, flags::ACKNOWLEDGES] {
        let asked = start(Events::NONE, flags);
        let (answered, _) = made(&mut service, &mut bench, Owner::Guest, asked);
        assert_eq!(refused(&answered), Some(Reason::NoExit));
    }
}

#[test]
fn a_slow_host_learns_at_its_stop_how_many_samples_it_missed() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let asked = start(Events::NONE, flags::SAMPLES | flags::ACKNOWLEDGES);
    let (slow, _) = made(&mut service, &mut bench, Owner::Host, asked);
    bench.full.extend([(0, 126); 6]);
    service.blocks_ready(&mut bench);
    bench.happened();
    let done = of(Function::Done, slow.token);
    let (acknowledged, _) = made(&mut service, &mut bench, Owner::Host, done);
    assert_eq!(acknowledged.reason, 0);
    assert_eq!(bench.happened(), ["OUTSIDE None 10000000"]);
    let stop = of(Function::Stop, slow.token);
    let (stopped, _) = made(&mut service, &mut bench, Owner::Host, stop);
    assert_eq!(stopped.missed, 252);
}

#[test]
fn an_invalid_request_is_refused_with_its_reason() {
    let mut bench = Bench::new();
    let mut service = enabled(&mut bench);
    let wrong = [
        (Request::default(), Reason::Request),
        (
            Request {
                function: 5.into(),
                ..Request::default()
            },
            Reason::Request,
        ),
        (query(5, 0.into(), 100), Reason::Request),
        (query(0x101, 0.into(), 100), Reason::Request),
        (start(Events::NONE, 1), Reason::Request),
        (start(Events(1), 0), Reason::Events),
        (
            Request {
                name: [0xFF; 8],
                ..start(Events::NONE, 0)
            },
            Reason::Name,
        ),
        (
            Request {
                name: *b"        ",
                ..start(Events::NONE, 0)
            },
            Reason::Name,
        ),
    ];
    for (request, reason) in wrong {
        let (answered, _) = made(&mut service, &mut bench, Owner::Host, request);
        assert_eq!(refused(&answered), Some(reason), "{request:?}");
    }
    assert_eq!(service.registry().profilers().count(), 0);
}

#[test]
fn every_reason_is_found_by_its_code() {
    for reason in Reason::ALL {
        assert_eq!(Reason::from_code(reason.code()), Some(reason));
    }
    assert_eq!(Reason::from_code(0), None);
}

#[test]
fn a_reset_of_the_guest_ends_its_profilers_and_no_others() {
    let mut bench = Bench::new();
    let mut his = His::new();
    his.service.enable(&mut bench);
    for owner in [Owner::Guest, Owner::Host, Owner::Guest] {
        let mut request = start(Event::Basic.bit(), 0);
        let exit = Called::listening("OUTSIDE", &bench, Done);
        let mut area = [0; LONGEST_ANSWER];
        his.request(&mut bench, owner, &mut request, |_| exit, &mut area);
        assert_eq!(request.reason, 0);
    }
    his.guest_was_reset(&mut bench);
    let left: Vec<_> = his.service.registry().profilers().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].registration.owner, Owner::Host);
}
