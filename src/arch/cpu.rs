//! CPUs of a configuration.

/// The most CPUs in a configuration.
pub const MAXIMUM_CPUS: usize = 16;
