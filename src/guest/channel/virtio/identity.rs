//! What a device is: the guest sees only those whose rings the machine knows.

use super::super::own;
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::channels::Subchannel;
use crate::state::device::Sight;
use arch::channel::{Ccw, PMCW_DEVICE_VALID};
use arch::condition::ConditionCode;

/// Stores the identification of a device.
const SENSE_IDENTIFICATION: u8 = 0xE4;

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
    let _ = own::perform(hardware, subsystem, schib, subchannel, sense);
    let [_, left, right, model, ..] = hardware.hsa_load(place).to_be_bytes();
    let is_known = u64::from(u16::from_be_bytes([left, right])) == VIRTIO && KNOWN.contains(&model);
    subchannel.sight = if is_known && subchannel.device.is_some() {
        Sight::Shown
    } else {
        Sight::Hidden
    };
}
