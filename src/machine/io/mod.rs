//! What goes out to the host and what comes in: console, log, input, and the channel subsystem.

pub mod channel;
pub mod console;
pub mod events;
pub mod failure;
pub mod input;
mod log;
