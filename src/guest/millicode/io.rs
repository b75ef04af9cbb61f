//! The channel subsystem: a program's instructions are passed to the machine's own, with checked addresses.
//!
//! Bits 32-63 of general register 1 are the subsystem-identification word. The machine below tests its form
//! and that of the operands, so an operand exception is its own. Operands are copied, and access to them is
//! tested first. A guest sees only the first few subchannels of the machine below
//! ([`SUBCHANNELS`](arch::channel::SUBCHANNELS)); the others are not operational. A subchannel whose device the guest
//! does not see ([`identity`]) has none. A configuration without devices has no subchannels.

use crate::channel::monitor;
use crate::channel::virtio::question::Idle;
use crate::channel::virtio::{attention, changes, identity};
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::access::{Access, Fault};
use crate::state::channel_program::ChannelProgram;
use crate::state::channels::Subchannel;
use crate::state::device::Sight;
use crate::state::pending_work::PendingWork;
use crate::storage;
use arch::address::{Real, Virtual};
use arch::channel::{
    IRB_LENGTH, IoInterruption, ORB_MODIFIED_INDIRECT, ORB_TRANSPORT, Orb, PMCW_DEVICE_VALID,
    PMCW_ENABLED, SCHIB_LENGTH, SCHIB_STATUS, SCSW_OCCUPIED, SCSW_PENDING, SCSW_SUSPENDED,
};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;
use arch::lowcore::SUBSYSTEM_IDENTIFICATION;
use insn::Operand;
use spin::MutexGuard;

/// The words of a subchannel-status word in a subchannel-information block.
const STATUS: usize = SCHIB_STATUS / 4;

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

/// Has the machine below perform an instruction.
fn ask<H: Hardware>(
    run: &mut Execution<'_, H>,
    instruction: ChannelInstruction,
    block: &mut ChannelBlock,
) -> Result<ConditionCode, Fault> {
    let register = run.register(1) as u32;
    match run.hardware.channel(instruction, register, block) {
        Ok(code) => Ok(code),
        Err(code) if code == ProgramInterruption::Specification.code() => {
            fault(ProgramInterruption::Specification)
        }
        Err(_) => fault(ProgramInterruption::Operand),
    }
}

/// The subchannel that register 1 designates, if the guest sees it. Otherwise the machine below has tested
/// the form of the word.
fn any_subchannel<'a, H: Hardware>(
    run: &mut Execution<'a, H>,
) -> Result<Option<MutexGuard<'a, Subchannel>>, Fault> {
    let configuration = run.configuration;
    let subsystem = run.register(1) as u32;
    let mut found = configuration.channels.subchannel(subsystem);
    match &mut found {
        Some(subchannel) if subchannel.sight == Sight::Unknown => {
            identity::find_out(run.hardware, subsystem, subchannel);
        }
        Some(_) => {}
        None => {
            ask(run, ChannelInstruction::Stsch, &mut { ChannelBlock::ZEROS })?;
        }
    }
    Ok(found)
}

/// The subchannel that register 1 designates, if the guest sees its device.
fn subchannel<'a, H: Hardware>(
    run: &mut Execution<'a, H>,
) -> Result<Option<MutexGuard<'a, Subchannel>>, Fault> {
    let found = any_subchannel(run)?;
    Ok(found.filter(|subchannel| subchannel.sight != Sight::Hidden))
}

/// The information of the subchannel that register 1 designates, if the machine below has it, with its status.
fn information<H: Hardware>(
    run: &mut Execution<'_, H>,
) -> Result<Option<(ChannelBlock, [u32; 3])>, Fault> {
    let mut block = ChannelBlock::ZEROS;
    let code = ask(run, ChannelInstruction::Stsch, &mut block)?;
    let words = block.0[STATUS..].first_chunk().copied();
    Ok(words
        .filter(|_| code == ConditionCode::Zero)
        .map(|status| (block, status)))
}

/// The channel has begun, or gone on with, the program of a subchannel: what it has changed in the device by now.
fn settle<H: Hardware>(
    run: &mut Execution<'_, H>,
    subchannel: &mut Subchannel,
) -> Result<(), Fault> {
    if let Some((_, status)) = information(run)? {
        changes::settle(run.configuration, run.hardware, subchannel, status);
    }
    Ok(())
}

/// Puts the guest's own addresses into a subchannel-status word that begins at a word of a block.
fn translate(program: &ChannelProgram, block: &mut ChannelBlock, at: usize) {
    if let Some(status) = block.0.get_mut(at..).and_then(<[u32]>::first_chunk_mut) {
        program.translate(status);
    }
}

/// STORE SUBCHANNEL: the 52 bytes of the subchannel-information block are stored at the second-operand
/// address.
///
/// Condition code: 0, stored; 3, not operational, and nothing is stored.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2); operand, for register 1.
///
/// Source: Principles of Operation, "STORE SUBCHANNEL".
pub(super) fn stsch<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    let claim = run.claim(at, SCHIB_LENGTH as u64, Access::Store)?;
    let Some(subchannel) = any_subchannel(run)? else {
        return run.done(ConditionCode::Three);
    };
    let mut block = ChannelBlock::ZEROS;
    let code = ask(run, ChannelInstruction::Stsch, &mut block)?;
    if code == ConditionCode::Zero {
        if subchannel.sight == Sight::Hidden {
            block = ChannelBlock::ZEROS;
        }
        if block.0[1] & PMCW_DEVICE_VALID != 0 && !run.configuration.channels.present() {
            run.configuration.channels.found();
            // From now on the machine takes interruptions of devices at once.
            run.cpu.pending_work |= PendingWork::CONTROLS;
        }
        translate(&subchannel.program, &mut block, STATUS);
        let bytes = block.bytes();
        claim.store(run.configuration, run.hardware, &bytes[..SCHIB_LENGTH]);
    }
    run.done(code)
}

/// MODIFY SUBCHANNEL: the program's parameters of the subchannel are taken from the
/// subchannel-information block at the second-operand address.
///
/// Condition code: 0, modified; 1, status pending; 2, busy; 3, not operational.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (fetch, operand 2); operand, for register 1 and the block.
///
/// Source: Principles of Operation, "MODIFY SUBCHANNEL".
pub(super) fn msch<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    let mut bytes = [0; SCHIB_LENGTH];
    run.fetch(at, &mut bytes)?;
    let Some(mut subchannel) = subchannel(run)? else {
        return run.done(ConditionCode::Three);
    };
    // The machine below does not update measurement blocks.
    let mut block = ChannelBlock::of(&bytes);
    let code = ask(run, ChannelInstruction::Msch, &mut block)?;
    if code == ConditionCode::Zero
        && block.0[1] & PMCW_ENABLED == 0
        && let Some(device) = &mut subchannel.device
    {
        device.revision = 0;
    }
    run.done(code)
}

/// START SUBCHANNEL: the operation-request block at the second-operand address designates the channel
/// program, which is copied while its addresses are checked ([`crate::channel`]). An error in it is a
/// program check of the subchannel.
///
/// Condition code: 0, started; 1, status pending; 2, busy; 3, not operational.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word boundary;
/// access (fetch, operand 2); operand, for register 1 and the block, and also when the block designates a
/// transport-command word or allows modified indirect-data-address words, because neither facility is
/// installed.
///
/// Source: Principles of Operation, "START SUBCHANNEL".
pub(super) fn ssch<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    let mut bytes = [0; 12];
    run.fetch(at, &mut bytes)?;
    let Some(mut subchannel) = subchannel(run)? else {
        return run.done(ConditionCode::Three);
    };
    let words = ChannelBlock::of(&bytes).0;
    let orb = Orb {
        parameter: words[0],
        controls: words[1],
        program: words[2],
    };
    if orb.controls & (ORB_TRANSPORT | ORB_MODIFIED_INDIRECT) != 0 || orb.program >> 31 != 0 {
        return fault(ProgramInterruption::Operand);
    }
    let before = information(run)?;
    let status = before.map(|(_, status)| status);
    let is_idle = status.is_some_and(|[status, ..]| status & SCSW_OCCUPIED == 0);
    if is_idle {
        changes::abandon(&mut subchannel);
    }
    // If a program may be running, its copy is not touched: the machine below will answer that the subchannel
    // is busy.
    let subsystem = run.register(1) as u32;
    let Subchannel {
        program, device, ..
    } = &mut *subchannel;
    let copied = match &before {
        Some((block, _)) if is_idle => {
            let idle = Idle {
                subsystem,
                parameter: block.0[0],
            };
            let device = device.as_deref().map(|device| (device, idle));
            program.copy(run.configuration, run.hardware, device, orb)
        }
        _ => program.designation(),
    };
    let mut block = ChannelBlock::ZEROS;
    block.0[..3].copy_from_slice(&[orb.parameter, copied.controls, copied.program]);
    let code = ask(run, ChannelInstruction::Ssch, &mut block)?;
    if code == ConditionCode::Zero {
        if let Some((before, _)) = &before {
            monitor::count(run.configuration, run.hardware, before);
        }
        settle(run, &mut subchannel)?;
    } else if is_idle {
        changes::forget(&mut subchannel);
    }
    run.done(code)
}

/// TEST SUBCHANNEL: the 64 bytes of the interruption-response block are stored at the second-operand address,
/// and the status is no longer pending.
///
/// Condition code: 0, status was pending; 1, no status was pending; 3, not operational, and nothing is
/// stored.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2); operand, for register 1.
///
/// Source: Principles of Operation, "TEST SUBCHANNEL".
pub(super) fn tsch<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    let claim = run.claim(at, IRB_LENGTH as u64, Access::Store)?;
    let Some(mut subchannel) = subchannel(run)? else {
        return run.done(ConditionCode::Three);
    };
    let mut block = ChannelBlock::ZEROS;
    let code = ask(run, ChannelInstruction::Tsch, &mut block)?;
    let (configuration, subsystem) = (run.configuration, run.register(1) as u32);
    if let Some(status) = block.0.first_chunk().copied() {
        changes::settle(configuration, run.hardware, &mut subchannel, status);
    }
    if code != ConditionCode::Three {
        translate(&subchannel.program, &mut block, 0);
        claim.store(configuration, run.hardware, &block.bytes());
    }
    if code == ConditionCode::Zero {
        configuration.channels.held.drop_of(subsystem);
        subchannel.has_interrupted = false;
        // What the device has used since its interruption was taken interrupts no more.
        attention::attend_one(configuration, run.hardware, subsystem, &mut subchannel);
    }
    run.done(code)
}

/// CLEAR, HALT, RESUME and CANCEL SUBCHANNEL. The part of a program after a suspension is copied and checked
/// when the program is resumed.
///
/// Condition code: as the machine below has it; 3, not operational.
///
/// Program exceptions: privileged operation; operand, for register 1.
///
/// Source: Principles of Operation, chapter 14.
pub(super) fn order<H: Hardware>(
    run: &mut Execution<'_, H>,
    instruction: ChannelInstruction,
) -> Performed {
    run.supervisor()?;
    let Some(mut subchannel) = subchannel(run)? else {
        return run.done(ConditionCode::Three);
    };
    let before = information(run)?;
    if let Some((_, status)) = before {
        changes::settle(run.configuration, run.hardware, &mut subchannel, status);
        // If it is not suspended, the channel may be at any word of the copy, which is not touched.
        let is_resumed = status[0] & (SCSW_SUSPENDED | SCSW_PENDING) == SCSW_SUSPENDED;
        if instruction == ChannelInstruction::Rsch && is_resumed {
            let Subchannel {
                program, device, ..
            } = &mut *subchannel;
            program.resume(run.configuration, run.hardware, device.as_deref());
        }
    }
    let code = ask(run, instruction, &mut { ChannelBlock::ZEROS })?;
    if instruction == ChannelInstruction::Rsch && code == ConditionCode::Zero {
        if let Some((before, _)) = &before {
            monitor::count(run.configuration, run.hardware, before);
        }
        settle(run, &mut subchannel)?;
    }
    if instruction != ChannelInstruction::Rsch && code == ConditionCode::Zero {
        changes::abandon(&mut subchannel);
    }
    if instruction == ChannelInstruction::Csch && code == ConditionCode::Zero {
        let held = &run.configuration.channels.held;
        held.drop_of(run.register(1) as u32);
        subchannel.has_interrupted = false;
    }
    run.done(code)
}

/// RESET CHANNEL PATH: register 1 designates the path.
///
/// Condition code: 0, the reset is begun; 2, busy; 3, not operational.
///
/// Program exceptions: privileged operation; operand, for register 1.
///
/// Source: Principles of Operation, "RESET CHANNEL PATH".
pub(super) fn rchp<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    run.supervisor()?;
    let code = ask(run, ChannelInstruction::Rchp, &mut { ChannelBlock::ZEROS })?;
    run.done(code)
}

/// SET CHANNEL MONITOR: if bit 62 of register 1 is one, the measurement blocks of subchannels are updated from now on,
/// those of format 0 from the absolute address in register 2 on; otherwise they are not. The key in bits 32-35 is
/// ignored, and connect times (bit 63) are not measured: as on QEMU, blocks have the count of starts and resumptions.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; operand, when bits 36-61 of register 1 are not zeros, or
/// measurement blocks are requested and register 2 does not designate a 32-byte boundary.
///
/// Source: Principles of Operation, "SET CHANNEL MONITOR".
pub(super) fn schm<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    const RESERVED: u64 = 0x0FFF_FFFC;
    const BLOCKS: u64 = 2;
    run.supervisor()?;
    let controls = run.register(1);
    let origin = (controls & BLOCKS != 0).then(|| run.register(2));
    let has_no_place = origin.is_some_and(|origin| !origin.is_multiple_of(32));
    if controls & RESERVED != 0 || has_no_place {
        return fault(ProgramInterruption::Operand);
    }
    run.configuration.channels.monitor.set(origin);
    Ok(Outcome::Completed)
}

/// TEST PENDING INTERRUPTION: the first I/O interruption whose subclass is enabled is taken. Two words of it
/// are stored at the second-operand address, or three at real B8 if that address is zero.
///
/// Condition code: 0, none is pending; 1, stored.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2, unless its address is zero).
///
/// Source: Principles of Operation, "TEST PENDING INTERRUPTION".
pub(super) fn tpi<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    let configuration = run.configuration;
    let in_prefix_area = at == Virtual(0);
    let claim = if in_prefix_area {
        // Low-address protection does not apply to the prefix area here.
        let area = run.cpu.absolute(Real(SUBSYSTEM_IDENTIFICATION));
        let Some(piece) = storage::checked_piece(configuration, area, 12) else {
            return fault(ProgramInterruption::Addressing);
        };
        storage::Claim::within_a_page(piece)
    } else {
        run.claim(at, 8, Access::Store)?
    };
    let masks = (run.cpu.control[6] >> 24) as u8;
    let mut block = ChannelBlock::ZEROS;
    while ask(run, ChannelInstruction::Tpi, &mut block)? == ConditionCode::One {
        let [subsystem, parameter, identification, ..] = block.0;
        let interruption = IoInterruption {
            subsystem,
            parameter,
            identification,
        };
        attention::taken(configuration, run.hardware, interruption);
    }
    let Some(interruption) = configuration.channels.held.take_io(masks) else {
        return run.done(ConditionCode::Zero);
    };
    let mut block = ChannelBlock::ZEROS;
    block.0[..3].copy_from_slice(&[
        interruption.subsystem,
        interruption.parameter,
        interruption.identification,
    ]);
    let length = if in_prefix_area { 12 } else { 8 };
    claim.store(configuration, run.hardware, &block.bytes()[..length]);
    run.done(ConditionCode::One)
}

/// STORE CHANNEL REPORT WORD: the first pending channel report is stored at the second-operand address, or a
/// word of zeros.
///
/// Condition code: 0, a report; 1, zeros.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CHANNEL REPORT WORD".
pub(super) fn stcrw<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let at = operand(run, second, 4)?;
    let claim = run.claim(at, 4, Access::Store)?;
    let mut block = ChannelBlock::ZEROS;
    let code = ask(run, ChannelInstruction::Stcrw, &mut block)?;
    claim.store(run.configuration, run.hardware, &block.bytes()[..4]);
    run.done(code)
}

/// STORE CHANNEL PATH STATUS: 32 bytes of zeros, which mean that no channel path is active, are stored at the
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
