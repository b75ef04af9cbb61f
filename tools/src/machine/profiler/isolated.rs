//! A profiler on a thread of its own, so that it can fail without the run.
//!
//! The run waits for each call, so a profiler still hears everything in the order in which the machine said it. A call
//! that panics, or that has not returned when its time is over, is the last one. A thread that does not return cannot be
//! ended; it is left alone, and ends with the process.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result};
use his::{
    Reason, Token,
    exit::{Handling, Samples, StateChange, Status},
    machine::Block,
};
use link::service::Request;
use thiserror::Error;

use super::{Answer, Call, Profiler, Requests};

/// Why a profiler is called no more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The call panicked.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// The call did not return in time.
    #[error("it has not returned from a call after {0:?}")]
    TooSlow(Duration),
}

/// The profiler.
pub(super) struct Isolated {
    /// Ends the thread when it is dropped.
    calls: Option<Sender<Sent>>,
    returned: Receiver<Result<Returned, Failure>>,
    thread: Option<JoinHandle<()>>,
    limit: Duration,
}

/// A call on its way to the thread.
struct Sent {
    call: Owned,
    token: Option<Token>,
    number: u64,
}

/// The outcome of a call.
pub(super) struct Returned {
    /// The answer.
    pub handling: Handling,
    /// The requests that were made during the call.
    pub made: Vec<Request>,
}

impl Isolated {
    /// Starts the thread of a profiler.
    pub fn new(profiler: Box<dyn Profiler>, name: &str) -> Result<Self> {
        let limit = profiler.limit();
        let (calls, sent) = channel();
        let (back, returned) = channel();
        let thread = thread::Builder::new()
            .name(format!("profiler {name}"))
            .spawn(move || serve(profiler, &sent, &back))
            .context("a profiler needs a thread")?;
        Ok(Self {
            calls: Some(calls),
            returned,
            thread: Some(thread),
            limit,
        })
    }

    /// Calls the profiler and waits for its answer.
    ///
    /// # Errors
    /// The call failed. The profiler must not be called again.
    pub fn call(
        &mut self,
        call: &Call<'_>,
        token: Option<Token>,
        number: u64,
    ) -> Result<Returned, Failure> {
        let gone = || Failure::Panicked("its thread has ended".to_owned());
        let call = Owned::from(call);
        let sent = Sent {
            call,
            token,
            number,
        };
        let calls = self.calls.as_ref().ok_or_else(gone)?;
        calls.send(sent).map_err(|_| gone())?;
        let returned = match self.returned.recv_timeout(self.limit) {
            Ok(returned) => returned,
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
            Err(RecvTimeoutError::Timeout) => {
                // Nobody waits for it again.
                self.thread = None;
                Err(Failure::TooSlow(self.limit))
            }
        };
        if returned.is_err() {
            self.calls = None;
        }
        returned
    }
}

impl Drop for Isolated {
    fn drop(&mut self) {
        self.calls = None;
        if let Some(thread) = self.thread.take() {
            // It has reported its panics.
            let _ = thread.join();
        }
    }
}

/// Performs calls until one fails or nobody makes any more.
fn serve(
    mut profiler: Box<dyn Profiler>,
    sent: &Receiver<Sent>,
    back: &Sender<Result<Returned, Failure>>,
) {
    while let Ok(sent) = sent.recv() {
        let call = sent.call.borrowed();
        let mut made = Vec::new();
        let mut requests = Requests {
            token: sent.token,
            within_exit: call.is_exit(),
            number: sent.number,
            made: &mut made,
        };
        // After a panic the profiler is only dropped.
        let handling = catch_unwind(AssertUnwindSafe(|| profiler.call(&call, &mut requests)));
        let returned = match handling {
            Ok(handling) => Ok(Returned { handling, made }),
            Err(panic) => Err(Failure::Panicked(text_of(panic.as_ref()))),
        };
        let is_over = returned.is_err();
        if back.send(returned).is_err() || is_over {
            return;
        }
    }
}

/// The text of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a text").to_owned()
}

/// A call that borrows nothing.
enum Owned {
    Started(Option<Reason>),
    Refused(Reason),
    State(StateChange),
    Samples {
        cpu: u16,
        block: Box<Block>,
        samples: u32,
        missed: u64,
    },
    Status(Status),
    Answer {
        reason: Option<Reason>,
        area: Vec<u8>,
    },
    Stopped {
        missed: u64,
    },
    Waiting,
}

impl From<&Call<'_>> for Owned {
    fn from(call: &Call<'_>) -> Self {
        match *call {
            Call::Started(warning) => Self::Started(warning),
            Call::Refused(reason) => Self::Refused(reason),
            Call::State(change) => Self::State(change),
            Call::Samples(Samples {
                cpu,
                block,
                samples,
                missed,
            }) => Self::Samples {
                cpu,
                block: Box::new(*block),
                samples,
                missed,
            },
            Call::Status(status) => Self::Status(status),
            Call::Answer(Answer { reason, area }) => Self::Answer {
                reason,
                area: area.to_vec(),
            },
            Call::Stopped { missed } => Self::Stopped { missed },
            Call::Waiting => Self::Waiting,
        }
    }
}

impl Owned {
    fn borrowed(&self) -> Call<'_> {
        match *self {
            Self::Started(warning) => Call::Started(warning),
            Self::Refused(reason) => Call::Refused(reason),
            Self::State(change) => Call::State(change),
            Self::Samples {
                cpu,
                ref block,
                samples,
                missed,
            } => Call::Samples(Samples {
                cpu,
                block,
                samples,
                missed,
            }),
            Self::Status(status) => Call::Status(status),
            Self::Answer { reason, ref area } => Call::Answer(Answer { reason, area }),
            Self::Stopped { missed } => Call::Stopped { missed },
            Self::Waiting => Call::Waiting,
        }
    }
}
