//! What Hercules reads beside a form: its configuration, and a script that IPLs.

use super::{Carried, File};

/// The configuration.
pub const CONFIGURATION: &str = "millimeter.cnf";

/// The script.
pub const SCRIPT: &str = "millimeter.rc";

/// The two files: `device` is a line for the device that is IPLed, and `operand` what the command IPL names. Hercules
/// demands at least one device: a printer whose paper nobody reads.
pub fn files(carried: &Carried, device: &str, operand: &str) -> Vec<File> {
    let (megabytes, cpus) = (carried.storage >> 20, carried.cpus);
    let configuration = format!(
        "CPUSERIAL 000611\nCPUMODEL 2094\nMAINSIZE {megabytes}\nNUMCPU {cpus}\nARCHMODE z/Arch\nTZOFFSET +0000\n\
         TIMERINT 50\nLOGOPT NOTIMESTAMP\nOSTAILOR QUIET\n000E 1403 /dev/null\n{device}"
    );
    vec![
        File {
            name: CONFIGURATION,
            bytes: configuration.into_bytes(),
        },
        File {
            name: SCRIPT,
            bytes: format!("ipl {operand}\n").into_bytes(),
        },
    ]
}
