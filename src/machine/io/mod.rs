//! Input and output: console, log, the channel subsystem, and the watchdog.

pub mod channel;
pub mod console;
pub mod events;
pub mod failure;
pub mod input;
pub mod log;
pub mod watchdog;
