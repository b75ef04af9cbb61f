//! The part of the channel subsystem that the CPUs of a configuration share.

use crate::state::channel_monitor::ChannelMonitor;
use crate::state::channel_program::{ChannelProgram, PART_LENGTH};
use crate::state::device::{Device, Sight};
use crate::state::held::Held;
use arch::address::Real;
use arch::channel::SUBCHANNELS;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::{Mutex, MutexGuard};

/// Bytes of HSA for the copies of one subchannel's program.
pub const COPY_LENGTH: u64 = 2 * PART_LENGTH;

/// A subchannel: its program, and the device behind it.
#[derive(Debug)]
pub struct Subchannel {
    /// The program.
    pub program: ChannelProgram,
    /// Whether the guest sees the device.
    pub sight: Sight,
    /// The machine has taken its interruption, and no program has taken the status yet: it does not interrupt again.
    pub has_interrupted: bool,
    /// What is known of the device, if it was there at IPL.
    pub device: Option<&'static mut Device>,
}

/// The part of the channel subsystem that the CPUs share.
#[derive(Debug)]
pub struct Channels {
    subchannels: [Mutex<Subchannel>; SUBCHANNELS],
    /// Interruptions that the firmware took for the guest.
    pub held: Held,
    /// Channel monitoring.
    pub monitor: ChannelMonitor,
    /// Whether a subchannel has ever been seen.
    present: AtomicBool,
    /// Whether a device has buffers and cannot announce that it has used them.
    pub polls: AtomicBool,
}

impl Channels {
    /// Channels that copy programs to the `SUBCHANNELS` times [`COPY_LENGTH`] bytes at `copies`. The first of them have
    /// these devices.
    #[must_use]
    pub fn new(copies: Real, devices: impl IntoIterator<Item = &'static mut Device>) -> Self {
        let mut devices = devices.into_iter();
        Self {
            subchannels: core::array::from_fn(|number| {
                Mutex::new(Subchannel {
                    program: ChannelProgram::new(copies.offset(number as u64 * COPY_LENGTH)),
                    sight: Sight::Unknown,
                    has_interrupted: false,
                    device: devices.next(),
                })
            }),
            held: Held::default(),
            monitor: ChannelMonitor::default(),
            present: AtomicBool::new(false),
            polls: AtomicBool::new(false),
        }
    }

    /// The subchannel that a subsystem-identification word designates, if the guest has it.
    pub fn subchannel(&self, subsystem: u32) -> Option<MutexGuard<'_, Subchannel>> {
        /// Subchannel-set identification.
        const SET: u32 = 0x0006_0000;
        if subsystem & SET != 0 {
            return None;
        }
        self.subchannels
            .get(usize::from(subsystem as u16))
            .map(Mutex::lock)
    }

    /// Looks for something in the devices, one after the other. A subchannel that is in use at the moment is left out.
    pub fn find_of_devices<T>(&self, mut find: impl FnMut(&Device) -> Option<T>) -> Option<T> {
        self.subchannels.iter().find_map(|subchannel| {
            let subchannel = subchannel.try_lock()?;
            find(subchannel.device.as_deref()?)
        })
    }

    /// How many queues the devices have, and how many buffers of them a device has at the moment. A subchannel that is
    /// in use at the moment does not count.
    #[must_use]
    pub fn queues(&self) -> (usize, usize) {
        let (mut queues, mut buffers) = (0, 0);
        let _: Option<()> = self.find_of_devices(|device| {
            for queue in &device.queues {
                queues += 1;
                buffers += usize::from(queue.offered.wrapping_sub(queue.returned));
            }
            None
        });
        (queues, buffers)
    }

    /// Whether the machine has a device, which may interrupt at any time.
    #[must_use]
    #[inline]
    pub fn present(&self) -> bool {
        self.present.load(Ordering::Relaxed)
    }

    /// A device has been seen.
    pub fn found(&self) {
        self.present.store(true, Ordering::Relaxed);
    }
}
