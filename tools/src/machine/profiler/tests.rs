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
}

impl Scripted {
    fn new(name: &str, act: fn(&Call<'_>, &mut Requests<'_>) -> Handling) -> Self {
        Self {
            registration: Registration {
                name: name.to_owned(),
                events: Event::Basic.bit(),
                samples: true,
                acknowledges: true,
            },
            heard: Vec::new(),
            act,
        }
    }
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

fn functions(profilers: &mut Profilers<'_>) -> Vec<(u32, u64)> {
    let made = profilers.made();
    made.iter()
        .map(|request| (request.function.get(), request.token.get()))
        .collect()
}

#[test]
fn a_call_of_the_machine_goes_to_the_profiler_that_it_names() {
    let done = |_: &Call<'_>, _: &mut Requests<'_>| Handling::Done;
    let (mut one, mut two) = (Scripted::new("ONE", done), Scripted::new("TWO", done));
    let all: [&mut dyn Profiler; 2] = [&mut one, &mut two];
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
    drop(profilers);
    let change = StateChange {
        action: Action::None,
        reasons: Reasons(126),
    };
    assert_eq!(
        one.heard,
        ["Started(None)".to_owned(), format!("State({change:?})")]
    );
    assert_eq!(two.heard, ["Started(None)", "cpu0 126 samples, 5 missed"]);
}

#[test]
fn a_block_that_is_pending_is_acknowledged_when_the_profiler_says_so() {
    let mut slow = Scripted::new("SLOW", |call, service| {
        if *call == Call::Waiting {
            service.done();
        }
        Handling::Pending
    });
    let all: [&mut dyn Profiler; 1] = [&mut slow];
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
    let mut one = Scripted::new("ONE", |call, service| {
        let stopped = service.stop();
        if call.is_exit() {
            assert_eq!(stopped, Err(Reason::WithinExit));
        }
        Handling::Done
    });
    one.registration.acknowledges = false;
    let all: [&mut dyn Profiler; 1] = [&mut one];
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
    drop(profilers);
    assert_eq!(one.heard.last().unwrap(), "Stopped { missed: 252 }");
}

#[test]
fn a_profiler_that_is_refused_hears_why_and_nothing_else() {
    let mut one = Scripted::new("ONE", |_, _| Handling::Done);
    let all: [&mut dyn Profiler; 1] = [&mut one];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    let refused = Request {
        reason: Reason::NotEnabled.code().into(),
        ..staged[0]
    };
    profilers.take(&answered(&refused, &[]));
    profilers.take(&service_call(service::Call::Status, 0, &[]));
    drop(profilers);
    assert_eq!(one.heard, ["Refused(NotEnabled)"]);
}

#[test]
fn an_invalid_name_and_too_many_profilers_are_errors_before_the_run() {
    for name in ["", "NINE CHAR"] {
        let mut one = Scripted::new(name, |_, _| Handling::Done);
        let all: [&mut dyn Profiler; 1] = [&mut one];
        let error = Profilers::new(all).err().unwrap().to_string();
        assert!(error.contains(&format!("{name:?}")), "{error}");
    }
    let mut nine: Vec<_> = (0..9)
        .map(|_| Scripted::new("ONE", |_, _| Handling::Done))
        .collect();
    let all = nine.iter_mut().map(|one| one as &mut dyn Profiler);
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
    let mut one = Scripted::new("ONE", |call, service| {
        if matches!(call, Call::Started(_)) {
            assert_eq!(service.token(), Some(Token(7)));
            service.query(Kind::EventData, None);
        }
        Handling::Done
    });
    let all: [&mut dyn Profiler; 1] = [&mut one];
    let (mut profilers, staged) = Profilers::new(all).unwrap();
    profilers.take(&started(&staged[0], 7));
    let made = profilers.made();
    assert_eq!((made[0].kind.get(), made[0].token.get()), (4, 7));
    assert_eq!(made[0].cpus, u64::MAX);
    profilers.take(&answered(&made[0], &[0; 16]));
    drop(profilers);
    assert_eq!(one.heard[1], "answer None 16 bytes");
}
