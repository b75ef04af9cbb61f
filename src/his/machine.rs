//! What the service needs of the machine.

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
    /// The sampling intervals that it has, and its speed.
    pub limits: SamplingLimits,
    /// The most sample-data blocks that a CPU can have.
    pub most_buffers: u16,
    /// Size of the basic-sampling data entry, in bytes.
    pub bsdes: u16,
    /// Size of the diagnostic-sampling data entry, in bytes.
    pub dsdes: u16,
}

/// How the machine is to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingOrder {
    /// The sample types, at least one, all of them authorized.
    pub types: SampleTypes,
    /// The sampling interval in cycles, within the machine's limits.
    pub interval: u64,
    /// Sample-data blocks of 4 KiB for each CPU, from 1.
    pub buffers: u16,
}

/// A sample-data block, trailer included.
pub type Block = [u8; SAMPLE_DATA_BLOCK];

/// What a block is that has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBlock {
    /// The CPU that filled it.
    pub cpu: u16,
    /// How many samples are in it.
    pub samples: u32,
}

/// The machine, as the service sees it: its own level, one below the guest's.
pub trait Machine {
    /// The TOD clock.
    fn tod(&mut self) -> Tod;

    /// The CPUs that are there: bit 0 (the leftmost) is CPU 0.
    fn cpus(&self) -> u64;

    /// The event types.
    fn events(&self) -> EventState;

    /// The counters of an event type, those of the ZOS set from 0; none if it is not installed.
    fn counters(&self, event: Event) -> CounterRange;

    /// Makes these event types count on every CPU, and no others. Those that count already go on
    /// without a break. All of them are authorized.
    fn enable(&mut self, events: Events);

    /// Reads the counters of a CPU: those of each of these event types, in the order of their bits, and
    /// in each the counters of [`Self::counters`] in ascending order. All of them are as they were at one moment,
    /// whose time is returned. None, and nothing read, if the CPU is not there.
    fn read(
        &mut self,
        cpu: u16,
        events: Events,
        counter: &mut dyn FnMut(Event, u64),
    ) -> Option<Tod>;

    /// The sampling functions.
    fn sampling(&self) -> SamplingState;

    /// Begins to sample on every CPU. It does not sample now.
    fn start_sampling(&mut self, order: &SamplingOrder);

    /// Samples no more on any CPU. Blocks that hold samples stay until they are taken.
    fn stop_sampling(&mut self);

    /// Copies the next block that holds samples, and gives it back to the CPU to be filled again: of each
    /// CPU the oldest first. While the machine samples only full blocks are taken, after that the last
    /// ones too. None when there is no more.
    fn take_block(&mut self, block: &mut Block) -> Option<TakenBlock>;

    /// The text of the parameter file with this DD name, if there is one that can be read.
    fn file(&mut self, name: &Name) -> Option<File>;

    /// Says something to the operator: whole lines, each with a line feed behind it.
    fn say(&mut self, lines: fmt::Arguments<'_>);
}
