//! Traced events on their way to the host.
//!
//! Events are collected for each CPU, and sent when there is no room for another one. In exact mode the guest waits for
//! the console, so no event is lost. In real time another CPU may have the console; events without room are then
//! counted.

use crate::link::frame::Channel;
use crate::link::trace::{Event, Stream};
use crate::machine::io::console;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::Mutex;
extern crate alloc;
use alloc::vec::Vec;

/// Bytes of waiting events, for each CPU.
const ROOM: usize = 8192;

/// The events of all CPUs.
pub struct Events {
    /// The events of each CPU that wait to be sent.
    streams: Vec<Mutex<Stream<ROOM>>>,
    /// Whether anything was ever traced.
    used: AtomicBool,
}

impl Events {
    /// No events of so many CPUs. Called at IPL, while there is a heap.
    #[must_use]
    pub fn new(cpus: u16) -> Self {
        Self {
            streams: (0..cpus).map(Stream::new).map(Mutex::new).collect(),
            used: AtomicBool::new(false),
        }
    }

    /// From now on there may be events.
    pub fn begin(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Whether there ever was a trace.
    #[must_use]
    pub fn used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Adds an event of a CPU.
    pub fn add(&self, cpu: u16, event: &Event<'_>, stops: bool) {
        let framed = console::framed();
        if stops || !framed {
            console::say(format_args!("CPU {cpu} {event}\n"));
        }
        if framed {
            // Each CPU has one.
            let Some(stream) = self.streams.get(usize::from(cpu)) else {
                return;
            };
            let mut stream = stream.lock();
            if !stream.has_room() {
                send(&mut stream);
            }
            stream.add(event);
        }
    }

    /// Sends the events of a CPU that wait to be sent.
    pub fn flush(&self, cpu: u16) {
        if self.used()
            && let Some(stream) = self.streams.get(usize::from(cpu))
        {
            send(&mut stream.lock());
        }
    }

    /// Whether a CPU has events at hand at the moment.
    pub fn is_held(&self) -> bool {
        self.streams.iter().any(Mutex::is_locked)
    }

    /// Sends the events of all CPUs that wait, and their ends. Only this CPU runs.
    pub fn finish(&self) {
        for stream in &self.streams {
            let mut stream = stream.lock();
            send(&mut stream);
            console::send(Channel::Trace, &stream.payload());
        }
    }
}

fn send(stream: &mut Stream<ROOM>) {
    if !stream.is_empty() && console::try_send(Channel::Trace, &stream.payload()) {
        stream.taken();
    }
}
