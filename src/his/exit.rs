//! Exits: the routines of profilers that the service calls.
//!
//! The service calls an exit in four cases: the state of the service changes, a sample-data block is full,
//! the service itself starts or stops (only exits registered with HIS.SERVSTAT), or the collection run that
//! HISPROF records takes a step (only HISPROF).
//!
//! An exit may keep a block for longer than its call: a profiler on the host has the block only after the
//! link has carried it. Such an exit answers [`Handling::Pending`], and the machine reports later that it is
//! done. A profiler can have [`WINDOW`](super::registry::WINDOW) blocks pending; as long as it has, it
//! misses further blocks, but no other profiler does. The service tells it how many samples it missed.
//!
//! An exit that answers [`Handling::Done`] misses no blocks. While it runs, the machine does nothing else on
//! this CPU: the guest takes no sample here, and the other CPUs have the blocks that BUFCNT gives them. The
//! service records and shows how long the exit took.

use super::event::{Event, Events};
use super::machine::{Block, Machine, Thread};
use super::query::{Answered, Query};
use super::reason::Reason;
use super::registry::{Registration, Registry, Token};
use arch::tod::Tod;
use cpumf::model::CounterRange;

/// What the service is doing when it notifies its profilers (HISYEXIT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// None: the service is not interrupted.
    None,
    /// UpdateStart: the service is about to update itself.
    UpdateStart,
    /// UpdateDone: the service has updated itself.
    UpdateDone,
}

impl Action {
    /// The action with this number (as `u8`), if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::UpdateStart,
            2 => Self::UpdateDone,
            _ => return None,
        })
    }
}

/// Why the service notifies the profilers, a mask of 32 bits. Only with None and UpdateDone can it be zero.
///
/// The published text names the reasons of bits 0-5 in this order and gives no bits. These are the project's own,
/// from the left. Bit 6 qualifies bit 2, so that a profiler that does not know it still learns of the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons(pub u32);

impl Reasons {
    /// No reason.
    pub const NONE: Self = Self(0);
    /// Bit 0: an enabled counter set has become deauthorized.
    pub const COUNTERS_DEAUTHORIZED: Self = Self(0x8000_0000);
    /// Bit 1: an enabled sampling type has become deauthorized.
    pub const SAMPLING_DEAUTHORIZED: Self = Self(0x4000_0000);
    /// Bit 2: counter data has been lost.
    pub const COUNTER_DATA_LOST: Self = Self(0x2000_0000);
    /// Bit 3: sample data has been lost.
    pub const SAMPLE_DATA_LOST: Self = Self(0x1000_0000);
    /// Bit 4: the speed of the CPUs has changed.
    pub const SPEED_CHANGED: Self = Self(0x0800_0000);
    /// Bit 5: the service parameters have changed.
    pub const PARAMETERS_CHANGED: Self = Self(0x0400_0000);
    /// Bit 6, with bit 2: the lost counter data are those of the MT-diagnostic set, and of no other.
    pub const ONLY_MT: Self = Self(0x0200_0000);

    /// The reasons of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two masks have a reason in common.
    #[must_use]
    pub const fn any_of(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A change of the state of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// What the service is doing.
    pub action: Action,
    /// Why.
    pub reasons: Reasons,
}

/// A full sample-data block (HISYSMPX). The exit reads it and does not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples<'a> {
    /// The CPU that took the samples.
    pub cpu: u16,
    /// The block as the sampling facility filled it, trailer included.
    pub block: &'a Block,
    /// The number of samples in it.
    pub samples: u32,
    /// Samples of all CPUs that this profiler has missed since its last block, because it had too many
    /// pending.
    pub missed: u64,
}

/// A change of the status of the service (HIS.SERVSTAT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// HIS has started: the service can be used.
    Enabled,
    /// The first profiler has started.
    Started,
    /// The last profiler has stopped.
    Stopped,
    /// HIS has stopped: the service can no longer be used.
    Disabled,
}

impl Status {
    /// The status with this number (as `u8`), if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Enabled,
            1 => Self::Started,
            2 => Self::Stopped,
            3 => Self::Disabled,
            _ => return None,
        })
    }
}

/// A step of the collection run, for HISPROF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The run begins: write the first records.
    Begin,
    /// An interval has passed: write its records.
    Interval,
    /// The state has changed: continue in the set of files with this number.
    NextFiles(u16),
    /// The run ends: write the last records.
    End {
        /// Whether a state change ended it.
        state_change: bool,
    },
}

/// The reason for which an exit is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// The state has changed.
    State(StateChange),
    /// A block is full.
    Samples(Samples<'a>),
    /// The status of the service has changed.
    Status(Status),
    /// The run takes a step.
    Step(Step),
}

/// What an exit has done with a block. It has no meaning for other calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// The exit is done with the block.
    Done,
    /// The exit keeps the block until [`super::Service::done`] is called.
    Pending,
}

/// An exit routine.
pub trait Exit {
    /// The service calls the exit, which can use the service through `service`.
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling;
}

/// The service as an exit sees it: it answers queries and refuses PROFILE requests.
pub struct Inside<'a> {
    pub(super) token: Option<Token>,
    pub(super) registry: &'a mut Registry,
    pub(super) machine: &'a mut dyn Machine,
}

impl Inside<'_> {
    /// The token of the profiler that owns this exit; `None` in an exit of HIS.SERVSTAT.
    #[must_use]
    pub const fn token(&self) -> Option<Token> {
        self.token
    }

    /// REQUEST=QUERY.
    ///
    /// # Errors
    /// The same as outside an exit.
    pub fn query(&mut self, query: &Query, area: &mut [u8]) -> Result<Answered, Reason> {
        self.registry.query(self.machine, query, area)
    }

    /// REQUEST=PROFILE,ACTION=START, which no exit may issue.
    ///
    /// # Errors
    /// Always [`Reason::WithinExit`].
    pub fn start(&mut self, _: &Registration) -> Result<Token, Reason> {
        Err(Reason::WithinExit)
    }

    /// REQUEST=PROFILE,ACTION=STOP, which no exit may issue.
    ///
    /// # Errors
    /// Always [`Reason::WithinExit`].
    pub fn stop(&mut self, _: Token) -> Result<(), Reason> {
        Err(Reason::WithinExit)
    }

    /// The TOD clock.
    pub fn tod(&mut self) -> Tod {
        self.machine.tod()
    }

    /// The counters of an event type.
    #[must_use]
    pub fn counters(&self, event: Event) -> CounterRange {
        self.machine.counters(event)
    }

    /// The installed CPUs: bit 0 (the leftmost) is CPU 0.
    #[must_use]
    pub fn cpus(&self) -> u64 {
        self.machine.cpus()
    }

    /// Which thread of which core a CPU is.
    #[must_use]
    pub fn thread(&self, cpu: u16) -> Thread {
        self.machine.thread(cpu)
    }

    /// Reads the counters of a CPU, as [`Machine::read`] does.
    pub fn read(
        &mut self,
        cpu: u16,
        events: Events,
        counter: &mut dyn FnMut(Event, u64),
    ) -> Option<Tod> {
        self.machine.read(cpu, events, counter)
    }

    /// Records that the profiler of this exit has read its counters now, as QUERY EVENTDATA does.
    pub(super) fn note_query(&mut self) {
        let now = self.machine.tod();
        let place = self.token.and_then(|token| self.registry.place(token).ok());
        if let Some(profiler) = place.and_then(|place| self.registry.profilers[place].as_mut()) {
            profiler.note_query(now);
        }
    }

    /// The profilers and the controls in effect.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        self.registry
    }
}
