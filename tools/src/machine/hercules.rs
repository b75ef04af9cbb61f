//! Hercules: another emulator below the machine.
//!
//! It IPLs a form of the image that it can load, with the loader block and the guest in it. Its console has only
//! lines of text, in which the machine sends its frames. It reads its commands from standard input, as it does for a window
//! of buttons: one of them passes a line on to the machine ([`super::typist`]). It does not end when its CPUs wait for
//! ever: whoever has heard the end of the run ends it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    building::{emulators::HERCULES, forms, install},
    numbers::quantities::Rtc,
    options::{RunOptions, Unserved},
};

/// The most storage that its package can be configured with and that a guest of the machine can use.
pub const MOST_STORAGE: u64 = 2 << 30;

/// The last argument of a Hercules that reads its commands from standard input.
const COMMANDS_FROM_INPUT: &str = "EXTERNALGUI";

/// A Hercules on this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hercules {
    /// Where it is.
    pub path: PathBuf,
}

impl fmt::Display for Hercules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hercules ({})", self.path.display())
    }
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Hercules {
    /// The Hercules of this path, else of the environment, else of the `PATH`.
    pub fn locate(chosen: Option<&Path>) -> Result<Self> {
        let path = match HERCULES.named(chosen) {
            Some(path) if install::is_program(&path) => path,
            Some(path) => bail!(
                "{} is not a program; give --hercules the path of {}, or leave it out",
                path.display(),
                HERCULES.name
            ),
            None => install::in_path(HERCULES.name).context("Hercules is not in the PATH")?,
        };
        // It is started in another directory.
        let path = std::path::absolute(&path)
            .with_context(|| format!("cannot find {}", path.display()))?;
        Ok(Self { path })
    }

    /// How it is started with the form of the image in this directory.
    pub fn launch(&self, directory: &Path) -> Result<Launch> {
        let env = install::in_path("env").context("env is not in the PATH; install coreutils")?;
        Ok(Launch {
            program: env,
            arguments: vec![
                // The names in the form are relative.
                "-C".to_owned(),
                directory.display().to_string(),
                format!("HERCULES_RC={}", forms::HERCULES_SCRIPT),
                self.path.display().to_string(),
                "-d".to_owned(),
                "-f".to_owned(),
                forms::HERCULES_CONFIGURATION.to_owned(),
                COMMANDS_FROM_INPUT.to_owned(),
            ],
        })
    }
}

/// Refuses the options that only QEMU serves.
pub fn check(options: &RunOptions) -> Result<()> {
    let unserved = [
        Unserved::new(
            !options.mode.is_real_time(),
            "no clock that counts instructions",
            "add --real-time",
        ),
        Unserved::new(
            !options.devices.is_empty(),
            "none of QEMU's devices",
            "leave --qemu-arg out",
        ),
        Unserved::new(
            options.rtc != Rtc::Now,
            "only this computer's clock",
            "leave --rtc out",
        ),
        Unserved::new(
            options.qemu.is_some() || options.cpu_model != "max",
            "no QEMU below it",
            "leave --qemu and --cpu-model out",
        ),
        Unserved::new(
            options.execution_log.is_some(),
            "no log of what it executes",
            "leave --below out",
        ),
        Unserved::new(
            options.traces(),
            "no program-event recording",
            "leave --trace and the traces out",
        ),
        Unserved::new(
            options.storage.0 > MOST_STORAGE,
            "no more than 2G of storage",
            "choose less with --storage",
        ),
    ];
    Unserved::refuse(&unserved, |Unserved { what, remedy, .. }| {
        format!("a run below which is Hercules has {what}; {remedy}, or use QEMU")
    })
}

/// What to do when the machine ended too early with these messages.
pub fn remedy(messages: &str) -> &'static str {
    if messages.contains("HHCCF031") || messages.contains("Cannot obtain") {
        "this computer has too little free storage for the run; choose less with --storage"
    } else if messages.contains("Invalid number of CPUs") {
        "this Hercules has been built for fewer CPUs; choose fewer with --cpus, or use QEMU"
    } else {
        "try the same run in QEMU with --real-time; if it works there, this is a defect of the machine in Hercules"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::state::Mode;

    #[test]
    fn too_many_cpus_have_a_remedy() {
        let said = "HHCCF018S Error in millimeter.cnf line 4: Invalid number of CPUs 16";
        assert!(remedy(said).contains("--cpus"), "{}", remedy(said));
    }

    #[test]
    fn what_only_qemu_serves_is_refused_with_a_remedy() {
        let options = RunOptions {
            mode: Mode::RealTime,
            ..RunOptions::default()
        };
        assert!(check(&options).is_ok());
        let refusal = |options: &RunOptions| check(options).unwrap_err().to_string();
        assert!(refusal(&RunOptions::default()).contains("--real-time"));
        let dated = RunOptions {
            rtc: "2026-01-01T00:00:00".parse().unwrap(),
            ..options
        };
        assert!(refusal(&dated).contains("--rtc"));
    }
}
