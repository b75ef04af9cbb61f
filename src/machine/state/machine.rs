//! The machine, and each real CPU of it: its virtual CPU, its hardware, and its sample-data blocks.

use crate::arch::address::PAGE;
use crate::cpumf::instruction::load_sampling_controls;
use crate::cpumf::sampling::request::SamplingRequest;
use crate::cpumf::{Model, SamplingLimits};
use crate::guest::state::configuration::Configuration;
use crate::guest::state::pending_work::PendingWork;
use crate::guest::state::schedule::{AfterSample, NEVER};
use crate::guest::state::vcpu::Vcpu;
use crate::link::data::SAMPLE_DATA_BLOCK;
use crate::link::loader;
use crate::link::paths::Paths;
use crate::link::tally::Tally;
use crate::machine::hardware::hsa::{BLOCKS, Plan};
use crate::machine::native::Native;
use crate::machine::shared::Shared;
use crate::machine::state::blocks::Blocks;
use crate::machine::state::his::Service;
use crate::machine::state::integrity::Sums;
use crate::machine::state::operator::Operator;
use crate::machine::state::stacks::Stacks;
use crate::machine::state::window::Looked;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::slice;
use core::sync::atomic::AtomicU64;
extern crate alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The place of one [`Cpu`], which knows the machine that holds it.
pub struct CpuCell(UnsafeCell<MaybeUninit<Cpu>>);

// SAFETY: a cell is taken by the one CPU that it belongs to, by the CPU that has the turn while that one waits, and by
// the last CPU that runs when the others are stopped.
unsafe impl Sync for CpuCell {}

impl CpuCell {
    /// An empty cell.
    #[must_use]
    pub const fn empty() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// The CPU, for those who may use it.
    #[must_use]
    pub const fn get(&self) -> *mut Cpu {
        self.0.get().cast()
    }

    /// Puts the CPU in.
    ///
    /// # Safety
    /// No CPU uses the cell yet.
    pub unsafe fn fill(&self, cpu: Cpu) {
        // SAFETY: by contract.
        unsafe { (*self.0.get()).write(cpu) };
    }
}

/// The cells of a machine's CPUs: as many as the configuration has.
#[derive(Clone, Copy)]
pub struct Cells {
    first: &'static CpuCell,
    all: &'static [CpuCell],
}

impl Cells {
    /// So many empty cells, and at least one. Called at IPL, while there is a heap.
    #[must_use]
    pub fn new(cpus: usize) -> Option<Self> {
        let all = (0..cpus).map(|_| CpuCell::empty());
        let all: &'static [CpuCell] = all.collect::<Vec<_>>().leak();
        let first = all.first()?;
        Some(Self { first, all })
    }

    /// The cell of CPU `number`, which the configuration has.
    #[must_use]
    pub fn of(self, number: u16) -> &'static CpuCell {
        self.all.get(usize::from(number)).unwrap_or(self.first)
    }

    /// All cells, in the order of the CPUs.
    pub fn iter(self) -> slice::Iter<'static, CpuCell> {
        self.all.iter()
    }
}

/// What all CPUs share.
pub struct Machine {
    /// The guest's configuration.
    pub configuration: Configuration,
    /// The model that the guest finds.
    pub model: &'static Model,
    /// The sequence code of STORE SYSTEM INFORMATION, in EBCDIC: that of the machine below.
    pub sequence_code: [u8; 16],
    /// The plan of the HSA.
    pub plan: Plan,
    /// One cell for each CPU; its own real CPU refers to it while it runs.
    pub cpus: Cells,
    /// The part of the kept program that the host may change: from the first address up to the second.
    pub open: (u64, u64),
    /// The sums of what must not change.
    pub sums: Sums,
    /// When the HSA was last found to be whole, in a run that asks now and then.
    pub looked: Option<AtomicU64>,
    /// Whether executions are counted only from when the guest has written the awaited words.
    pub counts_from_words: bool,
    /// Whether the host uses the machine's sampling function, for its own profile.
    pub samples_for_host: bool,
    /// Turns, input and traced events.
    pub shared: &'static Shared,
    /// HIS.
    pub his: &'static Service,
    /// The requests of the operator.
    pub operator: &'static Operator,
}

/// The sampling intervals that the machine has.
#[must_use]
pub const fn sampling_limits(cpu_speed: u32) -> SamplingLimits {
    SamplingLimits {
        minimum: loader::SHORTEST_INTERVAL,
        maximum: loader::LONGEST_INTERVAL,
        cpu_speed,
    }
}

/// One real CPU. The virtual CPU comes first, because the trap entry stores the general registers there.
#[repr(C)]
pub struct Cpu {
    /// The guest's CPU.
    pub vcpu: Vcpu,
    /// The hardware.
    pub native: Native,
    /// The machine-level sample-data blocks.
    pub blocks: Blocks,
    /// What all CPUs share.
    pub machine: &'static Machine,
    /// The call stacks of its samples, in a run that follows them.
    pub stacks: Option<Box<Stacks>>,
    /// Its traps by cause, in a run that counts them.
    pub tally: Option<Box<Tally>>,
    /// The paths of its guest's control program, in a run that counts them.
    pub paths: Option<Box<Paths>>,
    /// Its window, in a run that is looked at again.
    pub window: Option<Box<Looked>>,
}

impl Cpu {
    /// Sends the full machine-level blocks to the host, and empties them.
    pub fn send_full_blocks(&mut self) {
        self.vcpu.sampling.after.clear(AfterSample::BLOCK_FULL);
        let Some(current) = self.current_block() else {
            return;
        };
        let mut block = self.blocks.oldest;
        while block != current {
            self.blocks.send(block);
            block = (block + 1) % BLOCKS;
        }
        self.blocks.oldest = block;
    }

    /// Begins to sample at the machine's level with these controls, into `blocks` blocks; a sample has `entry` bytes.
    pub fn begin_sampling(&mut self, controls: u64, interval: u64, blocks: u64, entry: u64) {
        self.blocks.begin(blocks, entry);
        self.load_sampling_controls(controls, interval);
    }

    /// Ends sampling at the machine's level. What was sampled stays in the blocks.
    pub fn end_sampling(&mut self) {
        self.blocks.end = self.vcpu.machine.sampling().dear();
        self.load_sampling_controls(0, 0);
    }

    /// Loads the sampling controls of the machine's level, with the blocks from the first one on.
    pub fn load_sampling_controls(&mut self, controls: u64, interval: u64) {
        let (table, block) = (self.blocks.table(), self.blocks.block(0));
        let request = SamplingRequest::new(controls, interval, table, block);
        let loaded = load_sampling_controls(&mut self.vcpu.machine, &zerocopy::transmute!(request));
        if loaded.is_err() {
            defmt::error!("the machine's sampling controls are refused");
        }
        // The next sample is one interval from now.
        self.vcpu.sampling.machine = NEVER;
        self.vcpu.pending_work |= PendingWork::SAMPLING | PendingWork::ATTENTION;
    }

    /// Copies the oldest machine-level block if it is full, or, when sampling has ended, the last one; clears it, and
    /// returns how many samples are in it.
    pub fn take_block(&mut self, into: &mut [u8; SAMPLE_DATA_BLOCK]) -> Option<u32> {
        self.vcpu.sampling.after.clear(AfterSample::BLOCK_FULL);
        self.blocks.take(into)
    }

    /// Sends the machine-level block that is not full. Called at the end of a run, after the full ones have been sent.
    pub fn send_last_block(&mut self) {
        let dear = self.vcpu.machine.sampling().dear();
        if self.current_block().is_some() && dear != self.blocks.block(self.blocks.oldest) {
            self.blocks.send(self.blocks.oldest);
        }
    }

    /// The number of the block for the next sample, if sampling was ever active. A block whose entries are all used is
    /// still the current one: the next data entry is its trailer.
    fn current_block(&self) -> Option<u64> {
        let dear = self.vcpu.machine.sampling().dear();
        let offset = dear.checked_sub(self.blocks.block(0))?;
        Some(offset / PAGE).filter(|&number| number < BLOCKS)
    }
}
