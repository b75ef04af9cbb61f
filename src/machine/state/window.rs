//! The samples of a CPU's window, until they are sent.

use crate::cpumf::sampling::block::BasicEntry;
use crate::guest::state::window::Window;
use crate::link::frame::Channel;
use crate::link::window::{MOST_SAMPLES, WindowHead};
use crate::machine::io::console;
use zerocopy::IntoBytes;

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
