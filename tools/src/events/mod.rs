//! The guest's program events as the operator has them traced.

pub mod command;
pub mod event;
pub mod file;
pub mod tally;
