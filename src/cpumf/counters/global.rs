//! The parts of the counter facility that are the same for every CPU.

/// The parts of the QUERY COUNTER INFORMATION block that are not local to the CPU: two maximum addresses
/// and the global counter-set-state control register, which [`super::CoprocessorGroups`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalCounterControls {
    /// The maximum CPU address at the basic machine level.
    pub maximum_cpu_address: u16,
    /// The maximum coprocessor-group address at the basic machine level.
    pub maximum_group_address: u16,
    /// The enable control of all coprocessor-group counter sets.
    pub enable: bool,
    /// The activation control of all coprocessor-group counter sets.
    pub activation: bool,
    /// The coprocessor-group-address-change indicator.
    pub address_change: bool,
}
