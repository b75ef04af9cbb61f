//! Channel programs of the machine's own while the guest's subchannel is idle.

use crate::hardware::{ChannelBlock, ChannelInstruction as Instruction, Hardware};
use crate::state::channel_program::{ChannelProgram, PART_LENGTH};
use crate::state::channels::Subchannel;
use arch::address::Real;
use arch::channel::{
    CHAIN_COMMAND, Ccw, ORB_ALL_PATHS, ORB_FORMAT, Orb, PMCW_DEVICE_VALID, PMCW_ENABLED,
};
use arch::condition::ConditionCode;

/// CCW flag: an incorrect length is not indicated.
const SUPPRESS_LENGTH: u8 = 0x20;

/// How often a subchannel is tested for status; a device rarely has more than one.
pub(super) const PATIENCE: usize = 8;

/// Where the data of such a program may be.
pub(super) const fn data(program: &ChannelProgram) -> Real {
    program.begin().offset(PART_LENGTH - 64)
}

/// Ends what the subchannel does, and performs a command, or a chain of them; returns whether it was started. `schib` is what the subchannel
/// stores; the interruption subclass is 0 afterwards, and the subchannel is disabled.
///
/// A device may announce something at any time, and with a status pending the subchannel accepts nothing.
pub(super) fn perform<H: Hardware>(
    hardware: &mut H,
    subsystem: u32,
    mut schib: ChannelBlock,
    subchannel: &mut Subchannel,
    commands: &[Ccw],
) -> bool {
    // Without a parameter, and with interruption subclass 0.
    schib.0[0] = 0;
    let valid = schib.0[1] & PMCW_DEVICE_VALID;
    schib.0[1] = valid | PMCW_ENABLED;
    let enabled = schib;
    let chained = commands.iter().enumerate().map(|(number, ccw)| {
        let is_last = number + 1 == commands.len();
        let flags = SUPPRESS_LENGTH | if is_last { 0 } else { CHAIN_COMMAND };
        Ccw { flags, ..*ccw }
    });
    let orb = subchannel.program.only(
        hardware,
        chained,
        Orb {
            controls: ORB_FORMAT | ORB_ALL_PATHS,
            ..Orb::default()
        },
    );
    let mut block = ChannelBlock::ZEROS;
    block.0[..3].copy_from_slice(&[orb.parameter, orb.controls, orb.program]);
    let is_started = (0..PATIENCE).any(|_| {
        let _ = ask(hardware, subsystem, Instruction::Csch, ChannelBlock::ZEROS);
        accepts(hardware, subsystem, Instruction::Msch, enabled)
            && accepts(hardware, subsystem, Instruction::Ssch, block)
    });
    schib.0[1] = valid;
    let _ = (0..PATIENCE).any(|_| accepts(hardware, subsystem, Instruction::Msch, schib));
    subchannel.has_interrupted = false;
    is_started
}

/// Issues an instruction, and tells whether the subchannel has accepted it.
fn accepts<H: Hardware>(
    hardware: &mut H,
    subsystem: u32,
    instruction: Instruction,
    block: ChannelBlock,
) -> bool {
    ask(hardware, subsystem, instruction, block) == Ok(ConditionCode::Zero)
}

/// Issues an instruction, and takes the status that follows from it.
fn ask<H: Hardware>(
    hardware: &mut H,
    subsystem: u32,
    instruction: Instruction,
    mut block: ChannelBlock,
) -> Result<ConditionCode, u16> {
    let code = hardware.channel(instruction, subsystem, &mut block);
    for _ in 0..PATIENCE {
        let status = &mut { ChannelBlock::ZEROS };
        if hardware.channel(Instruction::Tsch, subsystem, status) != Ok(ConditionCode::Zero) {
            break;
        }
    }
    code
}
