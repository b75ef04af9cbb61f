//! Measuring: when samples are due, what guest time is, and what the counters of both levels count,
//! and which routines had called the one that a sample shows.

pub mod assist;
pub mod epoch;
pub mod machine_level;
pub mod schedule;
pub mod stack;
pub mod stack_copy;
pub mod still_rest;
pub mod threads;
pub mod window;
