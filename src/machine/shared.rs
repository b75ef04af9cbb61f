//! What the real CPUs share below the guest's configuration: turns, input, and traced events.

use crate::guest::turns::Turns;
use crate::machine::hardware::instruction;
use crate::machine::hardware::passing::Passed;
use crate::machine::io::events::Events;
use crate::machine::io::input::Input;
use crate::msa::Noise;
use core::sync::atomic::AtomicU64;
use spin::Mutex;

/// What the real CPUs share.
pub struct Shared {
    /// Whose turn it is.
    pub turns: Turns,
    /// How the turn was last passed.
    pub passed: Passed,
    /// What the guest's clock showed when the turn was last passed, if it stands still while the machine works; else zero.
    pub still_clock: AtomicU64,
    /// The host's input.
    pub input: Input,
    /// Traced events on their way to the host.
    pub events: Events,
    /// The guest's true random numbers.
    pub noise: Mutex<Noise>,
}

impl Shared {
    /// What `cpus` CPUs share in a run with these turns; input may interrupt the guest if `listening`.
    #[must_use]
    pub fn new(turns: Turns, cpus: u16, listening: bool) -> Self {
        Self {
            turns,
            passed: Passed::new(),
            still_clock: AtomicU64::new(0),
            input: Input::new(listening),
            events: Events::new(cpus),
            noise: Mutex::new(Noise::new()),
        }
    }

    /// CPU `cpu` has something to look at.
    pub fn wake(&self, cpu: u16) {
        if self.turns.wake(cpu) {
            instruction::signal_emergency(cpu);
        }
    }
}
