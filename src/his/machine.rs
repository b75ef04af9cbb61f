//! What the service needs from the machine.

use super::command::Name;
use super::event::{Event, Events, SampleTypes};
use arch::tod::Tod;
use core::fmt;
use cpumf::SamplingLimits;
use cpumf::model::CounterRange;
use link::data::SAMPLE_DATA_BLOCK;

/// The longest parameter file, in bytes: the project's own bound.
pub const LONGEST_FILE: usize = 1024;

/// The text of a parameter file.
pub type File = heapless::String<LONGEST_FILE>;

/// The event types of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventState {
    /// The event types that it is authorized to use now.
    pub authorized: Events,
    /// Counter first version number.
    pub cfvn: u16,
    /// Counter second version number.
    pub csvn: u16,
}

/// The sampling functions of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingState {
    /// The sample types that it is authorized to use now.
    pub authorized: SampleTypes,
    /// The limits of the sampling interval, and the CPU speed.
    pub limits: SamplingLimits,
    /// The most sample-data blocks that a CPU can have.
    pub most_buffers: u16,
    /// Size of the basic-sampling data entry, in bytes.
    pub bsdes: u16,
    /// Size of the diagnostic-sampling data entry, in bytes.
    pub dsdes: u16,
}

/// The sampling that the service orders from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingOrder {
    /// The sample types, at least one, all of them authorized.
    pub types: SampleTypes,
    /// The sampling interval in cycles, within the machine's limits.
    pub interval: u64,
    /// Sample-data blocks of 4 KiB for each CPU, from 1.
    pub buffers: u16,
}

/// A CPU as a thread of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The core.
    pub core: u16,
    /// The thread of the core, from 0.
    pub number: u8,
}

impl Thread {
    /// The event types among these of which this thread has the counters. The threads of a core share its
    /// MT-diagnostic counters: the first one has them, so a sum over CPUs includes each core once.
    #[must_use]
    pub const fn counted(self, events: Events) -> Events {
        if self.number == 0 {
            events
        } else {
            events.without(Event::MtDiagnostic.bit())
        }
    }
}

/// A sample-data block, trailer included.
pub type Block = [u8; SAMPLE_DATA_BLOCK];

/// The origin and size of a block that has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBlock {
    /// The CPU that filled it.
    pub cpu: u16,
    /// The number of samples in it.
    pub samples: u32,
}

/// The machine at its own level, one below the guest's.
pub trait Machine {
    /// The TOD clock.
    fn tod(&mut self) -> Tod;

    /// The installed CPUs: bit 0 (the leftmost) is CPU 0.
    fn cpus(&self) -> u64;

    /// Which thread of which core a CPU is. A CPU without threads is a core by itself.
    fn thread(&self, cpu: u16) -> Thread;

    /// The event types.
    fn events(&self) -> EventState;

    /// The counters of an event type; those of the ZOS set begin at 0. The range is empty if the event type
    /// is not installed.
    fn counters(&self, event: Event) -> CounterRange;

    /// Makes exactly these event types count on every CPU. Those that count already continue without a
    /// break. All of them are authorized.
    fn enable(&mut self, events: Events);

    /// Reads the counters of a CPU: of each of these event types, in the order of their bits, the counters
    /// of [`Self::counters`] in ascending order. All values are of one moment; returns its time. Returns
    /// `None`, and reads nothing, if the CPU is not installed.
    fn read(
        &mut self,
        cpu: u16,
        events: Events,
        counter: &mut dyn FnMut(Event, u64),
    ) -> Option<Tod>;

    /// Monitor calls on all CPUs whose code has no counter of the ZOS set, since the set began to count.
    fn dropped_calls(&mut self) -> u64;

    /// The sampling functions.
    fn sampling(&self) -> SamplingState;

    /// Begins to sample on every CPU. The machine is not sampling yet.
    fn start_sampling(&mut self, order: &SamplingOrder);

    /// Stops sampling on all CPUs. Blocks that hold samples remain until they are taken.
    fn stop_sampling(&mut self);

    /// Copies the next block that holds samples, the oldest of each CPU first, and returns it to the CPU,
    /// which fills it again. While the machine samples it gives only full blocks, afterwards also the last
    /// ones. Returns `None` when there are no more.
    fn take_block(&mut self, block: &mut Block) -> Option<TakenBlock>;

    /// The text of the parameter file with this DD name, if it exists and can be read.
    fn file(&mut self, name: &Name) -> Option<File>;

    /// Shows whole lines to the operator, each with a line feed at its end.
    fn say(&mut self, lines: fmt::Arguments<'_>);
}
