//! What a function costs: its coprocessor is busy, its CPU waits, and both are counted.
//!
//! A function occupies its coprocessor for so many CPU cycles as it has bytes, times the cycles for
//! a byte of its kind ([`cycles_for_a_byte`]). Bytes are those of the operands that this execution
//! processed; the end of a digest, of a tag and of a request for random numbers counts one more data
//! block, and what is computed in the parameter block counts the parameter block. These are this
//! machine's own numbers, of the order of what machines of this kind take, and a model's in no way.
//!
//! Each execution is a function that was issued: what is resumed after condition code 3 is another
//! one. Query functions, and executions that find nothing to do, occupy and count nothing.

use super::Issue;
use crate::arch::condition::ConditionCode;
use crate::cpumf::counters::{Coprocessor, CryptoFunction};
use crate::guest::hardware::Hardware;
use crate::guest::millicode::execution::Execution;
use crate::guest::millicode::outcome::{Outcome, Performed};
use crate::guest::state::account::Mode;
use crate::msa::Engine;

/// The kind of function as the crypto-activity counters tell them apart.
const fn kind(engine: Engine) -> CryptoFunction {
    match engine {
        Engine::Prng => CryptoFunction::Prng,
        Engine::Sha => CryptoFunction::Sha,
        Engine::Dea => CryptoFunction::Dea,
        Engine::Aes => CryptoFunction::Aes,
        Engine::Ecc => CryptoFunction::Ecc,
    }
}

/// The coprocessor that performs it. Random numbers are digests of SHA-512.
const fn coprocessor(engine: Engine) -> Coprocessor {
    match engine {
        Engine::Prng | Engine::Sha => Coprocessor::Sha,
        Engine::Dea | Engine::Aes => Coprocessor::DeaAes,
        Engine::Ecc => Coprocessor::Ecc,
    }
}

/// The CPU cycles for which a byte occupies the coprocessor.
#[must_use]
pub(super) const fn cycles_for_a_byte(engine: Engine) -> u64 {
    match engine {
        Engine::Prng => 4,
        Engine::Sha => 2,
        Engine::Dea => 8,
        Engine::Aes => 1,
        Engine::Ecc => 512,
    }
}

impl Issue {
    /// Completes the instruction, having processed `bytes`: occupies the coprocessor, counts the
    /// function at both levels, and lets the CPU wait.
    pub(super) fn complete<H: Hardware>(
        &self,
        run: &mut Execution<'_, H>,
        bytes: u64,
        code: ConditionCode,
    ) -> Performed {
        run.cpu.set_cc(code);
        let Mode::Exact { .. } = run.cpu.account.mode else {
            return Ok(Outcome::Completed);
        };
        let assist = &run.configuration.assist;
        let engine = self.function.engine();
        let now = assist.now(run.cpu);
        let cycles = bytes.saturating_mul(cycles_for_a_byte(engine));
        let issued =
            run.configuration
                .groups()
                .issue(run.cpu.address, coprocessor(engine), now, cycles);
        let Some(occupation) = issued else {
            return Ok(Outcome::Completed);
        };
        run.cpu.own.count_crypto(kind(engine), occupation);
        run.cpu.machine.count_crypto(kind(engine), occupation);
        run.cpu.occupied_until = now
            .saturating_add(occupation.blocked)
            .saturating_add(occupation.busy);
        Ok(Outcome::Occupied)
    }
}
