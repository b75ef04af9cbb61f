//! Instructions of the channel subsystem, and notifications of virtio devices.
//!
//! The machine below tests the form of the guest's operands. It refuses with a program interruption, which
//! [`crate::machine::trap`] returns to here instead of treating it as a failure of the firmware.

use crate::arch::condition::ConditionCode;
use crate::guest::hardware::ChannelBlock;
use crate::guest::hardware::ChannelInstruction;
use crate::machine::hardware::lowcore::{self, Lowcore};
use core::arch::asm;
use core::mem::offset_of;

/// Performs an instruction with bits 32-63 of general register 1.
pub fn perform(
    instruction: ChannelInstruction,
    register: u32,
    block: &mut ChannelBlock,
) -> Result<ConditionCode, u16> {
    use ChannelInstruction as I;
    let at = block.0.as_mut_ptr();
    macro_rules! guarded {
        ($code:literal, $at:expr) => {{
            let ipm: u64;
            // SAFETY: the operand is the block, or three words of this CPU's own lowcore. A program
            // interruption continues at label 8. A channel program is a copy in the HSA
            // whose addresses are the guest's.
            unsafe {
                asm!(
                    "larl {ipm},8f",
                    "stg {ipm},{continue_at}(%r0)",
                    concat!(".insn s,", $code, ",0({at})"),
                    "ipm {ipm}",
                    "j 9f",
                    "8: lghi {ipm},-1",
                    "9: stg {zero},{continue_at}(%r0)",
                    ipm = out(reg) ipm, zero = in(reg) 0_u64, at = in(reg_addr) $at,
                    in("r1") u64::from(register),
                    continue_at = const offset_of!(Lowcore, continue_at), options(nostack)
                );
            }
            ipm
        }};
    }
    let ipm = match instruction {
        I::Csch => guarded!("0xb2300000", at),
        I::Hsch => guarded!("0xb2310000", at),
        I::Msch => guarded!("0xb2320000", at),
        I::Ssch => guarded!("0xb2330000", at),
        I::Stsch => guarded!("0xb2340000", at),
        I::Tsch => guarded!("0xb2350000", at),
        I::Tpi => guarded!("0xb2360000", 0_u64),
        I::Rsch => guarded!("0xb2380000", at),
        I::Stcrw => guarded!("0xb2390000", at),
        I::Rchp => guarded!("0xb23b0000", at),
        I::Xsch => guarded!("0xb2760000", at),
    };
    if ipm == u64::MAX {
        return Err(lowcore::PROGRAM_IDENTIFICATION.get() as u16);
    }
    if instruction == I::Tpi {
        block.0[..3].copy_from_slice(&lowcore::IO_INTERRUPTION.get());
    }
    Ok(ConditionCode::from_bits((ipm >> 28) as u8))
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
