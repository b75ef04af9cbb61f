//! A virtual CPU: registers, storage claims, DAT and its shadow, interruption delivery, millicode.
//!
//! The guest runs on the hardware in the problem state; what it may not do there traps, and this
//! room decides what the trap means in the guest's own terms. It touches no hardware: everything it
//! needs of the machine below comes through [`hardware::Hardware`].
//!
//! A guest address is a claim until [`storage`] has checked it; a failed check *is* an architected
//! program interruption, never a firmware failure.

#![forbid(unsafe_code)]

#[cfg(test)]
pub(crate) mod array;
pub mod channel;
pub mod delivery;
pub mod dispatch;
pub mod external_means;
pub mod hardware;
pub mod measuring;
pub mod millicode;
pub mod recording;
pub mod state;
pub mod storage;
