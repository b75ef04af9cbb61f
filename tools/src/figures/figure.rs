//! The figures by name.

use super::generation::Generation;

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Cycles per instruction.
    Cpi,
    /// Estimated instruction-complexity CPI.
    EstimatedCpi,
    /// Estimated finite CPI.
    FiniteCpi,
    /// Share of the problem state.
    ProblemState,
    /// Instructions per second of CPU time.
    Mips,
    /// How busy the CPUs were.
    Busy,
    /// Level-1 misses.
    L1Misses,
    /// Relative nest intensity.
    NestIntensity,
    /// Workload hint of LSPR.
    Hint,
    /// Misses served by the level-2 cache.
    Level2,
    /// Misses served by the level-3 cache.
    Level3,
    /// Misses served near the chip.
    Local4,
    /// Misses served far from it.
    Remote4,
    /// Misses served by memory.
    Memory,
    /// Cycles for a level-1 miss.
    MissCycles,
    /// CPU share of TLB misses.
    TlbShare,
    /// Cycles for a TLB miss.
    TlbCycles,
    /// TLB misses that needed a page-table entry.
    PageTableMisses,
    /// Cycles of all cryptographic functions.
    Cryptography,
    /// Cycles of PRNG functions.
    Prng,
    /// Cycles of SHA functions.
    Sha,
    /// Cycles of DEA functions.
    Dea,
    /// Cycles of AES functions.
    Aes,
    /// Cycles of ECC functions.
    Ecc,
    /// Cycles in which functions waited for the coprocessor.
    Blocked,
}

impl Figure {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 25] = [
        Self::Cpi,
        Self::EstimatedCpi,
        Self::FiniteCpi,
        Self::ProblemState,
        Self::Mips,
        Self::Busy,
        Self::L1Misses,
        Self::NestIntensity,
        Self::Hint,
        Self::Level2,
        Self::Level3,
        Self::Local4,
        Self::Remote4,
        Self::Memory,
        Self::MissCycles,
        Self::TlbShare,
        Self::TlbCycles,
        Self::PageTableMisses,
        Self::Cryptography,
        Self::Prng,
        Self::Sha,
        Self::Dea,
        Self::Aes,
        Self::Ecc,
        Self::Blocked,
    ];

    /// The name that analysts use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpi => "CPI",
            Self::EstimatedCpi => "EST_CPI",
            Self::FiniteCpi => "FINITE_CPI",
            Self::ProblemState => "PRBSTATE",
            Self::Mips => "MIPS",
            Self::Busy => "LPARCPU",
            Self::L1Misses => "L1MP",
            Self::NestIntensity => "RNI",
            Self::Hint => "HINT",
            Self::Level2 => "L2P",
            Self::Level3 => "L3P",
            Self::Local4 => "L4LP",
            Self::Remote4 => "L4RP",
            Self::Memory => "MEMP",
            Self::MissCycles => "SCPL1M",
            Self::TlbShare => "TLB_PERCENT",
            Self::TlbCycles => "TLB_MISS",
            Self::PageTableMisses => "PTE_MISS",
            Self::Cryptography => "CRYPTO",
            Self::Prng => "PRNG",
            Self::Sha => "SHA",
            Self::Dea => "DEA",
            Self::Aes => "AES",
            Self::Ecc => "ECC",
            Self::Blocked => "BLOCKED",
        }
    }

    /// The model's own name of it, if that is another: z10 has a level-1.5 cache, and no level 3 or 4.
    pub const fn name_on(self, generation: Option<Generation>) -> &'static str {
        match (generation, self) {
            (Some(Generation::Z10), Self::Level2) => "L15P",
            (Some(Generation::Z10), Self::Local4) => "L2LP",
            (Some(Generation::Z10), Self::Remote4) => "L2RP",
            _ => self.name(),
        }
    }

    /// What it is.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Cpi => "cycles for an instruction",
            Self::EstimatedCpi => {
                "estimated cycles for an instruction with an infinite level-1 cache"
            }
            Self::FiniteCpi => "estimated cycles for an instruction that misses cost",
            Self::ProblemState => "instructions in the problem state",
            Self::Mips => "instructions in a second of CPU time",
            Self::Busy => "CPU time of the time of all its CPUs",
            Self::L1Misses => "level-1 misses for 100 instructions",
            Self::NestIntensity => "relative nest intensity",
            Self::Hint => "workload of LSPR that is most like it",
            Self::Level2 => "level-1 misses whose line came from the CPU's level-2 cache",
            Self::Level3 => "level-1 misses whose line came from the chip's level-3 cache",
            Self::Local4 => {
                "level-1 misses whose line came from a cache of the same book, node or drawer"
            }
            Self::Remote4 => {
                "level-1 misses whose line came from a cache of another book, node or drawer"
            }
            Self::Memory => "level-1 misses whose line came from memory",
            Self::MissCycles => "estimated cycles to get a line for a level-1 miss",
            Self::TlbShare => "estimated CPU time for TLB misses",
            Self::TlbCycles => "estimated cycles for a TLB miss",
            Self::PageTableMisses => "TLB misses that needed a page-table entry",
            Self::Cryptography => "cycles of the coprocessor in all functions, of CPU cycles",
            Self::Prng => "cycles in PRNG functions, of CPU cycles",
            Self::Sha => "cycles in SHA functions, of CPU cycles",
            Self::Dea => "cycles in DEA functions, of CPU cycles",
            Self::Aes => "cycles in AES functions, of CPU cycles",
            Self::Ecc => "cycles in ECC functions, of CPU cycles",
            Self::Blocked => "cycles that waited for the coprocessor, of CPU cycles",
        }
    }

    /// Its unit; empty for a ratio.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Mips => "million",
            Self::ProblemState
            | Self::Busy
            | Self::Level2
            | Self::Level3
            | Self::Local4
            | Self::Remote4
            | Self::Memory
            | Self::TlbShare
            | Self::PageTableMisses
            | Self::Cryptography
            | Self::Prng
            | Self::Sha
            | Self::Dea
            | Self::Aes
            | Self::Ecc
            | Self::Blocked => "%",
            _ => "",
        }
    }
}
