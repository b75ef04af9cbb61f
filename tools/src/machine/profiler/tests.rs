use zerocopy::IntoBytes;
use {
    his::{
        Token,
        answer::Kind,
        event::{Event, Events},
        exit::{Action, Handling, Reasons},
    },
    link::service::{self, Function, Request, ServiceHead},
};

use super::*;

/// A profiler that does what it is told and writes down what it heard.
struct Scripted {
    registration: Registration,
    heard: Vec<String>,
    act: fn(&Call<'_>, &mut Requests<'_>) -> Handling,
    limit: Duration,
}

impl Scripted {
    fn new(name: &str, act: fn(&Call<'_>, &mut Requests<'_>) -> Handling) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            registration: Registration {
                name: name.to_owned(),
                events: Event::Basic.bit(),
                samples: true,
                acknowledges: true,
            },
            heard: Vec::new(),
            act,
            limit: LIMIT,
        }))
    }
}

fn boxed(profiler: &Arc<Mutex<Scripted>>) -> Box<dyn Profiler> {
    Box::new(Arc::clone(profiler))
}

fn heard(profiler: &Arc<Mutex<Scripted>>) -> Vec<String> {
    locked(profiler).heard.clone()
}

/// Ends the profilers, none of which has failed.
fn end(mut profilers: Profilers) {
    assert_eq!(profilers.failures(), Vec::<String>::new());
}

impl Profiler for Scripted {
    fn registration(&self) -> Registration {
        self.registration.clone()
    }

    fn call(&mut self, call: &Call<'_>, service: &mut Requests<'_>) -> Handling {
        self.heard.push(match call {
            Call::Samples(samples) => format!(
                "cpu{} {} samples, {} missed",
                samples.cpu, samples.samples, samples.missed
            ),
            Call::Answer(answer) => {
                format!("answer {:?} {} bytes", answer.reason, answer.area.len())
            }
            call => format!("{call:?}"),
        });
        (self.act)(call, service)
    }

    fn limit(&self) -> Duration {
        self.limit
    }
}

fn service_call(call: service::Call, token: u64, more: &[u8]) -> Vec<u8> {
    let head = ServiceHead {
        call: call as u8,
        token: token.into(),
        number: 126.into(),
        missed: 5.into(),
        ..ServiceHead::default()
    };
    [head.as_bytes(), more].concat()
}

fn answered(request: &Request, area: &[u8]) -> Vec<u8> {
    let bytes = [request.as_bytes(), area].concat();
    service_call(service::Call::Answer, request.token.get(), &bytes)
}

fn started(request: &Request, token: u64) -> Vec<u8> {
    let request = Request {
        token: token.into(),
        ..*request
    };
    answered(&request, &[])
}

fn functions(profilers: &mut Profilers) -> Vec<(u32, u64)> {
    let made = profilers.made();
    made.iter()
        .map(|request| (request.function.get(), request.token.get()))
        .collect()
}

#[test]
fn a_call_of_the_machine_goes_to_the_profiler_that_it_names() {
    let done = |_: &Call<'_>, _: &mut Requests<'_>| Handling::Done;
    let (one, two) = (Scripted::new("ONE", done), Scripted::new("TWO", done));
    let all = [boxed(&one), boxed(&two)];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    assert_eq!(staged[0].name, *b"ONE     ");
    assert_eq!(staged[1].flags, 0xC000_0000);
    assert!(profilers.take(&started(&staged[1], 8)));
    assert!(profilers.take(&started(&staged[0], 7)));
    assert!(profilers.take(&service_call(service::Call::Samples, 8, &[0; 4096])));
    assert!(!profilers.take(&service_call(service::Call::Samples, 9, &[0; 4096])));
    assert!(profilers.take(&service_call(service::Call::State, 7, &[])));
    assert!(!profilers.take(b"no payload"));
    // Both have started, and the block that the second is done with is acknowledged.
    let done = Function::Done as u32;
    assert_eq!(functions(&mut profilers), [(done, 8)]);
    end(profilers);
    let change = StateChange {
        action: Action::None,
        reasons: Reasons(126),
    };
    assert_eq!(
        heard(&one),
        ["Started(None)".to_owned(), format!("State({change:?})")]
    );
    assert_eq!(heard(&two), ["Started(None)", "cpu0 126 samples, 5 missed"]);
}

#[test]
fn a_block_that_is_pending_is_acknowledged_when_the_profiler_says_so() {
    let slow = Scripted::new("SLOW", |call, service| {
        if *call == Call::Waiting {
            service.done();
        }
        Handling::Pending
    });
    let all = [boxed(&slow)];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    profilers.take(&started(&staged[0], 7));
    profilers.take(&service_call(service::Call::Samples, 7, &[0; 4096]));
    assert_eq!(functions(&mut profilers), []);
    profilers.wait();
    profilers.wait();
    let done = Function::Done as u32;
    assert_eq!(functions(&mut profilers), [(done, 7)], "one wait, one call");
    profilers.go_on();
    profilers.wait();
    assert_eq!(functions(&mut profilers), [(done, 7)]);
}

#[test]
fn a_stop_is_refused_within_an_exit_and_ends_the_profiler_at_a_wait() {
    let one = Scripted::new("ONE", |call, service| {
        let stopped = service.stop();
        if call.is_exit() {
            assert_eq!(stopped, Err(Reason::WithinExit));
        }
        Handling::Done
    });
    locked(&one).registration.acknowledges = false;
    let all = [boxed(&one)];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    profilers.wait();
    assert_eq!(functions(&mut profilers), [], "it has not started");
    profilers.go_on();
    profilers.take(&service_call(service::Call::Status, 0, &[]));
    profilers.take(&started(&staged[0], 7));
    profilers.made();
    profilers.take(&service_call(service::Call::Samples, 7, &[0; 4096]));
    assert_eq!(functions(&mut profilers), []);
    profilers.wait();
    let made = profilers.made();
    assert_eq!(made.len(), 1);
    let stopped = Request {
        missed: 252.into(),
        ..made[0]
    };
    assert!(profilers.take(&answered(&stopped, &[])));
    profilers.take(&service_call(service::Call::Status, 0, &[]));
    end(profilers);
    assert_eq!(heard(&one).last().unwrap(), "Stopped { missed: 252 }");
}

#[test]
fn a_profiler_that_is_refused_hears_why_and_nothing_else() {
    let one = Scripted::new("ONE", |_, _| Handling::Done);
    let all = [boxed(&one)];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    let refused = Request {
        reason: Reason::NotEnabled.code().into(),
        ..staged[0]
    };
    profilers.take(&answered(&refused, &[]));
    profilers.take(&service_call(service::Call::Status, 0, &[]));
    end(profilers);
    assert_eq!(heard(&one), ["Refused(NotEnabled)"]);
}

#[test]
fn a_profiler_that_panics_or_loops_is_unregistered_and_the_others_go_on() {
    let panics = |call: &Call<'_>, service: &mut Requests<'_>| {
        if matches!(call, Call::Samples(_)) {
            // This request goes with it.
            service.done();
            panic!("program check");
        }
        Handling::Done
    };
    let loops = |call: &Call<'_>, _: &mut Requests<'_>| {
        if matches!(call, Call::Samples(_)) {
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Handling::Done
    };
    let done = |_: &Call<'_>, _: &mut Requests<'_>| Handling::Done;
    type Act = fn(&Call<'_>, &mut Requests<'_>) -> Handling;
    let soon = Duration::from_millis(200);
    for (act, limit, why) in [
        (panics as Act, LIMIT, "it panicked: program check"),
        (loops, soon, "it has not returned from a call after 200ms"),
    ] {
        let (bad, good) = (Scripted::new("BAD", act), Scripted::new("GOOD", done));
        locked(&bad).limit = limit;
        let (mut profilers, staged) = Profilers::new([boxed(&bad), boxed(&good)]).unwrap();
        profilers.take(&started(&staged[0], 7));
        profilers.take(&started(&staged[1], 8));
        assert_eq!(profilers.failures(), Vec::<String>::new());
        profilers.made();
        assert!(profilers.take(&service_call(service::Call::Samples, 7, &[0; 4096])));
        assert_eq!(
            profilers.failures(),
            [format!(
                "the profiler BAD has failed: {why}; it is no longer registered, and the run goes on"
            )]
        );
        let made = profilers.made();
        assert_eq!(made.len(), 1);
        let stop = (Function::Stop as u32, 7);
        assert_eq!((made[0].function.get(), made[0].token.get()), stop);
        assert!(!profilers.are_answered());
        // The machine knows of it at the next wait. Until then it names a profiler that nobody calls.
        assert!(profilers.take(&service_call(service::Call::Samples, 7, &[0; 4096])));
        profilers.wait();
        assert!(profilers.take(&service_call(service::Call::Samples, 8, &[0; 4096])));
        assert_eq!(functions(&mut profilers), [(Function::Done as u32, 8)]);
        profilers.take(&answered(&made[0], &[]));
        assert!(profilers.are_answered());
        end(profilers);
        let expected = ["Started(None)", "Waiting", "cpu0 126 samples, 5 missed"];
        assert_eq!(heard(&good), expected);
    }
}

#[test]
fn an_invalid_name_and_too_many_profilers_are_errors_before_the_run() {
    for name in ["", "NINE CHAR"] {
        let one = Scripted::new(name, |_, _| Handling::Done);
        let all = [boxed(&one)];
        let error = Profilers::new(all).err().unwrap().to_string();
        assert!(error.contains(&format!("{name:?}")), "{error}");
    }
    let nine = (0..9).map(|_| Scripted::new("ONE", |_, _| Handling::Done));
    let all = nine.map(|one| boxed(&one));
    let error = Profilers::new(all).err().unwrap().to_string();
    assert!(error.contains("8 at once"), "{error}");
}

#[test]
fn an_answer_is_read_cpu_by_cpu_up_to_the_first_wrong_length() {
    let mut area = vec![4, 1, 0, 16, 0, 0, 0, 64, 0, 0, 0, 64, 0, 1, 0, 0];
    area.extend([0, 3, 0, 1, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    area.extend([0, 0, 0, 48, 0, 0, 0, 0]);
    area.extend([0x80, 0, 0, 0, 0, 32, 0, 2]);
    area.extend([0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6]);
    let read = |area: &[u8]| {
        let answer = Answer { reason: None, area };
        answer.cpus()
    };
    let cpus = read(&area);
    assert_eq!((cpus.len(), cpus[0].cpu, cpus[0].tod.0), (1, 3, 9));
    assert_eq!(cpus[0].cpu_speed, 4096);
    assert_eq!(cpus[0].sets[0].event, Events(0x8000_0000));
    assert_eq!((cpus[0].counter(33), cpus[0].counter(34)), (Some(6), None));
    for length in 0..area.len() {
        assert!(read(&area[..length]).is_empty(), "{length}");
    }
    area[31 + 4] = 200;
    assert!(read(&area).is_empty());
}

#[test]
fn a_query_asks_for_the_profilers_own_events_on_all_cpus() {
    let one = Scripted::new("ONE", |call, service| {
        if matches!(call, Call::Started(_)) {
            assert_eq!(service.token(), Some(Token(7)));
            service.query(Kind::EventData, None);
        }
        Handling::Done
    });
    let all = [boxed(&one)];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    profilers.take(&started(&staged[0], 7));
    let made = profilers.made();
    assert_eq!((made[0].kind.get(), made[0].token.get()), (4, 7));
    assert_eq!(made[0].cpus, u64::MAX);
    profilers.take(&answered(&made[0], &[0; 16]));
    end(profilers);
    assert_eq!(heard(&one)[1], "answer None 16 bytes");
}
