//! The same Linux on bare QEMU, to compare the machine with.

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use crate::{
    building::forms::Form,
    computer::{interrupt, progress::Progress, temporary::Temporary},
    linux::{self, LinuxOptions},
    machine::{
        qemu::{Heard, Running, Setup},
        run,
    },
    symbols::signed::Signed,
};

/// How often a silent run is checked for its end.
const TICK: Duration = Duration::from_millis(20);

/// Boots Linux with these options and runs the command, with the clock and the devices of the options. `out` gets the
/// console. The run must end within the limit. Returns when QEMU began.
pub fn run(
    options: &LinuxOptions,
    limit: Duration,
    progress: &Progress,
    out: &mut dyn Write,
) -> Result<Instant> {
    let qemu = run::ready(&options.run, progress)?;
    let prepared = linux::prepare(options, progress)?;
    let directory = Temporary::new()?;
    let initrd = directory.path().join("initrd");
    fs::write(&initrd, prepared.initrd()?.bytes)?;
    let arguments = [
        "-initrd",
        &initrd.to_string_lossy(),
        "-append",
        &prepared.command_line,
    ];
    let setup = Setup {
        mode: options.run.mode,
        cpus: options.run.cpus.unwrap_or(1),
        storage: options.run.storage,
        rtc: options.run.rtc,
        cpu_model: &options.run.cpu_model,
        form: Form::Elf,
        file: &prepared.kernel,
        staging: arguments.map(str::to_owned).into(),
        devices: options.run.devices.arguments(),
        version: qemu.version,
        sandbox: qemu.has_sandbox,
        log: options.run.execution_log.as_ref(),
        kept: None,
    };
    let mut signed = prepared.nonce.as_ref().map(Signed::new);
    let began = Instant::now();
    let mut machine = Running::start(&qemu.path, &setup.arguments())?;
    loop {
        match machine.hear(TICK) {
            Heard::Bytes(bytes) => match &mut signed {
                Some(signed) => out.write_all(&signed.pass(&bytes))?,
                None => out.write_all(&bytes)?,
            },
            Heard::Silence => {}
            Heard::End => return Ok(began),
        }
        if began.elapsed() > limit || interrupt::requested() {
            machine.kill();
            let seconds = began.elapsed().as_secs();
            bail!("Linux on bare QEMU was ended after {seconds} s, before the end of its command");
        }
    }
}
