//! The message-security assist of a configuration: what it offers, and the clock of its coprocessors.

use crate::state::vcpu::Vcpu;
use arch::cpu::MAXIMUM_CPUS;
use arch::facility::FacilityList;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use insn::sensitive::Caught;
use msa::{self, Instruction};

/// The bit of [`Assist::counting`] that stands for the coprocessor-group counter sets.
pub(crate) const GROUPS: u32 = 1 << 31;

/// What the query functions of all instructions store, in the order of [`Instruction::ALL`].
pub type Queries = [u128; Instruction::ALL.len()];

/// The message-security assist, which all CPUs share.
#[derive(Debug)]
pub struct Assist {
    /// Whether the machine supplies functions that the hardware below lacks.
    pub(crate) supplied: bool,
    /// The functions of the hardware below, by instruction, as its query functions store them.
    pub(crate) below: Queries,
    /// Who counts functions: one bit for each CPU, from the right, and [`GROUPS`].
    pub(crate) counting: AtomicU32,
    /// Guest cycles of each CPU when it last gave its turn up.
    pub(crate) cycles: [AtomicU64; MAXIMUM_CPUS],
    /// CPU cycles in which all CPUs were idle.
    pub(crate) idle: AtomicU64,
}

impl Default for Assist {
    /// Nothing is supplied, and there is no coprocessor.
    fn default() -> Self {
        Self::new(false, [0; Instruction::ALL.len()])
    }
}

impl Assist {
    /// The assist at IPL.
    #[must_use]
    pub const fn new(supplied: bool, below: Queries) -> Self {
        Self {
            supplied,
            below,
            counting: AtomicU32::new(0),
            cycles: [const { AtomicU64::new(0) }; MAXIMUM_CPUS],
            idle: AtomicU64::new(0),
        }
    }

    /// Whether the machine supplies functions that the hardware below lacks.
    #[must_use]
    pub const fn supplied(&self) -> bool {
        self.supplied
    }

    /// What the scanner catches for it, and always.
    #[must_use]
    pub fn caught(&self) -> Caught {
        if self.supplied || self.counting.load(Ordering::Relaxed) != 0 {
            Caught::MESSAGE_SECURITY
        } else {
            Caught::ALWAYS
        }
    }

    /// The functions of an instruction that are offered while it is caught: all that the machine can
    /// perform if it supplies them, else those of them that the hardware below has. Bit 0 is the query
    /// function, which is always offered.
    #[must_use]
    pub fn offered(&self, instruction: Instruction) -> u128 {
        let below = self.below.get(instruction as usize).copied().unwrap_or(0);
        let performed = performable(instruction, below);
        let offered = if self.supplied {
            performed
        } else {
            performed & below
        };
        offered | 1 << 127
    }

    /// Whether the hardware below has true random numbers.
    #[must_use]
    pub fn has_true_random_numbers(&self) -> bool {
        self.offered(Instruction::Prno) & TRUE_RANDOM != 0
    }

    /// The facilities that a program finds where the machine below shows `below`.
    #[must_use]
    pub fn facilities(&self, below: FacilityList) -> FacilityList {
        if !self.supplied {
            return below;
        }
        let supplied = Instruction::ALL
            .iter()
            .filter(|&&instruction| performable(instruction, 0) & !(1 << 127) != 0);
        supplied.fold(below, |list, instruction| list.with(instruction.facility()))
    }

    /// `cpu` gives its turn up.
    pub fn gives_up(&self, cpu: &Vcpu) {
        self.cycles[usize::from(cpu.address) & (MAXIMUM_CPUS - 1)]
            .store(cpu.account.total(), Ordering::Relaxed);
    }

    /// All CPUs were idle for so many CPU cycles.
    pub fn rested(&self, cycles: u64) {
        self.idle.fetch_add(cycles, Ordering::Relaxed);
    }

    /// The clock of the coprocessors, in CPU cycles, as seen by `cpu`, which has the turn.
    #[must_use]
    pub fn now(&self, cpu: &Vcpu) -> u64 {
        let others = (0..).zip(&self.cycles);
        let others = others.filter(|&(number, _)| number != cpu.address);
        let others: u64 = others
            .map(|(_, cycles)| cycles.load(Ordering::Relaxed))
            .sum();
        others + cpu.account.total() + self.idle.load(Ordering::Relaxed)
    }
}

/// The status bit of the function that generates true random numbers.
pub(crate) const TRUE_RANDOM: u128 = 1 << (127 - 114);

/// The functions of an instruction that this machine can perform, as its query function stores them,
/// when the hardware below offers `below`. The seed of true random numbers comes from the hardware, so they
/// are offered only if it has them.
#[must_use]
fn performable(instruction: Instruction, below: u128) -> u128 {
    let all = u128::from_be_bytes(msa::query(instruction));
    if instruction == Instruction::Prno {
        all & !(TRUE_RANDOM & !below)
    } else {
        all
    }
}
