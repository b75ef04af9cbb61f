//! The requests of the operator that have not been carried out yet.

use crate::command::Shown;
use crate::link::loader::COMMANDS_LENGTH;
use core::sync::atomic::AtomicBool;
use spin::Mutex;

/// Commands that are kept while the guest is stopped.
const MOST_KEPT: usize = 8;

/// A request of the operator while the guest is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// To show something of the CPU.
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
    /// Requests about the stopped guest that have not been carried out.
    pub asked: Mutex<heapless::Deque<Asked, MOST_KEPT>>,
}

impl Operator {
    /// No requests.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            later: Mutex::new(heapless::String::new()),
            stopped: AtomicBool::new(false),
            asked: Mutex::new(heapless::Deque::new()),
        }
    }
}
