//! The part of the channel subsystem that the CPUs of a configuration share.

use crate::state::channel_program::{ChannelProgram, PART_LENGTH};
use crate::state::held::Held;
use arch::address::Real;
use arch::channel::SUBCHANNELS;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::{Mutex, MutexGuard};

/// Bytes of HSA for the copies of one subchannel's program.
pub const COPY_LENGTH: u64 = 2 * PART_LENGTH;

/// The part of the channel subsystem that the CPUs share.
#[derive(Debug)]
pub struct Channels {
    programs: [Mutex<ChannelProgram>; SUBCHANNELS],
    /// Interruptions that the firmware took for the guest.
    pub held: Held,
    /// Whether a subchannel has ever been seen.
    present: AtomicBool,
}

impl Channels {
    /// Channels that copy programs to the `SUBCHANNELS` times [`COPY_LENGTH`] bytes at `copies`.
    #[must_use]
    pub fn new(copies: Real) -> Self {
        Self {
            programs: core::array::from_fn(|number| {
                Mutex::new(ChannelProgram::new(
                    copies.offset(number as u64 * COPY_LENGTH),
                ))
            }),
            held: Held::default(),
            present: AtomicBool::new(false),
        }
    }

    /// The program of the subchannel that a subsystem-identification word designates, if the guest has
    /// it.
    pub fn program(&self, subsystem: u32) -> Option<MutexGuard<'_, ChannelProgram>> {
        /// Subchannel-set identification.
        const SET: u32 = 0x0006_0000;
        if subsystem & SET != 0 {
            return None;
        }
        self.programs
            .get(usize::from(subsystem as u16))
            .map(Mutex::lock)
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
