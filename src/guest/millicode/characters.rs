//! Instructions of characters that control programs execute by EXECUTE, which gives them their length.
//!
//! The hardware performs them; but an EXECUTE that traps
//! ([`shadow::alone`](crate::storage::shadow::alone)) would keep the firmware longer if it left them to it. Both operands
//! are tested before a byte is stored, the second one first, and an access exception ends the instruction before it has
//! changed anything.

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use arch::condition::ConditionCode;
use insn::Operand;

/// The bytes of the longest operand.
const LONGEST: usize = 256;

/// Whether the firmware performs an instruction of this length in less time than it takes to leave it to the hardware.
pub(super) const fn is_short(l: u8) -> bool {
    l < 128
}

/// MOVE (CHARACTER): moves L + 1 bytes from the second operand to the first, as if one at a time from left to right. So
/// an operand that begins in the second one, to the right of its first byte, repeats what is to its left.
///
/// Program exceptions: access (fetch, operand 2; store, operand 1).
///
/// Source: Principles of Operation, "MOVE (CHARACTER)".
pub(super) fn mvc<H: Hardware>(
    run: &mut Execution<'_, H>,
    l: u8,
    first: Operand,
    second: Operand,
) -> Performed {
    let mut buffer = [0; LONGEST];
    let bytes = buffer.split_at_mut(usize::from(l) + 1).0;
    run.fetch(run.address(second), bytes)?;
    let distance = distance(run, first, second);
    // What was stored there is what is fetched from there.
    if distance != 0
        && let Some((left, right)) = bytes.split_at_mut_checked(distance)
    {
        for (byte, &before) in right.iter_mut().zip(left.iter().cycle()) {
            *byte = before;
        }
    }
    run.put(run.address(first), bytes)?;
    Ok(Outcome::Completed)
}

/// EXCLUSIVE OR (CHARACTER): puts the exclusive or of two operands of L + 1 bytes into the first one, as if one byte at a
/// time from left to right.
///
/// Condition codes: 0, the result is zero; 1, it is not.
///
/// Program exceptions: access (fetch, operand 2; fetch and store, operand 1).
///
/// Source: Principles of Operation, "EXCLUSIVE OR (CHARACTER)".
pub(super) fn xc<H: Hardware>(
    run: &mut Execution<'_, H>,
    l: u8,
    first: Operand,
    second: Operand,
) -> Performed {
    let mut buffers = [[0; LONGEST]; 2];
    let [from, to] = &mut buffers;
    let from = from.split_at_mut(usize::from(l) + 1).0;
    let to = to.split_at_mut(usize::from(l) + 1).0;
    run.fetch(run.address(second), from)?;
    run.fetch(run.address(first), to)?;
    let distance = distance(run, first, second);
    for n in 0..to.len() {
        let with = match n.checked_sub(distance) {
            // What was stored there is what is fetched from there.
            Some(before) if distance != 0 => to.get(before),
            _ => from.get(n),
        };
        let with = with.copied().unwrap_or_default();
        if let Some(byte) = to.get_mut(n) {
            *byte ^= with;
        }
    }
    run.put(run.address(first), to)?;
    let is_zero = to.iter().all(|&byte| byte == 0);
    run.done(if is_zero {
        ConditionCode::Zero
    } else {
        ConditionCode::One
    })
}

/// How far to the right of the second operand the first one begins, around the end of the address space.
fn distance<H: Hardware>(run: &Execution<'_, H>, first: Operand, second: Operand) -> usize {
    let distance = run.address(first).0.wrapping_sub(run.address(second).0);
    usize::try_from(distance & run.cpu.psw.address_mask()).unwrap_or(usize::MAX)
}
