//! Instructions of the channel subsystem, and notifications of virtio devices.
//!
//! The machine below tests the form of the guest's operands.

use crate::arch::condition::ConditionCode;
use crate::guest::hardware::ChannelBlock;
use crate::guest::hardware::ChannelInstruction;
use crate::machine::hardware::guarded::guarded;
use crate::machine::hardware::lowcore;
use core::arch::asm;

/// Performs an instruction with bits 32-63 of general register 1. The machine below may refuse it with a program
/// interruption, of which the code is then the result.
pub fn perform(
    instruction: ChannelInstruction,
    register: u32,
    block: &mut ChannelBlock,
) -> Result<ConditionCode, u16> {
    use ChannelInstruction as I;
    let at = block.0.as_mut_ptr();
    macro_rules! perform {
        ($code:literal, $at:expr) => {
            // SAFETY: the operand is the block, or three words of this CPU's own lowcore. A channel program is a copy in
            // the HSA whose addresses are the guest's.
            unsafe {
                guarded!(
                    concat!(".insn s,", $code, ",0({at})"),
                    at = in(reg_addr) $at,
                    in("r1") u64::from(register),
                )
            }
        };
    }
    let code = match instruction {
        I::Csch => perform!("0xb2300000", at),
        I::Hsch => perform!("0xb2310000", at),
        I::Msch => perform!("0xb2320000", at),
        I::Ssch => perform!("0xb2330000", at),
        I::Stsch => perform!("0xb2340000", at),
        I::Tsch => perform!("0xb2350000", at),
        I::Tpi => perform!("0xb2360000", 0_u64),
        I::Rsch => perform!("0xb2380000", at),
        I::Stcrw => perform!("0xb2390000", at),
        I::Rchp => perform!("0xb23b0000", at),
        I::Xsch => perform!("0xb2760000", at),
    }?;
    if instruction == I::Tpi {
        block.0[..3].copy_from_slice(&lowcore::IO_INTERRUPTION.get());
    }
    Ok(code)
}

/// DIAGNOSE 500, function 3: there is something in a queue for a virtio device.
pub fn notify(subsystem: u64, queue: u64, cookie: u64) -> u64 {
    /// The function code of DIAGNOSE.
    const VIRTIO: u64 = 0x500;
    const NOTIFICATION: u64 = 3;
    let answer;
    // SAFETY: the device reads and writes its queue, in guest storage.
    unsafe {
        asm!(".insn rs,0x83000000,%r2,%r4,{virtio}(%r0)", in("r1") NOTIFICATION,
            inout("r2") subsystem => answer, in("r3") queue, in("r4") cookie, virtio = const VIRTIO,
            options(nostack));
    }
    answer
}
