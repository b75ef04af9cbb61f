//! Hercules: another emulator below the machine.
//!
//! It IPLs a list of files: the image, the loader block and the guest, each with its address. Its console has only
//! lines of text, in which the machine sends its frames. It reads no commands here, so nothing can be said to a machine
//! in it, and it does not end when its CPUs wait for ever: whoever has heard the end of the run ends it.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use link::state::Mode;

use crate::{
    building::{
        image::{self, Form},
        install,
    },
    computer::progress::Progress,
    machine::{doctor, stage::Staging},
    numbers::quantities::Rtc,
    options::RunOptions,
};

/// The most storage that its package can be configured with and that a guest of the machine can use.
const MOST_STORAGE: u64 = 2 << 30;

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
    /// The Hercules of the `PATH`; installs it, and what builds the image, if that is possible.
    pub fn provide(progress: &Progress) -> Result<Self> {
        install::provide(doctor::lacks_in_hercules, progress)?;
        let path = install::in_path(doctor::HERCULES).context("Hercules is not in the PATH")?;
        Ok(Self { path })
    }

    /// Writes what it reads beside what is staged; returns how it is started.
    pub fn launch(
        &self,
        options: &RunOptions,
        cpus: u32,
        image: &Path,
        staging: &Staging,
    ) -> Result<Launch> {
        let directory = staging.directory();
        let list = image::write(Form::Ins, image, directory)?;
        let mut text =
            fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        for (address, path) in staging.files() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            text.push_str(&format!("{name} 0x{address:08x}\n"));
        }
        let put = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            Ok::<_, anyhow::Error>(path)
        };
        let list = put("guest.ins", &text)?;
        let megabytes = options.storage.0 >> 20;
        let configuration = put("hercules.cnf", &configuration(megabytes, cpus))?;
        let script = put("hercules.rc", &format!("ipl {}\n", list.display()))?;
        let env = install::in_path("env").context("env is not in the PATH; install coreutils")?;
        Ok(Launch {
            program: env,
            arguments: vec![
                // The names in the list are relative.
                "-C".to_owned(),
                directory.display().to_string(),
                format!("HERCULES_RC={}", script.display()),
                self.path.display().to_string(),
                "-d".to_owned(),
                "-f".to_owned(),
                configuration.display().to_string(),
            ],
        })
    }
}

/// The configuration file. Hercules demands at least one device: a printer whose paper nobody reads.
fn configuration(megabytes: u64, cpus: u32) -> String {
    format!(
        "CPUSERIAL 000611\nCPUMODEL 2094\nMAINSIZE {megabytes}\nNUMCPU {cpus}\nARCHMODE z/Arch\nTZOFFSET +0000\n\
         TIMERINT 50\nLOGOPT NOTIMESTAMP\nOSTAILOR QUIET\n000E 1403 /dev/null\n"
    )
}

/// Refuses the options that only QEMU serves.
pub fn check(options: &RunOptions) -> Result<()> {
    let unserved = [
        (
            options.mode != Mode::RealTime,
            "no clock that counts instructions",
            "add --real-time",
        ),
        (
            !options.devices.is_empty(),
            "none of QEMU's devices",
            "leave --qemu-arg out",
        ),
        (
            !options.script.is_empty(),
            "no input for its console",
            "give the operator's commands with --operator",
        ),
        (
            options.rtc != Rtc::Now,
            "only this computer's clock",
            "leave --rtc out",
        ),
        (
            options.qemu.is_some() || options.cpu_model != "max",
            "no QEMU below it",
            "leave --qemu and --cpu-model out",
        ),
        (
            options.execution_log.is_some(),
            "no log of what it executes",
            "leave --below out",
        ),
        (
            options.traces() || options.events.recorded,
            "no program-event recording",
            "leave --per, --trace and the traces out",
        ),
        (
            options.storage.0 > MOST_STORAGE,
            "no more than 2G of storage",
            "choose less with --storage",
        ),
    ];
    for (is_asked, lack, remedy) in unserved {
        if is_asked {
            bail!("a run below which is Hercules has {lack}; {remedy}, or use QEMU");
        }
    }
    Ok(())
}

/// What to do when the machine ended too early with these messages.
pub fn remedy(messages: &str) -> &'static str {
    if messages.contains("HHCCF031") || messages.contains("Cannot obtain") {
        "this computer has too little free storage for the run; choose less with --storage"
    } else {
        "try the same run in QEMU with --real-time; if it works there, this is a defect of the machine in Hercules"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
