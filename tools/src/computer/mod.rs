//! This computer: its terminal, its signals, and the person in front of it.

pub mod consent;
pub mod durations;
pub mod interrupt;
pub mod person;
pub mod progress;
pub mod terminal;
pub mod visible;
