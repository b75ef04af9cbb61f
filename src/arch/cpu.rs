//! CPUs of a configuration.

/// The most CPUs that a configuration has.
pub const MAXIMUM_CPUS: usize = 4;
