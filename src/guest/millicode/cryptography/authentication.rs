//! CIPHER MESSAGE WITH AUTHENTICATION: additional data, then text, then the tag.
//!
//! The tag is computed, never compared: to decipher, the program compares the tag in the parameter block with the one
//! that it received.
//!
//! Sources: Linux `arch/s390/crypto/aes_s390.c` (parameter block, flags, the comparison of tags); libzpc `aes_gcm.c`
//! and `aes_ccm.c` (whole blocks without the last-data flags end with condition code 2, and a short rest is then left
//! over; code 1 is for the encrypted keys, which are not supplied here). No public source was found for the condition
//! code when there is no data and nothing to complete; here it is 2 as well.

use super::Issue;
use super::operand::{Parameters, Piece, advance, consume, most, reach};
use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::Performed;
use crate::state::access::Access;
use arch::address::Virtual;
use arch::condition::ConditionCode;

/// The data block of the Galois/counter mode.
const BLOCK: u64 = 16;

/// CIPHER MESSAGE WITH AUTHENTICATION: the third operand (additional authenticated data, length in R3 + 1) is included
/// in the tag. When it is the last of this data (bit 54 of general register 0), the second operand (length in R2 + 1)
/// is enciphered or deciphered to the first-operand location and included in the tag. When that is the last text (bit
/// 55), the tag is completed. Data that is not the last is processed in whole blocks of 16 bytes. The hash subkey is
/// computed unless bit 53 says that it is present; bit 53 then becomes one.
///
/// Condition codes: 0, the tag is complete; 2, partial completion because the last data is missing: all operands are
/// processed except for less than a block, and more data must follow; 3, there is more to process.
///
/// Program exceptions: as at the head of the family.
pub(super) fn kma<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let (function, fields, control) = (issue.function, issue.fields, issue.control);
    let given = |length: u64, last: bool| {
        if last {
            length
        } else {
            length - length % BLOCK
        }
    };
    let additional = given(run.length_in(fields.r3 | 1), control.last_additional_data());
    let text = if control.last_additional_data() {
        given(run.length_in(fields.r2 | 1), control.last_text())
    } else {
        0
    };
    let completes = control.last_additional_data() && control.last_text();
    if additional == 0 && text == 0 && !completes {
        return run.done(ConditionCode::Two);
    }
    let at = |run: &Execution<'_, H>, register| Virtual(run.address_in(register));
    let [first, second, third] = [fields.r1, fields.r2, fields.r3].map(|r| at(run, r));
    let mut parameters = Parameters::fetch(run, issue)?;
    let taken = match additional {
        0 => 0,
        left => reach(run, third, most(left, BLOCK), BLOCK, Access::Fetch)?,
    };
    let ciphered = match text {
        left if left != 0 && taken == additional => {
            let reached = reach(run, second, most(left, BLOCK), BLOCK, Access::Fetch)
                .and_then(|length| reach(run, first, length, BLOCK, Access::Store));
            match reached {
                // The additional data is processed. The next execution meets the exception.
                Err(_) if taken != 0 => 0,
                reached => reached?,
            }
        }
        _ => 0,
    };
    if !control.hash_subkey_supplied() {
        function.supply_hash_subkey(parameters.bytes());
    }
    if taken != 0 {
        let mut data = Piece::fetch(run, third, taken)?;
        function.authenticate(parameters.bytes(), data.bytes());
    }
    if ciphered != 0 {
        let mut input = Piece::fetch(run, second, ciphered)?;
        let mut output = Piece::new(ciphered);
        function.process(control, parameters.bytes(), input.bytes(), output.bytes());
        output.store(run, first)?;
    }
    let all = taken == additional && ciphered == text;
    if all && completes {
        function.authentication_tag(parameters.bytes());
    }
    parameters.store(run)?;
    run.set_register(0, control.with_hash_subkey().0);
    consume(run, fields.r3, taken);
    consume(run, fields.r2, ciphered);
    if fields.r1 != fields.r2 {
        advance(run, fields.r1, ciphered);
    }
    let (code, tag) = match (all, completes) {
        (true, true) => (ConditionCode::Zero, BLOCK),
        (true, false) => (ConditionCode::Two, 0),
        _ => (ConditionCode::Three, 0),
    };
    issue.complete(run, taken + ciphered + tag, code)
}
