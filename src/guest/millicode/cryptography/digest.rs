//! Digests and authentication codes: a message is condensed into the parameter block.

use super::Issue;
use super::operand::{Parameters, Piece, consume, most, reach, whole};
use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::state::access::Access;
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption as P;

/// COMPUTE INTERMEDIATE MESSAGE DIGEST and COMPUTE MESSAGE AUTHENTICATION CODE: the second operand,
/// whose length is in R2 + 1, is included in the chaining value in the parameter block. The R1 field is
/// ignored.
///
/// Condition codes: 0, all is processed, or the length is zero; 3, there is more.
///
/// Program exceptions: as at the head of the family; the length must be a multiple of the data block.
pub(super) fn intermediate<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let (function, pair) = (issue.function, issue.fields.r2);
    let block = function.data_block(issue.control) as u64;
    let left = run.length_in(pair | 1);
    if !left.is_multiple_of(block) {
        return fault(P::Specification);
    }
    if left == 0 {
        return run.done(ConditionCode::Zero);
    }
    let at = Virtual(run.address_in(pair));
    let mut parameters = Parameters::fetch(run, issue)?;
    let length = reach(run, at, most(left, block), block, Access::Fetch)?;
    let mut input = Piece::fetch(run, at, length)?;
    function.digest(parameters.bytes(), input.bytes());
    parameters.store(run)?;
    consume(run, pair, length);
    let code = if length == left {
        ConditionCode::Zero
    } else {
        ConditionCode::Three
    };
    issue.complete(run, length, code)
}

/// COMPUTE LAST MESSAGE DIGEST: the second operand, whose length is in R2 + 1 and may be any, is
/// included in the digest. Its end is padded, and the digest is placed at the left of the parameter
/// block. A SHAKE function then fills the first operand, whose length is in R1 + 1, from it; other
/// functions ignore the R1 field.
///
/// Condition codes: 0, all is processed; 3, there is more. Bit 55 of general register 0 becomes one
/// when the message is complete but the first operand of a SHAKE function is not.
///
/// Program exceptions: as at the head of the family.
pub(super) fn last<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let function = issue.function;
    let block = function.data_block(issue.control) as u64;
    if !function.extends() {
        let (length, ended) = message(run, issue, |_| Ok(()))?;
        let (bytes, code) = if ended {
            (length + block, ConditionCode::Zero)
        } else {
            (length, ConditionCode::Three)
        };
        return issue.complete(run, bytes, code);
    }
    let (pair, mut taken) = (issue.fields.r1, 0);
    let left = run.length_in(pair | 1);
    let at = Virtual(run.address_in(pair));
    let room = |run: &Execution<'_, H>| match left {
        0 => Ok(0),
        left => reach(run, at, most(left, block), block, Access::Store),
    };
    if !issue.control.padded() {
        let (length, ended) = message(run, issue, |run| room(run).map(|_| ()))?;
        if !ended {
            return issue.complete(run, length, ConditionCode::Three);
        }
        taken = length + block;
    }
    let mut parameters = Parameters::fetch(run, issue)?;
    let length = room(run)?;
    let mut output = Piece::new(length);
    function.extend(parameters.bytes(), issue.control.padded(), output.bytes());
    output.store(run, at)?;
    parameters.store(run)?;
    consume(run, pair, length);
    let code = if length == left {
        ConditionCode::Zero
    } else {
        run.set_register(0, issue.control.with_padded().0);
        ConditionCode::Three
    };
    issue.complete(run, taken + length, code)
}

/// Processes a piece of the message, and pads it if it is the last. Returns the number of bytes, and
/// whether the message has ended. `before_end` tests what else the end of the message needs.
fn message<H: Hardware>(
    run: &mut Execution<'_, H>,
    issue: &Issue,
    before_end: impl FnOnce(&Execution<'_, H>) -> Result<(), crate::state::access::Fault>,
) -> Result<(u64, bool), crate::state::access::Fault> {
    let (function, pair) = (issue.function, issue.fields.r2);
    let block = function.data_block(issue.control) as u64;
    let left = run.length_in(pair | 1);
    let at = Virtual(run.address_in(pair));
    let mut parameters = Parameters::fetch(run, issue)?;
    let length = match left {
        0 => 0,
        left => reach(run, at, most(left, block), block, Access::Fetch)?,
    };
    let ended = length == left;
    if ended {
        before_end(run)?;
    }
    let mut input = Piece::fetch(run, at, length)?;
    let bytes = input.bytes();
    let count = whole(bytes.len() as u64, block) as usize;
    let (blocks, rest) = bytes.split_at(count.min(bytes.len()));
    function.digest(parameters.bytes(), blocks);
    if ended {
        function.digest_last(parameters.bytes(), rest);
    }
    parameters.store(run)?;
    consume(run, pair, length);
    Ok((length, ended))
}
