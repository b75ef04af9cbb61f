//! What is computed in the parameter block: PERFORM CRYPTOGRAPHIC COMPUTATION and signatures.

use super::operand::{Parameters, Piece, consume};
use super::{Issue, PIECE};
use crate::arch::address::{PAGE, Virtual};
use crate::guest::dat::Fault;
use crate::guest::hardware::Hardware;
use crate::guest::millicode::Performed;
use crate::guest::millicode::execution::Execution;

/// PERFORM CRYPTOGRAPHIC COMPUTATION: the last block of CMAC, the parameter of XTS, or a scalar
/// multiplication on an elliptic curve, in the parameter block. It is not interrupted.
///
/// Condition codes: 0, computed; 2, a scalar multiplication's source point is not on the curve.
///
/// Program exceptions: as at the head of the family.
pub(super) fn pcc<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let mut parameters = Parameters::fetch(run, issue)?;
    let code = issue.function.compute(parameters.bytes());
    parameters.store(run)?;
    issue.complete(run, issue.function.parameter_length() as u64, code)
}

/// COMPUTE DIGITAL SIGNATURE AUTHENTICATION: signs or verifies. The ECDSA functions find a digest in
/// the parameter block; the EdDSA functions sign the second operand, whose length is in R2 + 1 and may
/// be any. This machine processes all of it in one execution: condition code 3 never occurs. The R1
/// field is ignored.
///
/// Condition codes: 0, signed, or verified; 2, the signature is not good, or a key or number is out of
/// range.
///
/// Program exceptions: as at the head of the family.
pub(super) fn kdsa<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let pair = issue.fields.r2;
    let mut parameters = Parameters::fetch(run, issue)?;
    let (from, length) = (Virtual(run.address_in(pair)), run.length_in(pair | 1));
    let (mut asked, shared) = (false, &*run);
    let message = |take: &mut dyn FnMut(&[u8])| -> Result<(), Fault> {
        asked = true;
        let (mut at, mut left) = (from, length);
        while left != 0 {
            let part = left.min(PIECE).min(PAGE - at.byte_index());
            take(Piece::fetch(shared, at, part)?.bytes());
            at = Virtual(at.offset(part).0 & shared.cpu.psw.address_mask());
            left -= part;
        }
        Ok(())
    };
    let code = issue
        .function
        .authenticate_signature(issue.control, parameters.bytes(), message)?;
    parameters.store(run)?;
    let mut bytes = issue.function.parameter_length() as u64;
    if asked {
        consume(run, pair, length);
        bytes = bytes.saturating_add(length);
    }
    issue.complete(run, bytes, code)
}
