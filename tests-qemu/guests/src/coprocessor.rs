//! Functions that occupy a coprocessor, by the kinds that the crypto-activity counter set distinguishes.

use crate::insn::assist::{Instruction, MODIFIER, Registers, kimd, km, pcc, prno};
use crate::insn::measurement::stcctm;

/// A kind of function. Each kind has four counters in a row, from 64 on, in this order of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Pseudorandom numbers.
    Prng,
    /// Secure hashes.
    Sha,
    /// The data encryption algorithm.
    Dea,
    /// The advanced encryption standard, and the Galois-field multiplier.
    Aes,
    /// Elliptic curves.
    Ecc,
}

/// All kinds, by counter number.
pub const KINDS: [Kind; 5] = [Kind::Prng, Kind::Sha, Kind::Dea, Kind::Aes, Kind::Ecc];

/// How many counters the crypto-activity counter set has at the most.
pub const COUNTERS: usize = 4 * KINDS.len();

/// The counters of the crypto-activity counter set. A counter that is not installed is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted([u64; COUNTERS]);

impl Counted {
    /// All zeros.
    pub const NOTHING: Self = Self([0; COUNTERS]);

    /// The counters of this CPU's active set now.
    #[must_use]
    pub fn now() -> Self {
        let mut counted = Self::NOTHING;
        stcctm::<3>(COUNTERS as u64, &mut counted.0);
        counted
    }

    /// What was counted since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self(core::array::from_fn(|n| self.0[n] - before.0[n]))
    }

    /// The number of functions of a kind, their cycles, how many functions were blocked, and for how many cycles.
    #[must_use]
    pub fn of(self, kind: Kind) -> [u64; 4] {
        let first = 4 * kind as usize;
        core::array::from_fn(|n| self.0[first + n])
    }

    /// Whether no other kind was counted.
    #[must_use]
    pub fn only(self, kind: Kind) -> bool {
        KINDS
            .into_iter()
            .all(|other| other == kind || self.of(other) == [0; 4])
    }
}

/// The number of the first of the four counters that count functions of a kind in a coprocessor-group counter set.
/// Elliptic curves have none; pseudorandom numbers count as hashes, of which they are made here.
#[must_use]
pub const fn group_counter(kind: Kind) -> Option<u64> {
    match kind {
        Kind::Prng | Kind::Sha => Some(0),
        Kind::Dea | Kind::Aes => Some(4),
        Kind::Ecc => None,
    }
}

/// Bytes of the operands of [`Operands::issue`].
pub const BYTES: usize = 1024;

/// The parameter block and the operands of a function of any kind.
pub struct Operands {
    parameter: [u8; 240],
    input: [u8; BYTES],
    output: [u8; BYTES],
}

impl Operands {
    /// Operands for functions of `kind`. Seeds the generator of pseudorandom numbers, which is itself a function of
    /// that kind.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        let mut operands = Self {
            parameter: [0; 240],
            input: [9; BYTES],
            output: [0; BYTES],
        };
        if kind == Kind::Prng {
            let seed = &operands.input[..64];
            prno(&mut Registers::new(3 | MODIFIER, &mut operands.parameter).second(seed));
        }
        operands
    }

    /// Issues one function of this kind, for which the operands were made. Returns the condition code.
    pub fn issue(&mut self, kind: Kind) -> u8 {
        let (instruction, control): (Instruction, u64) = match kind {
            Kind::Prng => (prno, 3),
            Kind::Sha => (kimd, 2),
            Kind::Dea => (km, 1),
            Kind::Aes => (km, 18),
            Kind::Ecc => (pcc, 80),
        };
        let registers = Registers::new(control, &mut self.parameter);
        instruction(&mut registers.first(&mut self.output).second(&self.input))
    }
}
