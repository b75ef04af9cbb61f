//! The channel subsystem of a configuration without subchannels.
//!
//! Every subchannel is not operational, nothing is pending, no channel report waits. The
//! subsystem-identification word in general register 1 therefore never designates anything, and its
//! form is not tested either.

use crate::arch::address::Virtual;
use crate::arch::condition::ConditionCode;
use crate::guest::dat::{Access, Fault};
use crate::guest::hardware::Hardware;
use crate::guest::millicode::execution::Execution;
use crate::guest::millicode::{Outcome, Performed};
use crate::insn::Operand;

/// The operand of an instruction of the channel subsystem, on its boundary.
fn operand<H: Hardware>(
    run: &Execution<'_, H>,
    second: Operand,
    unit: u64,
) -> Result<Virtual, Fault> {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, unit)?;
    Ok(at)
}

/// STORE SUBCHANNEL, TEST SUBCHANNEL: nothing is stored for a subchannel that is not there.
///
/// Condition code: 3, not operational.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary.
///
/// Source: Principles of Operation, "STORE SUBCHANNEL", "TEST SUBCHANNEL".
pub(super) fn store_of_subchannel<H: Hardware>(
    run: &mut Execution<'_, H>,
    second: Operand,
) -> Performed {
    operand(run, second, 4)?;
    run.done(ConditionCode::Three)
}

/// MODIFY SUBCHANNEL, START SUBCHANNEL: the word at the beginning of the block is looked at before
/// the subchannel is.
///
/// Condition code: 3, not operational.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (fetch, operand 2).
///
/// Source: Principles of Operation, "MODIFY SUBCHANNEL", "START SUBCHANNEL".
pub(super) fn request_of_subchannel<H: Hardware>(
    run: &mut Execution<'_, H>,
    second: Operand,
) -> Performed {
    let at = operand(run, second, 4)?;
    run.claim(at, 4, Access::Fetch)?;
    run.done(ConditionCode::Three)
}

/// CLEAR, HALT, RESUME and CANCEL SUBCHANNEL.
///
/// Condition code: 3, not operational. Program exceptions: privileged operation.
///
/// Source: Principles of Operation, chapter 14.
pub(super) fn order_to_subchannel<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    run.supervisor()?;
    run.done(ConditionCode::Three)
}

/// RESET CHANNEL PATH.
///
/// Condition code: 3, not operational. Program exceptions: privileged operation.
///
/// Source: Principles of Operation, "RESET CHANNEL PATH".
pub(super) fn rchp<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    order_to_subchannel(run)
}

/// TEST PENDING INTERRUPTION: nothing is stored.
///
/// Condition code: 0, no I/O interruption is pending.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary.
///
/// Source: Principles of Operation, "TEST PENDING INTERRUPTION".
pub(super) fn tpi<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    operand(run, second, 4)?;
    run.done(ConditionCode::Zero)
}

/// STORE CHANNEL REPORT WORD: a word of zeros is stored at the second-operand address.
///
/// Condition code: 1, no channel report is pending.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CHANNEL REPORT WORD".
pub(super) fn stcrw<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    run.put_u32(at, 0)?;
    run.done(ConditionCode::One)
}

/// STORE CHANNEL PATH STATUS: 32 bytes of zeros, no channel path active, are stored at the
/// second-operand address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a 32-byte
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CHANNEL PATH STATUS".
pub(super) fn stcps<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 32)?;
    run.put(at, &[0; 32])?;
    Ok(Outcome::Completed)
}

/// CHANNEL SUBSYSTEM CALL: R1 designates a request block on a 4 KiB boundary.
///
/// Condition code: 3, the channel subsystem does not answer requests.
///
/// Program exceptions: privileged operation; specification, when the block is not on a 4 KiB
/// boundary; access (store, the block).
///
/// Source: Linux, `drivers/s390/cio/chsc.c`, for the interface; the Principles of Operation names
/// the instruction only.
pub(super) fn chsc<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) -> Performed {
    run.supervisor()?;
    let at = run.address_in(r1);
    run.boundary(Virtual(at), 4096)?;
    run.claim(Virtual(at), 4096, Access::Store)?;
    run.done(ConditionCode::Three)
}
