//! The samples, events and counts of a CPU's window, until they are sent.

use crate::arch::psw::Psw;
use crate::cpumf::sampling::block::BasicEntry;
use crate::guest::state::counting::Counting;
use crate::guest::state::window::Window;
use crate::guest::state::window_traces::WindowTraces;
use crate::link::counts::{CountEntry, CountsHead, MOST_ENTRIES};
use crate::link::frame::Channel;
use crate::link::trace::{Event, Stream};
use crate::link::window::{MOST_SAMPLES, WindowHead};
use crate::machine::io::console;
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
    /// Its exact counts, if it has some.
    pub executions: Option<Box<Executions>>,
    /// By how much the clock is ahead.
    pub ahead: Ahead,
}

/// The exact counts of a window, and those that wait to be sent.
#[derive(Debug)]
pub struct Executions {
    /// What the CPU needs to count.
    pub counting: Counting,
    /// The counts that wait.
    pub waiting: Waiting,
}

/// By how much the clock is ahead of the guest's, because a stop has not set it back.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The clock units that are left to set back: whole steps.
    pub left: u64,
    /// The overhead of a stop after which the clock is set back before the guest goes on.
    pub stopped: Option<u64>,
    /// The old PSW of the program interruption that is being handled, and that of the first run, if the prefix area does not have
    /// that.
    pub old: Option<[Psw; 2]>,
    /// Which timer last interrupted, and when: its code and the guest's clock.
    pub early: Option<(u16, u64)>,
}

/// Counts that wait to be sent.
#[derive(Debug)]
pub struct Waiting {
    head: CountsHead,
    entries: heapless::Vec<CountEntry, MOST_ENTRIES>,
    /// Stops since the last payload.
    stops: u32,
}

impl Executions {
    /// Nothing was counted on this CPU.
    #[must_use]
    pub fn new(cpu: u16, counting: Counting) -> Self {
        Self {
            counting,
            waiting: Waiting {
                head: CountsHead {
                    cpu: cpu.into(),
                    ..CountsHead::default()
                },
                entries: heapless::Vec::new(),
                stops: 0,
            },
        }
    }
}

impl Waiting {
    /// Adds counts; sends those before them if there is no room.
    pub fn add(&mut self, entry: CountEntry) {
        if self.entries.is_full() {
            self.send();
        }
        let executions = entry.executions.get();
        self.head.counted += entry.instructions_of_one().wrapping_mul(executions);
        let _ = self.entries.push(entry);
    }

    /// The guest has stopped. If nothing was sent for long, sends what there is: the host would take a silent machine for one
    /// that hangs.
    pub fn show_life(&mut self) {
        const LONG: u32 = 1 << 18;
        self.stops += 1;
        if self.stops == LONG {
            self.send();
        }
    }

    fn send(&mut self) {
        self.stops = 0;
        self.head.count.set(self.entries.len() as u16);
        console::send_aside(
            Channel::Counts,
            &[self.head.as_bytes(), self.entries.as_bytes()],
        );
        self.head.sequence += 1;
        self.entries.clear();
    }

    /// Sends the counts that wait, and how many instructions were executed beside them.
    pub fn finish(&mut self, counting: &Counting) {
        self.head.unmatched.set(counting.unmatched);
        self.head.skipped.set(counting.skipped);
        self.send();
    }
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
    pub fn new(cpu: u16, traces: WindowTraces) -> Self {
        Self {
            traces,
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
            executions: None,
            ahead: Ahead {
                left: 0,
                old: None,
                stopped: None,
                early: None,
            },
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
