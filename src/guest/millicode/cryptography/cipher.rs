//! CIPHER MESSAGE and its variants: the output is as long as the input.

use super::Issue;
use super::operand::{Parameters, Piece, advance, consume, most, reach};
use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::state::access::Access;
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption as P;
use msa::Instruction;

/// CIPHER MESSAGE (and WITH CHAINING, WITH CIPHER FEEDBACK, WITH OUTPUT FEEDBACK, WITH COUNTER): the
/// second operand, whose length is in R2 + 1, is enciphered or deciphered (bit 56 of general register
/// 0) to the first-operand location. WITH COUNTER fetches one counter for each data block from the
/// third operand.
///
/// Condition codes: 0, all is processed, or the length is zero; 3, there is more.
///
/// Program exceptions: as at the head of the family; the length must be a multiple of the data block.
pub(super) fn cipher<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let (function, fields) = (issue.function, issue.fields);
    let block = function.data_block(issue.control) as u64;
    let left = run.length_in(fields.r2 | 1);
    if !left.is_multiple_of(block) {
        return fault(P::Specification);
    }
    if left == 0 {
        return run.done(ConditionCode::Zero);
    }
    let counters = function.instruction() == Instruction::Kmctr;
    let at = |run: &Execution<'_, H>, register| Virtual(run.address_in(register));
    let [first, second, third] = [fields.r1, fields.r2, fields.r3].map(|r| at(run, r));
    let mut parameters = Parameters::fetch(run, issue)?;
    let mut length = reach(run, second, most(left, block), block, Access::Fetch)?;
    length = reach(run, first, length, block, Access::Store)?;
    if counters {
        length = reach(run, third, length, block, Access::Fetch)?;
    }
    let mut input = Piece::fetch(run, second, length)?;
    let mut output = Piece::new(length);
    if counters {
        let mut counters = Piece::fetch(run, third, length)?;
        let (parameter, counters) = (parameters.bytes(), counters.bytes());
        function.process_counters(parameter, counters, input.bytes(), output.bytes());
    } else {
        let (parameter, input) = (parameters.bytes(), input.bytes());
        function.process(issue.control, parameter, input, output.bytes());
    }
    output.store(run, first)?;
    parameters.store(run)?;
    consume(run, fields.r2, length);
    // Operands at one address may be designated by one register, which advances once.
    if fields.r1 != fields.r2 {
        advance(run, fields.r1, length);
    }
    if counters && fields.r3 != fields.r1 && fields.r3 != fields.r2 {
        advance(run, fields.r3, length);
    }
    let code = if length == left {
        ConditionCode::Zero
    } else {
        ConditionCode::Three
    };
    issue.complete(run, length, code)
}
