//! I/O-system reset: after a reset of the configuration no device may store into its storage.
//!
//! The machine below resets its devices only together with itself, including the firmware. So each device
//! is given the command by which a program resets it, and its subchannel is disabled.

use super::own::{self, PATIENCE};
use super::virtio::{self, changes};
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::configuration::Configuration;
use crate::state::device::Sight;
use arch::channel::{Ccw, PMCW_DEVICE_VALID, SUBCHANNELS};
use arch::condition::ConditionCode;

/// Resets every device that the guest sees, and drops what is pending.
#[cold]
pub fn reset<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    let channels = &configuration.channels;
    channels.monitor.set(None);
    if !channels.present() {
        return;
    }
    for number in 0..SUBCHANNELS as u32 {
        reset_device(configuration, hardware, 0x1_0000 | number);
    }
    channels.held.clear();
    let mut block = ChannelBlock::ZEROS;
    for _ in 0..PATIENCE {
        let report = hardware.channel(ChannelInstruction::Stcrw, 0, &mut block);
        if report != Ok(ConditionCode::Zero) {
            break;
        }
    }
}

fn reset_device<H: Hardware>(configuration: &Configuration, hardware: &mut H, subsystem: u32) {
    let mut schib = ChannelBlock::ZEROS;
    let found = hardware.channel(ChannelInstruction::Stsch, subsystem, &mut schib);
    if found != Ok(ConditionCode::Zero) || schib.0[1] & PMCW_DEVICE_VALID == 0 {
        return;
    }
    let Some(mut subchannel) = configuration.channels.subchannel(subsystem) else {
        return;
    };
    let command = Ccw {
        command: virtio::RESET,
        ..Ccw::INVALID
    };
    let is_reset = own::perform(hardware, subsystem, schib, &mut subchannel, &[command]);
    if !is_reset {
        // It may still use its rings, so nothing else gets their storage.
        subchannel.sight = Sight::Hidden;
    } else if let Some(device) = &mut subchannel.device {
        changes::reset(configuration, hardware, device);
        device.revision = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine::{Bench, Subchannel};
    use arch::channel::PMCW_ENABLED;

    #[test]
    fn a_reset_tells_each_device_to_reset_itself_and_disables_its_subchannel() {
        use ChannelInstruction as I;
        let mut bench = Bench::new();
        let mut subchannel = Subchannel::default();
        subchannel.schib[1] = PMCW_DEVICE_VALID | PMCW_ENABLED;
        subchannel.schib[0] = 0x1234;
        bench.hardware.subchannels = vec![subchannel, Subchannel::default()];
        reset(&bench.configuration, &mut bench.hardware);
        assert!(
            bench.hardware.channel_orders.is_empty(),
            "nobody has seen a device"
        );
        bench.configuration.channels.found();
        reset(&bench.configuration, &mut bench.hardware);
        let orders = &bench.hardware.channel_orders;
        let starts = orders.iter().filter(|&&order| order == I::Ssch);
        assert_eq!(starts.count(), 1);
        let [device, _] = bench.hardware.subchannels[..] else {
            panic!("two subchannels");
        };
        assert_eq!(device.schib[..2], [0, PMCW_DEVICE_VALID]);
        assert_eq!(device.orb[1], 0x0080_FF00);
        let place = arch::address::Real(device.orb[2].into());
        assert_eq!(bench.hardware.hsa_load(place), 0x3320_0000_0000_0000);
    }
    #[test]
    fn a_device_that_announces_something_meanwhile_is_reset_all_the_same() {
        for (pending, is_reset) in [(0, true), (1, true), (3, true), (u32::MAX, false)] {
            let mut bench = Bench::new();
            let mut subchannel = Subchannel {
                pending,
                is_strict: true,
                ..Subchannel::default()
            };
            subchannel.schib[1] = PMCW_DEVICE_VALID;
            bench.hardware.subchannels = vec![subchannel];
            bench.configuration.channels.found();
            let channels = &bench.configuration.channels;
            let features = |features| {
                let mut subchannel = channels.subchannel(0x1_0000).unwrap();
                let device = subchannel.device.as_deref_mut().unwrap();
                core::mem::replace(&mut device.features, features)
            };
            features(5);
            reset(&bench.configuration, &mut bench.hardware);
            assert_eq!(bench.hardware.subchannels[0].orb[1] != 0, is_reset);
            // What is known of a device stays as long as the device knows it, and the guest sees it no more.
            assert_eq!(features(0), if is_reset { 0 } else { 5 });
            let sight = channels.subchannel(0x1_0000).unwrap().sight;
            assert_eq!(sight == Sight::Hidden, !is_reset);
        }
    }
}
