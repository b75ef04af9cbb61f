//! Requests of profilers outside the machine.
//!
//! A profiler in the machine calls [`Service`]. A profiler in the guest gives a [`Request`] to DIAGNOSE, and one on
//! the host sends it by the link. The request then holds its result.

pub use link::service::{Function, LONGEST_ANSWER, Request, flags};

use super::answer::{AnswerHead, CpuEntry, Kind, SetHead};
use super::event::{Event, Events};
use super::exit::Exit;
use super::hisprof::MOST_VALUES;
use super::machine::Machine;
use super::query::Query;
use super::reason::Reason;
use super::registry::{Owner, Registration, Token};
use super::service::Service;

/// The longest QUERY EVENTDATA answer for one CPU. It fits, so a profiler can get everything one CPU at a time.
const ONE_CPU: usize = size_of::<AnswerHead>()
    + size_of::<CpuEntry>()
    + Event::ALL.len() * size_of::<SetHead>()
    + MOST_VALUES * size_of::<u64>();

const _: () = assert!(ONE_CPU <= LONGEST_ANSWER);

/// Why a request was refused.
#[must_use]
pub fn refused(request: &Request) -> Option<Reason> {
    Reason::from_code(request.reason.get()).filter(|reason| reason.return_code() > 4)
}

fn registration(request: &Request, owner: Owner) -> Result<Registration, Reason> {
    let flags = request.flags.get();
    if flags & !flags::ALL != 0 {
        return Err(Reason::Request);
    }
    if owner == Owner::Guest && flags != 0 {
        return Err(Reason::NoExit);
    }
    let name = core::str::from_utf8(&request.name).map_err(|_| Reason::Name)?;
    let events = Events(request.events.get());
    Registration::of(owner, name, events, flags & flags::SAMPLES != 0)
}

fn query(request: &Request) -> Result<Query, Reason> {
    let is = |kind: Kind| request.kind.get() == kind as u32;
    Ok(if is(Kind::Event) {
        Query::Event
    } else if is(Kind::Sample) {
        Query::Sample
    } else if is(Kind::Profilers) {
        Query::Profilers
    } else if is(Kind::EventData) {
        let cpus = request.cpus.get();
        Query::EventData {
            token: Token(request.token.get()),
            cpus: (cpus != u64::MAX).then_some(cpus),
        }
    } else {
        return Err(Reason::Request);
    })
}

/// Performs the request of a profiler outside the machine, and stores the result in it. Returns the number of bytes of
/// `area` that are the answer to a query.
///
/// `exit` makes the exit of a profiler that starts.
pub fn perform<E: Exit>(
    service: &mut Service<E>,
    machine: &mut dyn Machine,
    owner: Owner,
    request: &mut Request,
    exit: impl FnOnce(&Request) -> E,
    area: &mut [u8; LONGEST_ANSWER],
) -> usize {
    let done = ask(service, machine, owner, request, exit, area);
    let (stored, reason) = match done {
        Ok((stored, warning)) => (stored, warning),
        Err(reason) => (0, Some(reason)),
    };
    request.reason = reason.map_or(0, Reason::code).into();
    stored
}

fn ask<E: Exit>(
    service: &mut Service<E>,
    machine: &mut dyn Machine,
    owner: Owner,
    request: &mut Request,
    exit: impl FnOnce(&Request) -> E,
    area: &mut [u8],
) -> Result<(usize, Option<Reason>), Reason> {
    let token = Token(request.token.get());
    // An owner can use only the tokens of its own profilers.
    let is_own = |service: &Service<E>| {
        let profiler = service.profiler(token);
        profiler.is_some_and(|profiler| profiler.registration.owner == owner)
    };
    match Function::from_number(request.function.get()) {
        Some(Function::Start) => {
            let registration = registration(request, owner)?;
            let started = service.start(machine, &registration, exit(request))?;
            request.token = started.token.0.into();
            Ok((0, started.warning))
        }
        Some(Function::Stop) if !is_own(service) => Err(Reason::Token),
        Some(Function::Stop) => {
            let stopped = service.stop_after(machine, token, None)?;
            request.missed = stopped.missed.into();
            Ok((0, None))
        }
        Some(Function::Query) => {
            let query = query(request)?;
            if matches!(query, Query::EventData { .. }) && !is_own(service) {
                return Err(Reason::Token);
            }
            let length = area.len().min(request.length.get() as usize);
            let answered = service.query(machine, &query, &mut area[..length])?;
            Ok((answered.stored, answered.warning))
        }
        Some(Function::Done) if owner == Owner::Host && is_own(service) => {
            service.done(machine, token);
            Ok((0, None))
        }
        Some(Function::Done) | None => Err(Reason::Request),
    }
}

#[cfg(test)]
mod tests;
