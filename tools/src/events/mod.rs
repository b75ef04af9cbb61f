//! The guest's program events as the operator traces them.
//!
//! - [`command`]: the operator's commands; names in them become addresses before the machine gets them.
//! - [`event`]: one event as a line. [`mod@file`]: the events that a run has kept.
//! - [`tally`]: how many events came, and how many were lost.

pub mod command;
pub mod event;
pub mod file;
pub mod tally;
