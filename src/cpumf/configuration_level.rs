//! Configuration levels: basic machine, logical partition, virtual machine.

/// A configuration level; its value is the code in the CL field of a basic-sampling data entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ConfigurationLevel {
    /// The basic machine level. Code 0: no configuration level specified.
    BasicMachine = 0,
    /// The logical-partition level.
    LogicalPartition = 1,
    /// The virtual-machine level.
    VirtualMachine = 2,
}
