//! What a channel program has changed in its device, found out when the channel has executed it.
//!
//! A command that the channel did not reach, or that the device refused, changes nothing, except that a queue keeps the
//! storage that the device may know of. The status of the subchannel says which command was the last one. Each word of
//! a copy is executed at most once, so the words before it are those between the beginning and it, and a change that was
//! found to have been made is forgotten: when the program is resumed another word may get the place of its own.

use super::rings;
use crate::hardware::Hardware;
use crate::state::channel_program::{ChannelProgram, WORDS};
use crate::state::channels::Subchannel;
use crate::state::configuration::Configuration;
use crate::state::device::{Change, Device, FEATURES_OK, Queue, QueueNumber, QueuePlace, Rings};
use arch::address::PAGE;
use arch::channel::{
    Ccw, SCSW_DEVICE_REFUSED, SCSW_RUNNING, SCSW_START, SCSW_SUBCHANNEL_REFUSED, SCSW_SUSPENDED,
};

/// The program in the copy was started or has ended, and this is the status of its subchannel: changes what is known of
/// the device by the commands that were executed.
pub fn settle<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    subchannel: &mut Subchannel,
    status: [u32; 3],
) {
    let Subchannel {
        program,
        device: Some(device),
        ..
    } = subchannel
    else {
        return;
    };
    let [flags, address, ending] = status;
    // What a device announces by itself has the address of an earlier program in its status.
    let is_over = flags & SCSW_START != 0 && flags & SCSW_RUNNING == 0;
    if program.changes.is_empty() || !is_over {
        return;
    }
    // The word that was not executed, or the last one that was.
    let (before, last) = if flags & SCSW_SUSPENDED != 0 {
        (program.suspended.map(|(_, number)| number), None)
    } else {
        let last = program.number(address).and_then(|end| end.checked_sub(1));
        let was_refused = ending & (SCSW_DEVICE_REFUSED | SCSW_SUBCHANNEL_REFUSED) != 0;
        if was_refused {
            (last, None)
        } else {
            (None, last)
        }
    };
    let mut number = program.from;
    for _ in 0..2 * WORDS {
        if before == Some(number) || (before, last) == (None, None) {
            break;
        }
        while let Some(at) = program.changes.iter().position(|(by, _)| *by == number) {
            let (_, change) = program.changes.remove(at);
            apply(configuration, hardware, device, change);
        }
        if last == Some(number) {
            break;
        }
        let Some(next) = next(program, hardware, number) else {
            break;
        };
        number = next;
    }
    if flags & SCSW_SUSPENDED == 0 {
        abandon(subchannel);
    } else {
        program.from = number;
    }
}

/// The program was not started: it changes nothing.
pub fn forget(subchannel: &mut Subchannel) {
    subchannel.program.changes.clear();
}

/// The program goes no further. A device that has refused rings may have taken their places over nevertheless, so nothing
/// else gets these.
pub fn abandon(subchannel: &mut Subchannel) {
    let changes = core::mem::take(&mut subchannel.program.changes);
    let Some(device) = &mut subchannel.device else {
        return;
    };
    for &(_, change) in &changes {
        if let Change::QueueOn {
            number,
            size,
            place,
            ..
        } = change
            && device.queue(number).is_none()
        {
            let _ = device.queues.push(queue(number, size, None, place));
        }
    }
}

/// A queue of which nothing has been offered.
const fn queue(number: QueueNumber, size: u16, rings: Option<Rings>, place: QueuePlace) -> Queue {
    Queue {
        number,
        size,
        rings,
        place,
        offered: 0,
        returned: 0,
        lent: 0,
        is_broken: false,
    }
}

/// The number of the word that follows a word of the copy.
fn next<H: Hardware>(program: &ChannelProgram, hardware: &H, number: u16) -> Option<u16> {
    let ccw = Ccw::from_format_1(hardware.hsa_load(program.word(number)));
    if ccw.transfers() {
        program.number(ccw.address)
    } else {
        number.checked_add(1)
    }
}

/// The device has executed a command that changes it.
pub(super) fn apply<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    device: &mut Device,
    change: Change,
) {
    match change {
        Change::Reset => reset(configuration, hardware, device),
        Change::Status(status) => device.status = status,
        Change::Revision(revision) => device.revision = revision,
        Change::Features { index, bits } => {
            // What a device does not take over, it does not refuse either.
            let shift = match index {
                _ if device.status & FEATURES_OK != 0 => return,
                0 => 0,
                1 if device.revision != 0 => 32,
                _ => return,
            };
            device.features = device.features & !(0xFFFF_FFFF << shift) | u64::from(bits) << shift;
        }
        Change::QueueOn {
            number,
            size,
            rings,
            place,
        } => {
            if let Some(queue) = device.queue_mut(number) {
                queue.rings = Some(rings);
            } else {
                let queue = queue(number, size, Some(rings), place);
                let _ = device.queues.push(queue);
            }
        }
        Change::QueueOff(number) => {
            if let Some(queue) = device.queue_mut(number) {
                queue.rings = None;
            }
        }
        Change::Indicators(indicators) => device.indicators = indicators,
        Change::Configuration(at) => device.configuration = Some(at),
    }
}

/// The device was reset: its buffers and indicators are forgotten, and nothing of its room is in use.
pub fn reset<H: Hardware>(configuration: &Configuration, hardware: &mut H, device: &mut Device) {
    let agreed = device.agreed();
    for queue in &mut device.queues {
        rings::forget(configuration, hardware, agreed, queue);
        rings::clear(hardware, queue.place, queue.size);
    }
    device.forget();
    hardware.hsa_fill(device.room, PAGE, 0);
}
