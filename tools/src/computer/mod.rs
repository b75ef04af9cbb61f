//! This computer: its terminal, its signals, the person in front of it, and where that person's cache is.

pub mod cache_directory;
pub mod consent;
pub mod durations;
pub mod interrupt;
pub mod person;
pub mod progress;
pub mod terminal;
pub mod visible;
