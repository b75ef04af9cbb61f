//! Input and output: console, log, and the channel subsystem.

pub mod channel;
pub mod console;
pub mod events;
pub mod failure;
pub mod input;
mod log;
