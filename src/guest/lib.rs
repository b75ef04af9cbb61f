//! A virtual CPU: registers, storage claims, DAT and its shadow, interruption delivery, millicode.
//!
//! The guest runs on the hardware in the problem state. What it may not do there traps, and this module
//! decides what the trap means in the guest's own terms. It does not touch hardware: it reaches the
//! machine below only through [`hardware::Hardware`].
//!
//! The rooms call only downward:
//!
//! | room               | what it does                                                                |
//! |--------------------|-----------------------------------------------------------------------------|
//! | [`hardware`]       | the trait that the machine implements, and what it hands over               |
//! | [`state`]          | what a CPU and a configuration hold                                         |
//! | [`storage`]        | translation, the shadow tables, page scanning, access to guest storage      |
//! | [`channel`]        | channel programs, virtio devices, resets                                    |
//! | [`measuring`]      | when samples are due, time, threads, the counters of both levels            |
//! | [`delivery`]       | program, external, I/O and machine-check interruptions                      |
//! | [`recording`]      | program-event recording, monitor calls, the model of the caches             |
//! | [`external_means`] | what the operator changes at a CPU                                          |
//! | [`millicode`]      | the routines that perform an instruction                                    |
//! | [`dispatch`]       | what a trap means, and the way back to the guest                            |
//!
//! [`channel`], [`measuring`] and [`delivery`] do not call each other.
//!
//! A guest address is a claim until [`storage`] has checked it. A failed check *is* an architected
//! program interruption, never a firmware failure.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod channel;
pub mod delivery;
pub mod dispatch;
pub mod external_means;
pub mod hardware;
pub mod measuring;
pub mod millicode;
#[cfg(test)]
mod random;
pub mod recording;
pub mod state;
pub mod storage;
#[cfg(test)]
pub(crate) mod test_machine;
#[cfg(test)]
pub(crate) mod test_random;
pub mod turns;
