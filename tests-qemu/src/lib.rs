//! The harness: guests are IPLed exactly as `cargo measure` does it.
//!
//! - [`ipl`]: one guest, above the machine or on bare QEMU, in a directory of its own.
//! - [`chance`]: whether samples differ by chance alone.
//! - [`command`]: the host command as a person starts it.
//! - [`suite`]: tests, each in a process of its own, and who runs beside whom; [`prices`]: what they take.
//! - [`panics`]: the panics that the traps of the image reach.
//! - [`survivors`]: small changes of the source that no test notices.
//!
//! The tests build the image and the guests themselves, so `cargo test` needs no step before it.

#![forbid(unsafe_code)]

pub mod chance;
pub mod command;
pub mod ipl;
pub mod panics;
pub mod prices;
pub mod suite;
pub mod survivors;
