//! What the operator has asked for and nobody has done yet.

use crate::command::Shown;
use crate::link::loader::COMMANDS_LENGTH;
use core::sync::atomic::AtomicBool;
use spin::Mutex;

/// Commands that are kept while the guest is stopped.
const MOST_KEPT: usize = 8;

/// What the operator asks for while the guest is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// To see something of the CPU.
    Show(Shown),
    /// To let it continue.
    Go,
}

/// The operator's side of the machine.
pub struct Operator {
    /// Commands for when the guest waits, one a line.
    pub later: Mutex<heapless::String<COMMANDS_LENGTH>>,
    /// Whether a trace has stopped the guest.
    pub stopped: AtomicBool,
    /// What was asked of the stopped guest and not done.
    pub asked: Mutex<heapless::Deque<Asked, MOST_KEPT>>,
}

impl Operator {
    /// Nothing asked for.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            later: Mutex::new(heapless::String::new()),
            stopped: AtomicBool::new(false),
            asked: Mutex::new(heapless::Deque::new()),
        }
    }
}
