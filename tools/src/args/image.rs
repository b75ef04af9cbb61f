//! The command line of `image`.

use std::path::PathBuf;

use clap::Args;
use link::state::Mode;

use super::cpus;
use crate::{
    building::forms::Form,
    numbers::quantities::{Sampling, Storage},
    options::RunOptions,
};

/// What is written, and where.
#[derive(Clone, Debug, Args)]
pub struct ImageArguments {
    /// The guest that the started machine measures: a bundled one, an ELF file, or a flat image with an IPL PSW at 0
    /// [default: none, and the machine asks the operator]
    pub guest: Option<String>,
    /// The form
    #[arg(long, value_enum, default_value = "elf")]
    pub form: Form,
    /// Where to write it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// CPUs of the guest, 1 to 16 [default: as many as it needs]
    #[arg(long, value_name = "N", requires = "guest", value_parser = cpus())]
    pub cpus: Option<u32>,
    /// Storage of the machine that will be started
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub storage: Storage,
    /// Cycles from one sample to the next, 1000 to 4294967296, or off
    #[arg(
        long,
        value_name = "CYCLES",
        requires = "guest",
        default_value = "1000000"
    )]
    pub interval: Sampling,
    /// Take cycles and instructions of the guest from the CPU-measurement counter facility of the machine that will be
    /// started, which must have it
    #[arg(long, requires = "guest")]
    pub native: bool,
    /// What the operator says before the guest starts; may be given several times
    #[arg(long, value_name = "COMMAND", requires = "guest")]
    pub operator: Vec<String>,
}

impl ImageArguments {
    /// The options of the run in the started machine: what this computer is asked for is nothing.
    pub fn options(&self, guest: &str) -> RunOptions {
        RunOptions {
            cpus: self.cpus,
            storage: self.storage,
            sampling: self.interval,
            operator: self.operator.clone(),
            // Without a clock that counts instructions the machine would look for one in vain.
            mode: match (self.native, self.form.is_for_qemu()) {
                (true, _) => Mode::Native,
                (false, true) => Mode::Exact,
                (false, false) => Mode::RealTime,
            },
            ..RunOptions::new(guest)
        }
    }
}

/// Examples of `image`.
pub const EXAMPLES: &str = "\
Each form is started by one command, which `image` also prints:
  QEMU='qemu-system-s390x -nodefaults -nographic -serial mon:stdio -cpu max -m 512M'
  QEMU=\"$QEMU -icount shift=0,sleep=off\"           counts instructions; else in real time
  DISK=file=millimeter.disk,if=none,id=ipl,format=raw,readonly=on

  cargo measure image hash --form elf     $QEMU -kernel millimeter.elf
  cargo measure image hash --form bios    $QEMU -bios millimeter.bios
  cargo measure image hash --form scsi    $QEMU -drive $DISK \\
                                            -device virtio-blk-ccw,drive=ipl,bootindex=1
  cargo measure image hash --form ins     HERCULES_RC=millimeter.rc hercules -f millimeter.cnf
  cargo measure image hash --form card    the same
  cargo measure image hash --form dasd    the same

A report of the same run:
  cargo measure run hash --ipl scsi
  cargo measure run hash --below hercules --ipl card";
