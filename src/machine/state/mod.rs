//! What a CPU and the machine hold.

pub mod cpu;
pub mod integrity;
