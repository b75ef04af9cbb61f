//! The cost of a function: its coprocessor is busy, its CPU waits, and both are counted.
//!
//! A function occupies its coprocessor for a number of CPU cycles: its bytes times the cycles per
//! byte of its kind ([`cycles_for_a_byte`]). The bytes are those of the operands that this execution
//! processed. The end of a digest, of a tag and of a request for random numbers counts as one more
//! data block; a computation in the parameter block counts the parameter block. These numbers are
//! this machine's own. They have the order of magnitude of real machines, but are not those of any
//! model.
//!
//! Each execution counts as one issued function, also one that resumes after condition code 3. Query
//! functions, and executions that find nothing to do, occupy and count nothing.

use super::Issue;
use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::account::Mode;
use arch::condition::ConditionCode;
use cpumf::counters::{Coprocessor, CryptoFunction};
use msa::Engine;

/// The kind of function, as the crypto-activity counters distinguish them.
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
    /// Completes the instruction after `bytes` were processed: occupies the coprocessor, counts the
    /// function at both levels, and makes the CPU wait.
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
