//! The channel subsystem of a configuration without subchannels.
//!
//! Every subchannel is not operational, nothing is pending, no channel report waits. The
//! subsystem-identification word in general register 1 therefore never designates anything, and its
//! form is not tested either. What the subsystem as a whole can do, it says on request as the machine
//! below does.

use crate::arch::address::Virtual;
use crate::arch::condition::ConditionCode;
use crate::arch::interruption::ProgramInterruption;
use crate::guest::dat::{Access, Fault};
use crate::guest::hardware::Hardware;
use crate::guest::millicode::execution::{Execution, fault};
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

/// The length of a request: a multiple of 8 that leaves room for a response in the block.
const REQUEST: core::ops::RangeInclusive<usize> = 16..=4080;
/// The length of a response without data: length, response code, four bytes.
const RESPONSE: usize = 8;
/// Response code: the command is not offered.
const INVALID_COMMAND: u8 = 4;

/// Commands of CHANNEL SUBSYSTEM CALL.
mod command {
    /// Store channel-path description.
    pub const CHANNEL_PATHS: u16 = 0x0002;
    /// Store event information.
    pub const EVENTS: u16 = 0x000E;
    /// Store channel-subsystem characteristics.
    pub const CHARACTERISTICS: u16 = 0x0010;
    /// Set domain attributes: more than one channel subsystem, or subchannel set.
    pub const DOMAIN: u16 = 0x0031;
}

/// CHANNEL SUBSYSTEM CALL: R1 designates a block on a 4 KiB boundary: a request, of which the first
/// halfword is the length and the second the command, and behind it room for the response.
///
/// The commands that tell of the channel subsystem as a whole, and say what a program makes use of, are
/// answered by the machine below: the characteristics are its own, though no subchannel of it is seen.
/// Any other command has the response that it is not offered.
///
/// Condition code: 0, the response is stored.
///
/// Program exceptions: privileged operation; specification, when the block is not on a 4 KiB
/// boundary; access (fetch, the request); operand, when the length of the request is below 16, above
/// 4080 or no multiple of 8; access (store, the block).
///
/// Source: Linux, `drivers/s390/cio/chsc.c`, and QEMU, `target/s390x/ioinst.c`, for the interface; the
/// Principles of Operation names the instruction only.
#[inline(never)]
pub(super) fn chsc<H: Hardware>(run: &mut Execution<'_, H>, r1: u8) -> Performed {
    run.supervisor()?;
    let at = Virtual(run.address_in(r1));
    run.boundary(at, 4096)?;
    let mut block = [0; 4096];
    run.fetch(at, block.split_at_mut(*REQUEST.start()).0)?;
    let [left, right, first, second, ..] = block;
    let length = usize::from(u16::from_be_bytes([left, right]));
    if !REQUEST.contains(&length) || !length.is_multiple_of(8) {
        return fault(ProgramInterruption::Operand);
    }
    run.fetch(at, block.split_at_mut(length).0)?;
    run.claim(at, 4096, Access::Store)?;
    match u16::from_be_bytes([first, second]) {
        command::CHANNEL_PATHS | command::EVENTS | command::CHARACTERISTICS | command::DOMAIN => {
            let code = run.hardware.channel_subsystem_call(&mut block);
            if code != ConditionCode::Zero {
                return run.done(code);
            }
        }
        _ => {
            let refused = [0, RESPONSE as u8, 0, INVALID_COMMAND, 0, 0, 0, 0];
            if let Some(place) = block.get_mut(length..length + RESPONSE) {
                place.copy_from_slice(&refused);
            }
        }
    }
    // As much as the response says that there is of it.
    let (_, response) = block.split_at(length);
    let stored = match response {
        [left, right, ..] => usize::from(u16::from_be_bytes([*left, *right])).min(response.len()),
        _ => 0,
    };
    run.put(Virtual(at.0 + length as u64), response.split_at(stored).0)?;
    run.done(ConditionCode::Zero)
}
