//! Notifications: the program's to its device, and the device's to its program.
//!
//! While a guest has devices, the machine takes their interruptions at once, whatever the guest's masks are, for used
//! buffers must be given back even to a program that does not want to be interrupted. The machine then holds the
//! interruption for the first CPU that is enabled for it. If a device has no indicators it does not interrupt, and
//! neither does a subchannel whose status the program has not taken; the machine looks at the rings from time to time.

use super::{identity, place, rings};
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::channels::Subchannel;
use crate::state::configuration::Configuration;
use crate::state::device::{Device, Indicators, QueueNumber, Sight};
use crate::storage::{self, scanner};
use arch::address::Absolute;
use arch::channel::{
    ADAPTER_INTERRUPTION, IoInterruption, PMCW_SUBCLASS, SCHIB_STATUS, SCSW_PENDING, SUBCHANNELS,
};
use arch::condition::ConditionCode;
use core::sync::atomic::{Ordering, fence};

/// What the device answers when there is no such subchannel or queue.
const INVALID: u64 = -22_i64 as u64;

/// The subsystem-identification word of a subchannel.
const fn subsystem(number: usize) -> u32 {
    0x1_0000 | number as u32
}

/// The program notifies a device that there is something in a queue: subsystem identification, queue and cookie. Returns
/// the new cookie, or a negative number. A device is not notified of a queue without rings; it would not look either.
pub fn notify<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    [designation, queue, cookie]: [u64; 3],
) -> u64 {
    let subsystem = designation as u32;
    let Some(mut subchannel) = configuration.channels.subchannel(subsystem) else {
        return INVALID;
    };
    if subchannel.sight == Sight::Unknown {
        identity::find_out(hardware, subsystem, &mut subchannel);
    }
    let is_shown = subchannel.sight == Sight::Shown;
    let device = subchannel.device.as_mut().filter(|_| is_shown);
    let (Some(device), Some(number)) = (device, QueueNumber::new(queue)) else {
        return INVALID;
    };
    let agreed = device.agreed();
    let Some(found) = device
        .queue_mut(number)
        .filter(|queue| queue.rings.is_some())
    else {
        return 0;
    };
    rings::offer(configuration, hardware, agreed, found);
    poll_if_silent(configuration, &subchannel);
    hardware.notify(subsystem, number.get(), cookie)
}

/// Has the machine look at the rings of a device that will not interrupt.
fn poll_if_silent(configuration: &Configuration, subchannel: &Subchannel) {
    if has_silent_buffers(subchannel) {
        configuration.channels.polls.store(true, Ordering::SeqCst);
    }
}

/// Whether the device has buffers and will not interrupt when it has used them.
fn has_silent_buffers(subchannel: &Subchannel) -> bool {
    subchannel.device.as_ref().is_some_and(|device| {
        let is_silent = match device.indicators {
            Indicators::None => true,
            Indicators::Subchannel(_) => subchannel.has_interrupted,
            Indicators::Adapter { .. } => false,
        };
        is_silent && device.queues.iter().any(rings::is_waiting)
    })
}

/// The machine has taken an I/O interruption: gives back what devices have used, and holds the interruption for the
/// guest if the guest would have it.
///
/// The program may have taken the status meanwhile, on this CPU or on another one. Then there is nothing to interrupt
/// for, but the machine below may not withdraw the interruption: it may even come when the next status is pending, and
/// there are two of them then. So the guest gets the parameter and the subclass that the subchannel has now.
pub fn taken<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    interruption: IoInterruption,
) {
    attend(configuration, hardware);
    if interruption.is_of_adapter() {
        return;
    }
    let subsystem = interruption.subsystem;
    let Some(mut subchannel) = configuration.channels.subchannel(subsystem) else {
        return;
    };
    // While the subchannel is locked no program takes its status.
    if !subchannel.has_interrupted
        && let Some([parameter, identification]) = pending_status(hardware, subsystem)
    {
        subchannel.has_interrupted = true;
        configuration.channels.held.hold_io(IoInterruption {
            subsystem,
            parameter,
            identification,
        });
        poll_if_silent(configuration, &subchannel);
    }
}

/// The parameter and the identification word of the interruption of a subchannel, if its status is pending.
fn pending_status<H: Hardware>(hardware: &mut H, subsystem: u32) -> Option<[u32; 2]> {
    let mut block = ChannelBlock::ZEROS;
    let code = hardware.channel(ChannelInstruction::Stsch, subsystem, &mut block);
    let is_pending =
        code == Ok(ConditionCode::Zero) && block.0[SCHIB_STATUS / 4] & SCSW_PENDING != 0;
    is_pending.then_some([block.0[0], block.0[1] & PMCW_SUBCLASS])
}

/// Gives back what all devices have used.
pub fn attend<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    // Another CPU may find meanwhile that it must be done again.
    configuration.channels.polls.store(false, Ordering::SeqCst);
    for number in 0..SUBCHANNELS {
        if let Some(mut subchannel) = configuration.channels.subchannel(subsystem(number)) {
            attend_one(configuration, hardware, subsystem(number), &mut subchannel);
            poll_if_silent(configuration, &subchannel);
        }
    }
}

/// Gives back what the device of a subchannel has used.
pub fn attend_one<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    subsystem: u32,
    subchannel: &mut Subchannel,
) {
    let Some(device) = &mut subchannel.device else {
        return;
    };
    let room = device.room;
    if device.queues.is_empty() && device.configuration.is_none() {
        return;
    }
    // From now on the device interrupts for what it uses.
    let summary = room.offset(place::SUMMARY);
    if hardware.hsa_load(summary) != 0 {
        hardware.hsa_store(summary, 0);
        // The device uses a buffer, and then looks at the summary: the machine in the opposite order.
        fence(Ordering::SeqCst);
    }
    let mut is_new = false;
    let agreed = device.agreed();
    let Device {
        indicators, queues, ..
    } = &mut **device;
    for queue in queues {
        let (wants, more) = rings::give_back(configuration, hardware, agreed, queue);
        if more {
            hardware.notify(subsystem, queue.number.get(), 0);
        }
        if wants {
            indicate(configuration, hardware, *indicators, queue.number.get());
            is_new = true;
        }
    }
    if let Indicators::Adapter {
        summary, subclass, ..
    } = *indicators
        && is_new
        && or_byte(configuration, hardware, summary, 1) == 0
    {
        configuration.channels.held.hold_io(IoInterruption {
            identification: ADAPTER_INTERRUPTION | u32::from(subclass) << 27,
            ..IoInterruption::default()
        });
    }
    let changed = room.offset(place::CONFIGURATION);
    if let Some(at) = device.configuration
        && hardware.hsa_load(changed) != 0
    {
        hardware.hsa_store(changed, 0);
        or_doubleword(configuration, hardware, at, 1);
    }
}

/// Sets the program's indicator of a queue.
fn indicate<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    indicators: Indicators,
    queue: u16,
) {
    match indicators {
        Indicators::None => {}
        Indicators::Subchannel(at) => {
            let bit = 1_u64.checked_shl(queue.into()).unwrap_or(0);
            or_doubleword(configuration, hardware, at, bit);
        }
        Indicators::Adapter { at, first, .. } => {
            let bit = first.wrapping_add(queue.into());
            let byte = at.wrapping_add(bit / 8);
            or_byte(configuration, hardware, byte, 0x80 >> (bit % 8));
        }
    }
}

/// Sets bits of a byte of guest storage, which CPUs change at the same time; returns the byte before.
fn or_byte<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: u64, bits: u8) -> u8 {
    let Some(word) = storage::checked_piece(configuration, Absolute(at & !3), 4) else {
        return bits;
    };
    let word = word.start();
    scanner::store_into(configuration, hardware, word.absolute());
    let shift = 24 - 8 * (at & 3) as u32;
    let mut before = hardware.load_u32(word);
    while let Err(now) =
        hardware.compare_and_swap_u32(word, before, before | u32::from(bits) << shift)
    {
        before = now;
    }
    (before >> shift) as u8
}

/// Sets bits of a doubleword of guest storage, byte by byte.
fn or_doubleword<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: u64, bits: u64) {
    let bytes = bits.to_be_bytes();
    for (offset, byte) in (0..).zip(bytes).filter(|(_, byte)| *byte != 0) {
        or_byte(configuration, hardware, at.wrapping_add(offset), byte);
    }
}
