//! Program-event recording (PER): which events are recorded, and how an interruption identifies them.
//!
//! The facility is that of the Principles of Operation: event masks in control register 9, a range of
//! addresses in control registers 10 and 11, and the PER mask of the PSW. It has one event of System/370 that
//! today's machines do not have: the alteration of general registers, with a mask for each of the sixteen.
//! The operator's traces ([`trace`]) have the same events.
//! Pure: the virtual CPU watches the instructions of a CPU, and this room determines their events.
//!
//! Source: System/370 Principles of Operation, "Program-Event Recording"; z/Architecture Principles of
//! Operation, "Program-Event Recording".

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod controls;
mod identification;
mod range;
pub mod trace;

pub use controls::{Controls, Done, Format, changed, event};
pub use identification::{Address, Identification, mode_identification};
pub use range::Range;
