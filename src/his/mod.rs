//! HIS: the service that gives what the machine measures to those who ask for it.
//!
//! Everything in this room is pure: it knows what was asked for and decides what is to be done; the
//! machine does it.
//!
//! * [`command`]: the operator's MODIFY HIS and DISPLAY HIS, from a line to what it asks for;
//! * [`event`] and [`sampling`]: what can be asked for, and the controls that are the same for all.

#![forbid(unsafe_code)]

pub mod command;
pub mod event;
pub mod sampling;
