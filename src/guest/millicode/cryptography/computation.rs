//! Computations in the parameter block: PERFORM CRYPTOGRAPHIC COMPUTATION and signatures.
//!
//! A signature over a message of any length is made in pieces, like a digest. The state for the next
//! execution cannot be in the registers: they stay unchanged until the end, because signing passes
//! over the message twice. It is in the continuation-state buffer: the rest of the parameter block's
//! 4096 bytes, behind a doubleword that is zero when a program begins.
//!
//! Sources: Valgrind's extension for s390x (the doubleword behind each parameter block, the buffer in
//! the rest of 4096 bytes, and that both must be accessible), libzpc `cpacf.h` (where the first
//! halfword of that doubleword is), and the programs that clear all 4096 bytes before they begin
//! (OpenSSL, Go). The format of the buffer is up to each machine. No public source tells whether the
//! registers advance meanwhile; a program that issues the instruction again after condition code 3
//! does not notice.

use super::operand::{Parameters, Piece, consume, parameter_address};
use super::{Issue, PIECE};
use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::Performed;
use crate::state::access::{Access, Fault};
use arch::address::{PAGE, Virtual};
use arch::condition::ConditionCode;
use msa::Signature;

/// The most bytes that one execution takes of a message, both passes together: a message of [`PIECE`]
/// bytes is signed at once.
const MOST: u64 = 2 * PIECE;

/// PERFORM CRYPTOGRAPHIC COMPUTATION: computes the last block of CMAC, the parameter of XTS, or a
/// scalar multiplication on an elliptic curve, in the parameter block. It is not interruptible: no
/// function takes longer than one multiplication.
///
/// Condition codes: 0, computed; 2, a scalar multiplication's source point is not on the curve, or its
/// result is the point at infinity.
///
/// Program exceptions: as at the head of the family.
pub(super) fn pcc<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let mut parameters = Parameters::fetch(run, issue)?;
    let code = issue.function.compute(parameters.bytes());
    parameters.store(run)?;
    issue.complete(run, issue.function.parameter_length() as u64, code)
}

/// COMPUTE DIGITAL SIGNATURE AUTHENTICATION: signs or verifies. The ECDSA functions take a digest from
/// the parameter block and ignore the second operand. The EdDSA functions sign or verify the second
/// operand, of any length (in R2 + 1). The R1 field is ignored.
///
/// Condition codes: 0, signed, or verified; 1, the private key of an ECDSA function is out of range;
/// 2, the signature or the public key is not valid, or the random number gives no nonce; 3, there is
/// more of the message.
///
/// Program exceptions: as at the head of the family.
pub(super) fn kdsa<H: Hardware>(run: &mut Execution<'_, H>, issue: &Issue) -> Performed {
    let mut parameters = Parameters::fetch(run, issue)?;
    let Some(behind) = issue.function.continuation() else {
        let code = issue
            .function
            .sign_or_verify(issue.control, parameters.bytes());
        parameters.store(run)?;
        return issue.complete(run, issue.function.parameter_length() as u64, code);
    };
    let pair = issue.fields.r2;
    let at = parameter_address(run).offset(behind as u64);
    let stopped = stopped(run, at)?;
    let resumed = stopped
        .as_ref()
        .and_then(|state| issue.function.signature(parameters.bytes(), Some(state)));
    let begun = resumed.or_else(|| issue.function.signature(parameters.bytes(), None));
    let Some(mut signature) = begun else {
        return issue.complete(run, 0, ConditionCode::Two);
    };
    let mut taken = 0;
    let ended = loop {
        taken += take(run, pair, MOST - taken, &mut signature)?;
        if signature.taken() < run.length_in(pair | 1) {
            break None;
        }
        let ended = issue.function.end_pass(&mut signature, parameters.bytes());
        if ended.is_some() {
            break ended;
        }
    };
    let Some(code) = ended else {
        run.put(at, &signature.state())?;
        return issue.complete(run, taken, ConditionCode::Three);
    };
    if stopped.is_some() {
        run.put(at, &[0; 8])?;
    }
    parameters.store(run)?;
    let length = run.length_in(pair | 1);
    consume(run, pair, length);
    let block = issue.function.parameter_length() as u64;
    issue.complete(run, block + taken, code)
}

/// The state that an earlier execution left at `at`, if it stopped there. If there is one, the buffer
/// can be stored into.
///
/// # Errors
/// Access: fetch, and store when there is a state.
fn stopped<H: Hardware>(
    run: &Execution<'_, H>,
    at: Virtual,
) -> Result<Option<[u8; Signature::STATE]>, Fault> {
    let mut doubleword = [0; 8];
    run.fetch(at, &mut doubleword)?;
    if doubleword.starts_with(&[0, 0]) {
        return Ok(None);
    }
    let mut state = [0; Signature::STATE];
    run.claim(at, Signature::STATE as u64, Access::Store)?;
    run.fetch(at, &mut state)?;
    Ok(Some(state))
}

/// Processes what is left of the message in this pass, at most so many bytes; returns the number of
/// bytes.
///
/// # Errors
/// Access.
fn take<H: Hardware>(
    run: &Execution<'_, H>,
    pair: u8,
    most: u64,
    signature: &mut Signature,
) -> Result<u64, Fault> {
    let (from, mask) = (Virtual(run.address_in(pair)), run.cpu.psw.address_mask());
    let left = run.length_in(pair | 1).saturating_sub(signature.taken());
    let (mut taken, all) = (0, left.min(most));
    while taken != all {
        let at = Virtual(from.offset(signature.taken()).0 & mask);
        let part = (all - taken).min(PIECE).min(PAGE - at.byte_index());
        signature.take(Piece::fetch(run, at, part)?.bytes());
        taken += part;
    }
    Ok(taken)
}
