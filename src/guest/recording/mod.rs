//! Recording: what the program and the operator learn of single instructions.
//!
//! Program-event recording, monitor calls, and the model of the caches.

pub mod caches;
pub mod monitor;
pub mod per;
