//! Recording: what the program and the operator learn of single instructions.
//!
//! Program-event recording, monitor calls, the model of the caches, and exact counts.

pub mod caches;
pub mod copies;
pub mod counts;
pub mod monitor;
pub mod per;
