//! What a device is: the guest sees only those whose rings the machine knows.

use super::super::own;
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::channels::Subchannel;
use crate::state::device::{Sight, VERSION_1};
use arch::address::Real;
use arch::channel::{Ccw, PMCW_DEVICE_VALID};
use arch::condition::ConditionCode;

/// Stores the identification of a device.
const SENSE_IDENTIFICATION: u8 = 0xE4;

/// Chooses the revision of the commands.
const SET_REVISION: u8 = 0x83;
/// Stores 32 of the features that the device offers; the data say which ones.
const READ_FEATURES: u8 = 0x12;

/// Revision 1, without data of its own.
const REVISION_1: u64 = 0x0001_0000 << 32;
/// Room for 32 features, and the index of features 32-63 behind it.
const SECOND_FEATURES: u64 = 1 << 24;

/// The control-unit type of virtio devices.
const VIRTIO: u64 = 0x3832;

/// The types of devices, which are their control-unit models: network, block, console, entropy. They access storage by
/// their rings only.
const KNOWN: [u8; 4] = [1, 2, 3, 4];

/// Finds out whether the guest sees the device of a subchannel. A subchannel without a device is shown as it is.
#[cold]
pub fn find_out<H: Hardware>(hardware: &mut H, subsystem: u32, subchannel: &mut Subchannel) {
    let mut schib = ChannelBlock::ZEROS;
    let found = hardware.channel(ChannelInstruction::Stsch, subsystem, &mut schib);
    if found != Ok(ConditionCode::Zero) || schib.0[1] & PMCW_DEVICE_VALID == 0 {
        return;
    }
    let place = own::data(&subchannel.program);
    hardware.hsa_store(place, 0);
    let sense = Ccw {
        command: SENSE_IDENTIFICATION,
        count: 8,
        address: place.0 as u32,
        ..Ccw::INVALID
    };
    let _ = own::perform(hardware, subsystem, schib, subchannel, &[sense]);
    let [_, left, right, model, ..] = hardware.hsa_load(place).to_be_bytes();
    let is_known = u64::from(u16::from_be_bytes([left, right])) == VIRTIO && KNOWN.contains(&model);
    subchannel.sight = if is_known && subchannel.device.is_some() {
        Sight::Shown
    } else {
        Sight::Hidden
    };
    if subchannel.sight == Sight::Shown {
        let offers = offers_version_1(hardware, subsystem, schib, subchannel);
        if let Some(device) = &mut subchannel.device {
            device.offers_version_1 = offers;
        }
    }
}

/// Whether a device offers to be one of version 1. It is only asked, so it stays as it was, and forgets the revision when
/// its subchannel is disabled.
fn offers_version_1<H: Hardware>(
    hardware: &mut H,
    subsystem: u32,
    schib: ChannelBlock,
    subchannel: &mut Subchannel,
) -> bool {
    let revision = own::data(&subchannel.program);
    let features = revision.offset(8);
    hardware.hsa_store(revision, REVISION_1);
    hardware.hsa_store(features, SECOND_FEATURES);
    let command = |command, count, at: Real| Ccw {
        command,
        count,
        address: at.0 as u32,
        ..Ccw::INVALID
    };
    // A device that refuses the revision does not get as far as the features.
    let commands = [
        command(SET_REVISION, 4, revision),
        command(READ_FEATURES, 5, features),
    ];
    let _ = own::perform(hardware, subsystem, schib, subchannel, &commands);
    let [b0, b1, b2, b3, ..] = hardware.hsa_load(features).to_be_bytes();
    u64::from(u32::from_le_bytes([b0, b1, b2, b3])) << 32 & VERSION_1 != 0
}
