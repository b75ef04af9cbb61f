//! The answer areas, byte by byte, and areas that are too short.

use super::answer::{
    AnswerHead, CpuEntry, EventBody, EventEntry, ProfilerEntry, SampleBody, SetHead,
};
use super::bench::{Bench, Called, NEW_YEAR, value};
use super::event::{Event, Events, ZOS_COUNTERS};
use super::exit::Handling::Done;
use super::query::{Answered, Query};
use super::reason::Reason;
use super::registry::{Registration, Token};
use super::service::Service;
use arch::bits::bit64;
use zerocopy::FromBytes;
use zerocopy::byteorder::big_endian::U64;

fn profiled(bench: &mut Bench, events: Events) -> (Service<Called>, Token) {
    let mut service = Service::new();
    service.enable(bench);
    let registration = Registration::new("PROF1", events, false).unwrap();
    let exit = Called::listening("PROF1", bench, Done);
    let token = service.start(bench, &registration, exit).unwrap().token;
    (service, token)
}

fn whole(stored: usize) -> Answered {
    Answered {
        stored,
        needed: stored,
        warning: None,
    }
}

#[test]
fn type_event_gives_authorized_usable_and_enabled_event_types_and_their_counters() {
    let mut bench = Bench::new();
    let (mut service, _) = profiled(&mut bench, Event::Basic.bit());
    bench.authorized = Events::HARDWARE;
    let mut area = [0xEE; 100];
    let answered = service.query(&mut bench, &Query::Event, &mut area);
    assert_eq!(answered, Ok(whole(16 + 16 + 6 * 8)));
    assert_eq!(
        area[..16],
        [1, 1, 0, 32, 0, 0, 0, 80, 0, 0, 0, 80, 0, 6, 0, 0]
    );
    let body = EventBody::ref_from_bytes(&area[16..32]).unwrap();
    assert_eq!(body.authorized, 0xF400_0000);
    assert_eq!(body.usable, 0xC000_0000);
    assert_eq!(body.enabled, 0x8000_0000);
    assert_eq!((body.cfvn.get(), body.csvn.get()), (3, 6));
    let crypto = EventEntry::ref_from_bytes(&area[48..56]).unwrap();
    assert_eq!(crypto.event, 0x2000_0000);
    assert_eq!((crypto.first.get(), crypto.count.get()), (64, 20));
    assert_eq!(area[80..], [0xEE; 20], "what follows is left alone");
}

#[test]
fn type_sample_gives_the_sampling_controls_and_the_limits_of_the_machine() {
    let mut bench = Bench::new();
    let (mut service, _) = profiled(&mut bench, Events::NONE);
    let mut area = [0; 72];
    let mut ask = |service: &mut Service<Called>, bench: &mut Bench| {
        let answered = service.query(bench, &Query::Sample, &mut area);
        assert_eq!(answered, Ok(whole(72)));
        *SampleBody::ref_from_bytes(&area[16..]).unwrap()
    };
    let body = ask(&mut service, &mut bench);
    assert_eq!((body.enabled.get(), body.interval.get()), (0, 0));
    let registration = Registration::new("SAMPLES", Events::NONE, true).unwrap();
    let exit = Called::listening("SAMPLES", &bench, Done);
    service.start(&mut bench, &registration, exit).unwrap();
    let body = ask(&mut service, &mut bench);
    assert_eq!(body.enabled, 0x8000_0000);
    assert_eq!(
        (body.interval.get(), body.frequency.get()),
        (75_000, 800_000)
    );
    assert_eq!((body.minimum.get(), body.maximum.get()), (1_000, 1 << 32));
    assert_eq!((body.bsdes.get(), body.dsdes.get()), (32, 112));
    assert_eq!(body.buffers, 4);
}

#[test]
fn event_data_are_the_counters_of_each_cpu_at_one_moment() {
    let mut bench = Bench::new();
    bench.authorized = Events::COMPLETE;
    let events = Event::ProblemState.bit().union(Event::Zos.bit());
    let (mut service, token) = profiled(&mut bench, events);
    bench.counted = 1_000;
    let zos = 8 * usize::from(ZOS_COUNTERS);
    let cpu = 24 + 8 + 2 * 8 + 8 + zos;
    let mut area = vec![0xEE; 16 + 2 * cpu];
    let cpus = None;
    let query = Query::EventData { token, cpus };
    let answered = service.query(&mut bench, &query, &mut area);
    assert_eq!(answered, Ok(whole(16 + 2 * cpu)));
    for (number, entry) in area[16..].chunks(cpu).enumerate() {
        let head = CpuEntry::ref_from_bytes(&entry[..24]).unwrap();
        assert_eq!((head.cpu.get(), head.sets.get()), (number as u16, 2));
        assert_eq!(head.length.get() as usize, cpu);
        assert_eq!(head.tod.get(), NEW_YEAR * 4096);
        let set = SetHead::ref_from_bytes(&entry[24..32]).unwrap();
        assert_eq!(set.event, 0x4000_0000);
        assert_eq!((set.first.get(), set.count.get()), (32, 2));
        let counters = <[U64]>::ref_from_bytes(&entry[32..48]).unwrap();
        let expected = [32, 33].map(|n| value(number as u16, n, 1_000));
        assert_eq!([counters[0].get(), counters[1].get()], expected);
        let set = SetHead::ref_from_bytes(&entry[48..56]).unwrap();
        assert_eq!((set.event.get(), set.count.get()), (0x0800_0000, 1500));
        let last = U64::ref_from_bytes(&entry[cpu - 8..]).unwrap();
        assert_eq!(last.get(), value(number as u16, 1499, 1_000));
    }
}

#[test]
fn the_first_thread_of_a_core_has_the_counters_of_the_core() {
    let mut bench = Bench::new();
    bench.threads = 2;
    let events = Event::Basic.bit().union(Event::MtDiagnostic.bit());
    bench.authorized = events;
    let (mut service, token) = profiled(&mut bench, events);
    let mut area = [0; 700];
    let cpus = None;
    let query = Query::EventData { token, cpus };
    let (basic, of_core) = (8 + 6 * 8, 8 + 48 * 8);
    let answered = service.query(&mut bench, &query, &mut area);
    assert_eq!(answered, Ok(whole(16 + 2 * (24 + basic) + of_core)));
    for (cpu, at, sets) in [(0, 16, 2), (1, 16 + 24 + basic + of_core, 1)] {
        let head = CpuEntry::ref_from_bytes(&area[at..at + 24]).unwrap();
        assert_eq!((head.cpu.get(), head.sets.get()), (cpu, sets));
    }
}

#[test]
fn the_cpu_mask_selects_cpus_and_must_designate_an_installed_one() {
    let mut bench = Bench::new();
    let (mut service, token) = profiled(&mut bench, Event::Basic.bit());
    let mut area = [0; 400];
    let mut ask = |cpus, token| {
        let cpus = Some(cpus);
        let query = Query::EventData { token, cpus };
        let answered = service.query(&mut bench, &query, &mut area)?;
        let head = AnswerHead::ref_from_bytes(&area[..16]).unwrap();
        Ok((answered.stored, head.entries.get(), area[17]))
    };
    let cpu = 24 + 8 + 6 * 8;
    assert_eq!(ask(bit64(1), token), Ok((16 + cpu, 1, 1)));
    assert_eq!(ask(bit64(0) | bit64(7), token), Ok((16 + cpu, 1, 0)));
    assert_eq!(ask(u64::MAX, token), Ok((16 + 2 * cpu, 2, 0)));
    assert_eq!(ask(bit64(2), token), Err(Reason::Cpus));
    assert_eq!(ask(0, token), Err(Reason::Cpus));
    assert_eq!(ask(bit64(0), Token(99)), Err(Reason::Token));
}

#[test]
fn a_short_area_has_whole_entries_and_gives_the_length_of_the_answer() {
    let mut bench = Bench::new();
    let (mut service, token) = profiled(&mut bench, Event::Basic.bit());
    let cpus = None;
    let query = Query::EventData { token, cpus };
    let cpu = 24 + 8 + 6 * 8;
    let needed = 16 + 2 * cpu;
    for length in 0..needed {
        let mut area = vec![0xEE; length];
        let answered = service.query(&mut bench, &query, &mut area);
        if length < 16 {
            assert_eq!(answered, Err(Reason::AnswerArea));
            assert!(area.iter().all(|&byte| byte == 0xEE));
            continue;
        }
        let stored = if length < 16 + cpu { 16 } else { 16 + cpu };
        let warning = Some(Reason::AnswerCut);
        let expected = Answered {
            stored,
            needed,
            warning,
        };
        assert_eq!(answered, Ok(expected), "{length}");
        assert!(area[stored..].iter().all(|&byte| byte == 0xEE));
        let head = AnswerHead::ref_from_bytes(&area[..16]).unwrap();
        assert_eq!(head.needed.get() as usize, needed);
        assert_eq!(head.stored.get() as usize, stored);
    }
}

#[test]
fn profilers_are_listed_with_the_average_time_between_their_queries() {
    let mut bench = Bench::new();
    let (mut service, token) = profiled(&mut bench, Event::Basic.bit());
    let cpus = None;
    let query = Query::EventData { token, cpus };
    for wait in [0, 10_000_000, 20_000_000] {
        bench.clock.set(bench.clock.get() + wait);
        service.query(&mut bench, &query, &mut [0; 400]).unwrap();
    }
    let mut area = [0; 80];
    let answered = service.query(&mut bench, &Query::Profilers, &mut area);
    assert_eq!(answered, Ok(whole(80)));
    let entry = ProfilerEntry::ref_from_bytes(&area[16..]).unwrap();
    assert_eq!(&entry.name, b"PROF1   ");
    assert_eq!((entry.events.get(), entry.flags.get()), (0x8000_0000, 0));
    assert_eq!(entry.started.get(), NEW_YEAR * 4096);
    assert_eq!(entry.queries, 3);
    assert_eq!(entry.between_queries, 15_000_000);
}

#[test]
fn a_query_gives_only_the_enabled_ones_of_the_requested_event_types() {
    let mut bench = Bench::new();
    let events = Event::Basic.bit().union(Event::Crypto.bit());
    let (mut service, token) = profiled(&mut bench, events);
    let cpus = Some(bit64(0));
    let query = Query::EventData { token, cpus };
    let mut area = [0; 400];
    let answered = service.query(&mut bench, &query, &mut area);
    assert_eq!(answered, Ok(whole(16 + 24 + 8 + 6 * 8)));
    bench.authorized = Events::NONE;
    service.authorization_changed(&mut bench);
    let answered = service.query(&mut bench, &query, &mut area);
    assert_eq!(answered, Ok(whole(16 + 24)), "a CPU without counters");
}
