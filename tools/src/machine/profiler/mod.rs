//! Profilers on the host: HISSERV over the link.
//!
//! A [`Profiler`] registers before the guest starts. It is called for samples and changes of state, like an exit in the
//! machine, and queries counters by [`Requests`]. [`run::run_with_profilers`](crate::machine::run::run_with_profilers)
//! takes several of them; `examples/profiler.rs` is one.
//!
//! # When the machine hears the host
//!
//! In an exact run the machine hears the host only when every CPU of the guest waits: else the run would depend on
//! how fast the host is. It performs requests then.
//!
//! A profiler is normally done with a block when the link has carried it. That takes no time of the guest, so even a
//! slow profiler misses no samples. One that [acknowledges](Registration::acknowledges) can have at most
//! [`WINDOW`](his::registry::WINDOW) pending blocks. While it has that many it misses samples, and other profilers do
//! not.
//!
//! # A profiler that fails
//!
//! Each profiler is called on a thread of its own. If a call panics, or has not returned after
//! [`Profiler::limit`], the profiler is not called again; a message says so, the machine removes it at the next wait, and
//! the run and all other profilers go on.

mod counters;
mod isolated;
mod requests;
mod session;
#[cfg(test)]
mod tests;

pub use counters::{CpuCounters, SetCounters};
pub use isolated::Failure;
pub use requests::{Answer, Requests};
pub use session::Profilers;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use his::{
    Reason,
    event::Events,
    exit::{Handling, Samples, StateChange, Status},
};

/// How a profiler registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// NAME: 1 to 8 letters, digits and `@#$`.
    pub name: String,
    /// EVENT: the event types that it will query; may be empty.
    pub events: Events,
    /// SAMPLE: whether it is called with samples.
    pub samples: bool,
    /// Whether it says when it is done with a block. Otherwise it is done when the link has carried the block.
    pub acknowledges: bool,
}

/// Why a profiler is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// It is registered. A reason is a warning: some of its event types are not available now.
    Started(Option<Reason>),
    /// It is not registered. This is the last call.
    Refused(Reason),
    /// The state has changed.
    State(StateChange),
    /// A block is full.
    Samples(Samples<'a>),
    /// The service comes or goes.
    Status(Status),
    /// A query was answered.
    Answer(Answer<'a>),
    /// It is no longer registered. This is the last call.
    Stopped {
        /// Samples that it missed.
        missed: u64,
    },
    /// Every CPU of the guest waits, so the machine performs requests now. There is one such call in a wait.
    Waiting,
}

impl Call<'_> {
    /// Whether the machine makes the call in an exit, where PROFILE requests are refused.
    const fn is_exit(&self) -> bool {
        matches!(self, Self::State(_) | Self::Samples(_) | Self::Status(_))
    }
}

/// How long a call may take, unless the profiler allows another time.
pub const LIMIT: Duration = Duration::from_secs(10);

/// A profiler on the host. To have its results after a run, share it: an [`Arc`] of a [`Mutex`] of a profiler is one, too.
pub trait Profiler: Send + 'static {
    /// How it registers, before the guest starts.
    fn registration(&self) -> Registration;

    /// Handles a call. The answer counts only for samples of a profiler that acknowledges: [`Handling::Pending`]
    /// means that it will say later that it is done ([`Requests::done`]).
    fn call(&mut self, call: &Call<'_>, service: &mut Requests<'_>) -> Handling;

    /// How long a call may take, by the clock of the host.
    fn limit(&self) -> Duration {
        LIMIT
    }
}

/// A call holds the lock, also one that never returns.
impl<P: Profiler> Profiler for Arc<Mutex<P>> {
    fn registration(&self) -> Registration {
        locked(self).registration()
    }

    fn call(&mut self, call: &Call<'_>, service: &mut Requests<'_>) -> Handling {
        locked(self).call(call, service)
    }

    fn limit(&self) -> Duration {
        locked(self).limit()
    }
}

/// The profiler, also after a panic: it is then not called again.
fn locked<P>(profiler: &Mutex<P>) -> MutexGuard<'_, P> {
    profiler.lock().unwrap_or_else(PoisonError::into_inner)
}
