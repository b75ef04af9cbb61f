//! Recording: what is told of single instructions, to the program and to the operator.
//!
//! Program-event recording, monitor calls, and the model of the caches.

pub mod caches;
pub mod monitor;
pub mod per;
