//! CHANNEL SUBSYSTEM CALL.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::Performed;
use crate::state::access::Access;
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

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

/// CHANNEL SUBSYSTEM CALL: R1 designates a block on a 4 KiB boundary. It has a request, whose first halfword
/// is the length and whose second is the command, followed by room for the response.
///
/// The machine below answers the commands that describe the channel subsystem as a whole, or that tell it
/// what a program uses. The characteristics are its own, although the guest may see none of its subchannels. Extended
/// measurement blocks, which they show, are there: those of format 1 ([`crate::channel::monitor`]).
/// Any other command gets the response that it is not offered.
///
/// Condition code: 0, the response is stored.
///
/// Program exceptions: privileged operation; specification, when the block is not on a 4 KiB boundary; access
/// (fetch, the request); operand, when the length of the request is below 16, above 4080 or not a multiple of
/// 8; access (store, the block).
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
    // As many bytes as the response's length says.
    let (_, response) = block.split_at(length);
    let stored = match response {
        [left, right, ..] => usize::from(u16::from_be_bytes([*left, *right])).min(response.len()),
        _ => 0,
    };
    run.put(Virtual(at.0 + length as u64), response.split_at(stored).0)?;
    run.done(ConditionCode::Zero)
}
