//! Measuring: when samples are due, what time is the guest's, and what the counters of both levels count.

pub mod assist;
pub mod epoch;
pub mod machine_level;
pub mod schedule;
pub mod threads;
