//! The guest's channel subsystem: the machine's own, with the addresses of channel programs checked.
//!
//! A guest's subchannels are the first [`SUBCHANNELS`](crate::arch::channel::SUBCHANNELS) of the machine below; what it says to them goes
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
mod reset;
mod virtio;

pub use reset::reset;
