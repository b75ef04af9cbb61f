//! HISSERV and its profilers.
//!
//! - [`wanted`]: the machine does what the profilers want together, as far as it is authorized.
//! - [`updates`]: changes while profilers are active.
//! - [`exits`]: calls of exits, and how long they take.
//! - [`requests`]: requests that are refused.

use super::bench::{Bench, Called};
use super::event::{Event, Events};
use super::exit::Handling;
use super::registry::{Registration, Token};
use super::service::Service;

mod exits;
mod requests;
mod updates;
mod wanted;

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
