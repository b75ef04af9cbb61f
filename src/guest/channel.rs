//! The guest's channel subsystem: the machine's own, with the addresses of channel programs checked.
//!
//! A guest's subchannels are the first [`SUBCHANNELS`] of the machine below; what it says to them goes
//! there. Two things do not go there as they are. A channel program is copied into the HSA while its
//! addresses are checked, and the copy is what runs (`copy`): nothing can change it any more. And
//! an interruption that the firmware takes while a CPU waits for its turn is held until a CPU of the
//! guest is open for it (`held`).
//!
//! **No protection against the DMA of a hostile guest.** A virtio device also finds addresses in its
//! rings, in guest storage, whenever it likes. Where the rings themselves stand is checked when the
//! program tells the device (`virtio`); the addresses in them cannot be.
//!
//! Channel monitoring is not offered: its blocks would be addresses, too. A program can ask for
//! it, and finds that nothing is measured.

mod copy;
mod held;
mod reset;
mod virtio;

pub use copy::Program;
pub use held::Held;
pub use reset::reset;

use crate::arch::address::Real;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::{Mutex, MutexGuard};

/// The subchannels that a guest sees: those with the numbers from 0 on in the first subchannel set.
pub const SUBCHANNELS: usize = 16;

/// Bytes of HSA for the copy of one subchannel's program.
pub const COPY_LENGTH: u64 = 4096;

/// What the CPUs share of the channel subsystem.
#[derive(Debug)]
pub struct Channels {
    programs: [Mutex<Program>; SUBCHANNELS],
    /// Interruptions that the firmware took.
    pub held: Held,
    /// Whether a subchannel has ever been seen.
    present: AtomicBool,
}

impl Channels {
    /// Channels whose programs are copied to the `SUBCHANNELS` times [`COPY_LENGTH`] bytes at `copies`.
    #[must_use]
    pub fn new(copies: Real) -> Self {
        Self {
            programs: core::array::from_fn(|number| {
                Mutex::new(Program::new(copies.offset(number as u64 * COPY_LENGTH)))
            }),
            held: Held::default(),
            present: AtomicBool::new(false),
        }
    }

    /// The program of the subchannel that a subsystem-identification word designates, if the guest sees
    /// it.
    pub fn program(&self, subsystem: u32) -> Option<MutexGuard<'_, Program>> {
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
