//! The operator's traces, which all CPUs share.

use core::sync::atomic::{AtomicU64, Ordering};
use per::trace::{MOST_TRACES, TooMany, Trace, Traces};
use spin::Mutex;

/// The operator's traces, which all CPUs share.
#[derive(Debug, Default)]
pub struct Tracing {
    /// The traces. A CPU takes them over when it is asked to ([`take_over`](crate::recording::per::traced::take_over)).
    pub traces: Mutex<Traces>,
    /// How many events each has had.
    pub(crate) counts: [AtomicU64; MOST_TRACES],
}

impl Tracing {
    /// Begins a trace; returns its number.
    ///
    /// # Errors
    /// [`TooMany`].
    pub fn begin(&self, trace: Trace) -> Result<u8, TooMany> {
        let number = self.traces.lock().add(trace)?;
        self.of(number).store(0, Ordering::Relaxed);
        Ok(number)
    }

    /// How many events a trace has had.
    #[must_use]
    pub fn count(&self, number: u8) -> u64 {
        self.of(number).load(Ordering::Relaxed)
    }

    pub(crate) fn of(&self, number: u8) -> &AtomicU64 {
        &self.counts[usize::from(number) % MOST_TRACES]
    }
}
