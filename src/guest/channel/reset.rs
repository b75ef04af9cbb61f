//! I/O-system reset: after a reset of the configuration no device may store into its storage.
//!
//! The machine below resets its devices only together with itself, including the firmware. So each device
//! is given the command by which a program resets it, and its subchannel is disabled.

use super::virtio;
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::configuration::Configuration;
use arch::channel::SUBCHANNELS;
use arch::channel::{Ccw, ORB_ALL_PATHS, ORB_FORMAT, Orb, PMCW_DEVICE_VALID, PMCW_ENABLED};
use arch::condition::ConditionCode;

/// CCW flag: an incorrect length is not indicated.
const SUPPRESS_LENGTH: u8 = 0x20;

/// How often a subchannel is tested for status; a device rarely has more than one.
const PATIENCE: usize = 8;

/// Resets every device that the guest sees, and drops what is pending.
#[cold]
pub fn reset<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    let channels = &configuration.channels;
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
    use ChannelInstruction as I;
    let mut schib = ChannelBlock::ZEROS;
    let found = hardware.channel(I::Stsch, subsystem, &mut schib);
    if found != Ok(ConditionCode::Zero) || schib.0[1] & PMCW_DEVICE_VALID == 0 {
        return;
    }
    let Some(mut program) = configuration.channels.program(subsystem) else {
        return;
    };
    let ask = |hardware: &mut H, instruction, mut block| {
        let code = hardware.channel(instruction, subsystem, &mut block);
        for _ in 0..PATIENCE {
            let status = hardware.channel(I::Tsch, subsystem, &mut { ChannelBlock::ZEROS });
            if status != Ok(ConditionCode::Zero) {
                break;
            }
        }
        code
    };
    // Without a parameter, and with interruption subclass 0.
    schib.0[0] = 0;
    schib.0[1] = PMCW_ENABLED;
    let _ = ask(hardware, I::Csch, ChannelBlock::ZEROS);
    let _ = ask(hardware, I::Msch, schib);
    let orb = program.only(
        hardware,
        Ccw {
            command: virtio::RESET,
            flags: SUPPRESS_LENGTH,
            ..Ccw::INVALID
        },
        Orb {
            controls: ORB_FORMAT | ORB_ALL_PATHS,
            ..Orb::default()
        },
    );
    let mut block = ChannelBlock::ZEROS;
    block.0[..3].copy_from_slice(&[orb.parameter, orb.controls, orb.program]);
    let _ = ask(hardware, I::Ssch, block);
    schib.0[1] = 0;
    let _ = ask(hardware, I::Msch, schib);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine::{Bench, Subchannel};

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
        assert_eq!(device.schib[..2], [0, 0]);
        assert_eq!(device.orb[1], 0x0080_FF00);
        let place = arch::address::Real(device.orb[2].into());
        assert_eq!(bench.hardware.hsa_load(place), 0x3320_0000_0000_0000);
    }
}
