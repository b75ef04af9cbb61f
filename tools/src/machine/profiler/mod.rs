//! Profilers on the host: HISSERV over the link.
//!
//! A [`Profiler`] registers before the guest starts, is called for samples and changes of the state as an exit in
//! the machine is, and asks for counters by [`Requests`]. Several of them are given to
//! [`run::run_with_profilers`](crate::machine::run::run_with_profilers); `examples/profiler.rs` is one.
//!
//! # When the machine hears the host
//!
//! In an exact run it does when every CPU of the guest waits, and at no other time: else the run would depend on
//! how fast the host is. A request is performed then. A profiler is done with a block when the link has carried it,
//! which takes no time of the guest, so it is never passed by, however slow it is. One that [acknowledges](Registration::acknowledges)
//! has at most [`WINDOW`](his::registry::WINDOW) blocks that it has not said to be done with; samples that come meanwhile pass it by,
//! and only it.

mod counters;
mod requests;
mod session;
#[cfg(test)]
mod tests;

pub use counters::{CpuCounters, SetCounters};
pub use requests::{Answer, Requests};
pub use session::Profilers;

use his::{
    Reason,
    event::Events,
    exit::{Handling, Samples, StateChange, Status},
};

/// What a profiler says of itself when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// NAME: 1 to 8 letters, digits and `@#$`.
    pub name: String,
    /// EVENT: the event types that it is going to query; may be none.
    pub events: Events,
    /// SAMPLE: whether it is called with samples.
    pub samples: bool,
    /// Whether it says when it is done with a block. If not, it is when the link has carried it.
    pub acknowledges: bool,
}

/// Why a profiler is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// It is registered; with a warning, some of its event types are not available now.
    Started(Option<Reason>),
    /// It is not registered, and is called no more.
    Refused(Reason),
    /// The state has changed.
    State(StateChange),
    /// A block is full.
    Samples(Samples<'a>),
    /// The service comes or goes.
    Status(Status),
    /// A query was answered.
    Answer(Answer<'a>),
    /// It is registered no more, and so many samples have passed it by. It is called no more.
    Stopped {
        /// These samples.
        missed: u64,
    },
    /// Every CPU of the guest waits: the machine hears what is asked for now. It is not called again
    /// for the same wait.
    Waiting,
}

impl Call<'_> {
    /// Whether it is one that the machine makes in an exit, where PROFILE requests are refused.
    const fn is_exit(&self) -> bool {
        matches!(self, Self::State(_) | Self::Samples(_) | Self::Status(_))
    }
}

/// A profiler on the host.
pub trait Profiler {
    /// How it registers, before the guest starts.
    fn registration(&self) -> Registration;

    /// Is called. What it answers means something for samples of one that acknowledges: [`Handling::Pending`] if it is going to say
    /// later that it is done ([`Requests::done`]).
    fn call(&mut self, call: &Call<'_>, service: &mut Requests<'_>) -> Handling;
}
