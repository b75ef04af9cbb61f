//! The emulator below the machine.

use clap::ValueEnum;

/// An emulator that the machine runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Emulator {
    /// QEMU: exact runs, devices, Linux
    #[default]
    Qemu,
    /// Hercules: runs in real time, without devices
    Hercules,
}
