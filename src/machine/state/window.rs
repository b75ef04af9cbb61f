//! The samples of a CPU's window, until they are sent.

use crate::cpumf::sampling::block::BasicEntry;
use crate::guest::state::window::Window;
use crate::guest::state::window_traces::WindowTraces;
use crate::link::frame::Channel;
use crate::link::trace::{Event, Stream};
use crate::link::window::{MOST_SAMPLES, WindowHead};
use crate::machine::io::console;
use crate::per::trace::Traces;
extern crate alloc;
use alloc::boxed::Box;
use zerocopy::IntoBytes;

/// Bytes of events that wait.
const ROOM: usize = 8192;

/// The window of one CPU, and its samples that wait.
#[derive(Debug)]
pub struct Looked {
    /// When samples are due.
    pub window: Window,
    /// The samples that wait to be sent.
    pub samples: heapless::Vec<BasicEntry, MOST_SAMPLES>,
    /// The guest's clock at the last of them.
    pub tod: u64,
    /// How often samples were sent.
    pub sequence: u32,
    /// Its traces, if there are any.
    pub traced: Option<Box<Traced>>,
}

/// The traces of a window, and their events that wait to be sent.
#[derive(Debug)]
pub struct Traced {
    /// The traces.
    pub traces: WindowTraces,
    /// The events.
    pub events: Events,
}

/// Events that wait to be sent.
#[derive(Debug)]
pub struct Events(Stream<ROOM>);

impl Events {
    /// Adds an event; sends those before it if there is no room.
    pub fn add(&mut self, event: &Event<'_>) {
        if !self.0.has_room() {
            self.send();
        }
        self.0.add(event);
    }

    fn send(&mut self) {
        console::send_aside(Channel::Trace, &self.0.payload());
        self.0.taken();
    }
}

impl Traced {
    /// Nothing has been traced on this CPU.
    #[must_use]
    pub fn new(cpu: u16, traces: Traces) -> Self {
        Self {
            traces: WindowTraces::new(traces),
            events: Events(Stream::new(cpu)),
        }
    }

    /// Sends the events that wait, and then their number.
    pub fn finish(&mut self) {
        self.events.send();
        self.events.send();
    }
}

impl Looked {
    /// No samples yet.
    #[must_use]
    pub const fn new(window: Window) -> Self {
        Self {
            window,
            samples: heapless::Vec::new(),
            tod: 0,
            sequence: 0,
            traced: None,
        }
    }

    /// Keeps a sample of a CPU, and sends those that wait when they fill a payload.
    pub fn add(&mut self, cpu: u16, sample: BasicEntry, tod: u64) {
        self.tod = tod;
        let _ = self.samples.push(sample);
        if self.samples.is_full() {
            self.send(cpu);
        }
    }

    /// Sends the samples that wait.
    pub fn send(&mut self, cpu: u16) {
        if self.samples.is_empty() {
            return;
        }
        let head = WindowHead {
            cpu: cpu.into(),
            count: (self.samples.len() as u16).into(),
            sequence: self.sequence.into(),
            tod: self.tod.into(),
            missed: self.window.missed.into(),
        };
        console::send_aside(Channel::Window, &[head.as_bytes(), self.samples.as_bytes()]);
        self.sequence += 1;
        self.samples.clear();
    }
}
