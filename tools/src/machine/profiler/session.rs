//! The profilers of a run: the machine's calls go to each of them, and their requests go to the machine.

use anyhow::{Result, ensure};
use {
    his::{
        Reason, Token,
        exit::{Action, Handling, Reasons, Samples, StateChange, Status},
        request::refused,
    },
    link::{
        loader::MOST_STAGED,
        service::{self, Function, Message, Request, ServiceHead, flags},
    },
};

use super::{
    Answer, Call, Profiler,
    isolated::{Isolated, Returned},
};

/// The profilers.
#[derive(Default)]
pub struct Profilers {
    all: Vec<Place>,
    made: Vec<Request>,
    /// How many requests are not answered yet.
    outstanding: usize,
    /// Whether they have been called for the present wait.
    called: bool,
    /// What is to be said about profilers that have failed.
    failures: Vec<String>,
}

struct Place {
    name: String,
    /// The profiler, unless it has failed.
    profiler: Option<Isolated>,
    acknowledges: bool,
    /// Its token while it is registered.
    token: Option<Token>,
}

impl Profilers {
    /// The profilers of a run, and the requests that register them before the guest starts.
    pub fn new(
        profilers: impl IntoIterator<Item = Box<dyn Profiler>>,
    ) -> Result<(Self, Vec<Request>)> {
        let mut all = Vec::new();
        let mut staged = Vec::new();
        for (number, profiler) in (0_u64..).zip(profilers) {
            let registration = profiler.registration();
            let mut name = [b' '; 8];
            let given = registration.name.as_bytes();
            ensure!(
                (1..=name.len()).contains(&given.len()),
                "the profiler {:?} cannot start: {}",
                registration.name,
                Reason::Name
            );
            name[..given.len()].copy_from_slice(given);
            let bit = |is: bool, bit| if is { bit } else { 0 };
            let flags = bit(registration.samples, flags::SAMPLES)
                | bit(registration.acknowledges, flags::ACKNOWLEDGES);
            staged.push(Request {
                flags: flags.into(),
                name,
                events: registration.events.0.into(),
                area: number.into(),
                ..Request::new(Function::Start)
            });
            all.push(Place {
                profiler: Some(Isolated::new(profiler, &registration.name)?),
                name: registration.name,
                acknowledges: registration.acknowledges,
                token: None,
            });
        }
        ensure!(
            all.len() <= MOST_STAGED,
            "{} profilers cannot start together; there can be {MOST_STAGED} at once",
            all.len()
        );
        let profilers = Self {
            outstanding: staged.len(),
            all,
            ..Self::default()
        };
        Ok((profilers, staged))
    }

    /// Takes a payload of the machine. False if it makes no sense.
    pub fn take(&mut self, payload: &[u8]) -> bool {
        let Ok(message) = service::parse(payload) else {
            return false;
        };
        match message {
            Message::Answer(request, area) => self.answer(request, area),
            Message::State(head) => {
                let Some(action) = Action::from_number(head.code) else {
                    return false;
                };
                let reasons = Reasons(head.number.get());
                let change = StateChange { action, reasons };
                self.called_by(head, &Call::State(change))
            }
            Message::Samples(head, block) => self.called_by(
                head,
                &Call::Samples(Samples {
                    cpu: head.cpu.get(),
                    block,
                    samples: head.number.get(),
                    missed: head.missed.get(),
                }),
            ),
            Message::Status(head) => {
                let Some(status) = Status::from_number(head.code) else {
                    return false;
                };
                for number in 0..self.all.len() {
                    self.call(number, &Call::Status(status));
                }
                true
            }
        }
    }

    /// Every CPU waits: calls each profiler, once for each time that the guest has gone on.
    pub fn wait(&mut self) {
        if !std::mem::replace(&mut self.called, true) {
            for number in 0..self.all.len() {
                self.call(number, &Call::Waiting);
            }
        }
    }

    /// The guest goes on.
    pub const fn go_on(&mut self) {
        self.called = false;
    }

    /// The requests that were made since the last call.
    pub fn made(&mut self) -> Vec<Request> {
        let is_answered = |request: &&Request| request.function.get() != Function::Done as u32;
        self.outstanding += self.made.iter().filter(is_answered).count();
        std::mem::take(&mut self.made)
    }

    /// What is to be said about profilers that have failed since the last call.
    pub fn failures(&mut self) -> Vec<String> {
        std::mem::take(&mut self.failures)
    }

    /// Whether the machine has answered every request. It may report a wait before it answers, and reports it again
    /// afterwards.
    pub const fn are_answered(&self) -> bool {
        self.outstanding == 0
    }

    fn answer(&mut self, request: &Request, area: &[u8]) -> bool {
        let number = usize::try_from(request.area.get()).unwrap_or(usize::MAX);
        let Some(place) = self.all.get_mut(number) else {
            return false;
        };
        self.outstanding = self.outstanding.saturating_sub(1);
        let reason = Reason::from_code(request.reason.get());
        let refusal = refused(request);
        match Function::from_number(request.function.get()) {
            Some(Function::Start) => {
                place.token = refusal.is_none().then(|| Token(request.token.get()));
                let call = refusal.map_or(Call::Started(reason), Call::Refused);
                self.call_unconditionally(number, &call);
            }
            Some(Function::Query) => {
                self.call_unconditionally(number, &Call::Answer(Answer { reason, area }))
            }
            Some(Function::Stop) => {
                let missed = request.missed.get();
                self.call_unconditionally(number, &Call::Stopped { missed });
                self.all[number].token = None;
            }
            // The machine never answers these.
            Some(Function::Done) | None => return false,
        }
        true
    }

    /// Calls the profiler that the machine names, if it is registered.
    fn called_by(&mut self, head: &ServiceHead, call: &Call<'_>) -> bool {
        let token = Some(Token(head.token.get()));
        let number = self.all.iter().position(|place| place.token == token);
        if let Some(number) = number {
            self.call(number, call);
        }
        number.is_some()
    }

    /// Calls a profiler that is registered.
    fn call(&mut self, number: usize, call: &Call<'_>) {
        if self.all[number].token.is_some() {
            self.call_unconditionally(number, call);
        }
    }

    /// Calls a profiler, registered or not: the calls for a start and a stop come outside its registration.
    fn call_unconditionally(&mut self, number: usize, call: &Call<'_>) {
        let place = &mut self.all[number];
        let Some(profiler) = &mut place.profiler else {
            return;
        };
        let (token, area) = (place.token, number as u64);
        // The request about this profiler, if it is registered.
        let about = |function| {
            token.map(|token| Request {
                token: token.0.into(),
                area: area.into(),
                ..Request::new(function)
            })
        };
        match profiler.call(call, token, area) {
            Ok(Returned { handling, made }) => {
                self.made.extend(made);
                if matches!(call, Call::Samples(_))
                    && place.acknowledges
                    && handling == Handling::Done
                {
                    self.made.extend(about(Function::Done));
                }
            }
            Err(failure) => {
                place.profiler = None;
                let name = &place.name;
                self.failures.push(format!(
                    "the profiler {name} has failed: {failure}; it is no longer registered, and the run goes on"
                ));
                if !matches!(call, Call::Stopped { .. }) {
                    self.made.extend(about(Function::Stop));
                }
            }
        }
    }
}
