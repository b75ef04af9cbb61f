//! The guest's channel subsystem: the machine's own, with the addresses of channel programs checked.
//!
//! A guest's subchannels are the first [`SUBCHANNELS`](arch::channel::SUBCHANNELS) of the machine below, to
//! which its instructions are passed. There are two exceptions. A channel program is copied into the HSA while its
//! addresses are checked, and the copy is what runs (`copy`), so nothing can change it any more. And an interruption
//! that the firmware takes while a CPU waits for its turn is held until a CPU of the guest is enabled for it (`held`).
//!
//! **Devices reach the guest's storage only.** A virtio device also uses addresses in its rings, at any time. So it has
//! rings of its own in the HSA, and the machine copies between them and the guest's (`virtio`).
//!
//! Measurement blocks are in the guest's storage, too: the machine itself updates them (`monitor`).

mod copy;
pub mod monitor;
mod own;
mod reset;
pub mod virtio;

pub use reset::reset;
