//! Exits: what the service calls in a profiler.
//!
//! An exit is called for one of four things: the state of the service changes, a sample-data block is
//! full, the service itself comes or goes (only for those who are registered with HIS.SERVSTAT), or the
//! collection run that HISPROF records goes on a step (only for HISPROF).
//!
//! An exit may hold a block for longer than its call: a profiler on the host has it only when the link
//! has carried it. Such an exit answers [`Handling::Pending`], and the machine says when it is done. A
//! profiler can have [`WINDOW`](super::registry::WINDOW) blocks pending; while it has, blocks pass it by and their samples are
//! lost to it, and to nobody else. It is told how many.
//!
//! An exit that answers [`Handling::Done`] is never passed by. While it runs, nothing else of the machine's
//! does: the guest takes no sample on this CPU, and the others have the blocks that BUFCNT gives them.
//! How long it took is recorded, and shown.

use super::event::{Event, Events};
use super::machine::{Block, Machine};
use super::query::{Answered, Query};
use super::reason::Reason;
use super::registry::{Registration, Registry, Token};
use arch::tod::Tod;
use cpumf::model::CounterRange;

/// What the service is doing when it notifies its profilers (HISYEXIT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// None: nothing is disrupted.
    None,
    /// UpdateStart: the service is about to update itself.
    UpdateStart,
    /// UpdateDone: it has.
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

/// Why the profilers are notified, a mask of 32 bits. Only None and UpdateDone can be without a bit.
///
/// The published text names the reasons in this order and gives no bits: they are the project's own, from
/// the left.
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

    /// The reasons of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of these is among them.
    #[must_use]
    pub const fn any_of(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A change of the state under the profilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// What the service is doing.
    pub action: Action,
    /// Why.
    pub reasons: Reasons,
}

/// A full sample-data block (HISYSMPX), to be read and not to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples<'a> {
    /// The CPU whose samples they are.
    pub cpu: u16,
    /// The block as the sampling facility filled it, trailer included.
    pub block: &'a Block,
    /// How many samples are in it.
    pub samples: u32,
    /// Samples of all CPUs that passed this profiler by since its last block: it had too many pending.
    pub missed: u64,
}

/// What happens to the service (HIS.SERVSTAT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can be used: HIS comes up.
    Enabled,
    /// It profiles: there is a profiler.
    Started,
    /// It profiles no more: the last profiler has gone.
    Stopped,
    /// It can be used no more: HIS goes down.
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
    /// The run begins: the first records.
    Begin,
    /// An interval has passed: a record of it.
    Interval,
    /// The state has changed: what follows goes into the set of files with this number.
    NextFiles(u16),
    /// The run ends: the last records.
    End,
}

/// Why an exit is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// The state has changed.
    State(StateChange),
    /// A block is full.
    Samples(Samples<'a>),
    /// The service comes or goes.
    Status(Status),
    /// The run goes on.
    Step(Step),
}

/// What an exit has done with a block; it means nothing for other calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// It is done with it.
    Done,
    /// It is not; [`super::Service::done`] says when it is.
    Pending,
}

/// An exit routine.
pub trait Exit {
    /// Is called. What it needs of the service it asks of `service`.
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling;
}

/// The service as an exit sees it: it answers queries and refuses PROFILE requests.
pub struct Inside<'a> {
    pub(super) token: Option<Token>,
    pub(super) registry: &'a mut Registry,
    pub(super) machine: &'a mut dyn Machine,
}

impl Inside<'_> {
    /// The token of the profiler whose exit is called; none in an exit of HIS.SERVSTAT.
    #[must_use]
    pub const fn token(&self) -> Option<Token> {
        self.token
    }

    /// REQUEST=QUERY.
    ///
    /// # Errors
    /// As outside of an exit.
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

    /// The CPUs that are there: bit 0 (the leftmost) is CPU 0.
    #[must_use]
    pub fn cpus(&self) -> u64 {
        self.machine.cpus()
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

    /// The profilers, and what is in effect.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        self.registry
    }
}
