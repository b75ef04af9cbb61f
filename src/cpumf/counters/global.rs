//! The global counter-set-state control register, and what every CPU sees alike.
//!
//! The coprocessor-group counter sets belong to the model, not to a CPU: one enable control, one
//! activation control and one address-change indicator for all. A CPU sees them only when its own
//! authorization control for them is one. No coprocessor group is installed in this machine, so the
//! controls stay zeros; QUERY COUNTER INFORMATION shows them all the same.

/// What QUERY COUNTER INFORMATION shows that is not local to the CPU.
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
