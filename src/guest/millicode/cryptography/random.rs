//! PERFORM RANDOM NUMBER OPERATION.

use super::operand::{Parameters, Piece, consume, most, reach, shorten};
use super::{Issue, PIECE};
use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::state::access::Access;
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption as P;
use msa::{CONDITIONING_RATIO, condition};

/// Function codes.
mod code {
    pub const SHA_512_DRNG: u8 = 3;
    pub const CONDITIONING_RATIO: u8 = 112;
    pub const TRNG: u8 = 114;
}

/// The most bytes that seed the generator.
const LONGEST_SEED: u64 = 512;
/// The bytes that the generator makes at once.
const BLOCK: u64 = 64;
/// The bytes of raw entropy that become [`BLOCK`] conditioned ones.
const RAW: usize = 256;

/// PERFORM RANDOM NUMBER OPERATION. SHA-512-DRNG generates into the first operand (length in R1 + 1), from its end to
/// its beginning, so that the length decreases and the address in R1 stays; or it is seeded (bit 56 of general register
/// 0) from the second operand (length in R2 + 1, at most 512; its registers stay). TRNG fills the first operand with
/// raw entropy of the hardware below and the second with conditioned entropy. The query of the conditioning ratio
/// stores eight bytes.
///
/// Condition codes: 0, all is processed; 3, there is more.
///
/// Program exceptions: as at the head of the family; specification also when the generator was never
/// seeded, and for a seed that is too long.
pub(super) fn prno<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    match issue.function.code() {
        code::SHA_512_DRNG if issue.control.modifier() => seed(run, issue),
        code::SHA_512_DRNG => generate(run, issue),
        code::CONDITIONING_RATIO => ratio(run, issue),
        code::TRNG => entropy(run, issue),
        _ => fault(P::Specification),
    }
}

fn seed<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let pair = issue.fields.r2;
    let length = run.length_in(pair | 1);
    if length > LONGEST_SEED {
        return fault(P::Specification);
    }
    let mut parameters = Parameters::fetch(run, issue)?;
    let mut entropy = Piece::fetch(run, Virtual(run.address_in(pair)), length)?;
    issue.function.seed(parameters.bytes(), entropy.bytes());
    parameters.store(run)?;
    issue.complete(run, length + BLOCK, ConditionCode::Zero)
}

fn generate<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let (function, pair) = (issue.function, issue.fields.r1);
    let mut parameters = Parameters::fetch(run, issue)?;
    if !function.is_seeded(parameters.bytes()) {
        return fault(P::Specification);
    }
    let left = run.length_in(pair | 1);
    if left == 0 {
        return run.done(ConditionCode::Zero);
    }
    // The last piece, beginning at a block boundary of the request.
    let offset = left.saturating_sub(PIECE).next_multiple_of(BLOCK);
    let (length, mask) = (left - offset, run.cpu.psw.address_mask());
    let at = Virtual(Virtual(run.address_in(pair)).offset(offset).0 & mask);
    run.claim(at, length, Access::Store)?;
    let mut output = Piece::new(length);
    function.generate(parameters.bytes(), offset, output.bytes());
    output.store(run, at)?;
    parameters.store(run)?;
    shorten(run, pair, length);
    let code = if offset == 0 {
        ConditionCode::Zero
    } else {
        ConditionCode::Three
    };
    issue.complete(run, length + BLOCK, code)
}

fn ratio<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let mut parameters = Parameters::fetch(run, issue)?;
    for (to, from) in parameters.bytes().iter_mut().zip(CONDITIONING_RATIO) {
        *to = from;
    }
    parameters.store(run)?;
    run.done(ConditionCode::Zero)
}

/// Fills one operand at a time, the first one before the second.
fn entropy<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let operands = [(issue.fields.r1, false), (issue.fields.r2, true)];
    let Some((pair, conditioned)) = operands
        .into_iter()
        .find(|&(pair, _)| run.length_in(pair | 1) != 0)
    else {
        return run.done(ConditionCode::Zero);
    };
    let at = Virtual(run.address_in(pair));
    let left = run.length_in(pair | 1);
    let length = reach(run, at, most(left, BLOCK), 1, Access::Store)?;
    let mut output = Piece::new(length);
    for part in output.bytes().chunks_mut(BLOCK as usize) {
        if conditioned {
            let mut raw = [0; RAW];
            run.hardware.true_random(&mut raw);
            for (to, byte) in part.iter_mut().zip(condition(&raw)) {
                *to = byte;
            }
        } else {
            run.hardware.true_random(part);
        }
    }
    output.store(run, at)?;
    consume(run, pair, length);
    let more = operands
        .into_iter()
        .any(|(pair, _)| run.length_in(pair | 1) != 0);
    let code = if more {
        ConditionCode::Three
    } else {
        ConditionCode::Zero
    };
    issue.complete(run, length, code)
}
