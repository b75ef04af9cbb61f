//! This computer: its terminal, its signals, the person in front of it, where that person's cache is, temporary
//! directories, its programs, and files that the person named.

pub mod cache_directory;
pub mod consent;
pub mod durations;
pub mod input_file;
pub mod interrupt;
pub mod person;
pub mod program;
pub mod progress;
pub mod standard_output;
pub mod temporary;
pub mod terminal;
pub mod visible;
pub mod whole_file;
