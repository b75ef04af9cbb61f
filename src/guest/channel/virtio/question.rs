//! How many entries a queue has, according to its device.
//!
//! The device is asked when its program sets up a queue, right before that program is started. The subchannel is idle
//! then; one that is disabled takes neither the question nor the program. Nothing of it changes by the question: it
//! keeps its parameter and its enablement, and the status is taken at once. The machine below may present the
//! interruption of that status nevertheless; it is dropped ([`taken`](super::attention::taken)).
//!
//! The size that a device has by itself may depend on its features. So nothing is remembered.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, section 4.3.2.2 "Configuring a Virtqueue".

use super::place;
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::device::QueueNumber;
use arch::address::Real;
use arch::channel::{Ccw, ORB_ALL_PATHS, ORB_FORMAT, SCSW_DEVICE_REFUSED, SCSW_SUBCHANNEL_REFUSED};
use arch::condition::ConditionCode;

/// Stores how many entries a queue has.
pub const READ_QUEUE: u8 = 0x32;
/// Bytes of its data: the number of the queue, and its entries.
const LENGTH: u16 = 4;

/// What the device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// The queue has this many. Without any there is no such queue.
    Known(u16),
    /// The device refuses the question as it refuses every command at present: the program must choose a revision first.
    Refused,
    /// It cannot be asked.
    Unknown,
}

/// A subchannel that is idle, so its device can be asked.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// The subsystem-identification word.
    pub subsystem: u32,
    /// The interruption parameter that the subchannel has.
    pub parameter: u32,
}

/// Asks the device of an idle subchannel for the entries of a queue. Its room begins at `room`.
#[cold]
pub fn entries<H: Hardware>(
    hardware: &mut H,
    idle: Idle,
    room: Real,
    number: QueueNumber,
) -> Entries {
    let program = room.offset(place::QUESTION);
    let data = program.offset(8);
    let command = Ccw {
        command: READ_QUEUE,
        count: LENGTH,
        address: data.0 as u32,
        ..Ccw::INVALID
    };
    hardware.hsa_store(program, command.format_1());
    hardware.hsa_store(data, u64::from(number.get()) << 48);
    let mut orb = ChannelBlock::ZEROS;
    let controls = ORB_FORMAT | ORB_ALL_PATHS;
    orb.0[..3].copy_from_slice(&[idle.parameter, controls, program.0 as u32]);
    let mut irb = ChannelBlock::ZEROS;
    let started = hardware.channel(ChannelInstruction::Ssch, idle.subsystem, &mut orb);
    let is_started = started == Ok(ConditionCode::Zero);
    let taken =
        is_started.then(|| hardware.channel(ChannelInstruction::Tsch, idle.subsystem, &mut irb));
    let answer = hardware.hsa_load(data);
    // Also if nothing was started: what nothing uses in the room is zeros.
    hardware.hsa_store(program, 0);
    hardware.hsa_store(data, 0);
    let ending = irb.0[2];
    if taken != Some(Ok(ConditionCode::Zero)) || ending & SCSW_SUBCHANNEL_REFUSED != 0 {
        Entries::Unknown
    } else if ending & SCSW_DEVICE_REFUSED != 0 {
        Entries::Refused
    } else {
        Entries::Known((answer >> 32) as u16)
    }
}
