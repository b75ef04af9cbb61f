//! What HISSERV does for its profilers, and what they hear of each other.
//!
//! - [`wanted`]: the machine does what is wanted together, as far as it may.
//! - [`updates`]: what changes while profilers are there.
//! - [`exits`]: calls of exits, and how long they take.
//! - [`requests`]: what is refused.

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
