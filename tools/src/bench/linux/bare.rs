//! The same Linux on bare QEMU.

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use millimeter::link::state::Mode;

use super::{Bench, LIMIT, Marks};
use crate::{
    doctor, interrupt,
    linux::{self, LinuxOptions},
    qemu::{Heard, Qemu, Running, Setup},
};

/// How long silence lasts before it is looked whether the run goes on.
const TICK: Duration = Duration::from_millis(20);

/// Boots and runs it; when QEMU began.
pub fn run(bench: &Bench<'_>, options: &LinuxOptions, marks: &mut Marks) -> Result<Instant> {
    let progress = bench.progress;
    doctor::provide(options.run.qemu.as_deref(), progress)?;
    let qemu = Qemu::locate(options.run.qemu.as_deref())?;
    let prepared = linux::prepare(options, progress)?;
    let initrd = tempfile::NamedTempFile::new()?;
    fs::write(initrd.path(), &prepared.initrd)?;
    let arguments = [
        "-initrd",
        &initrd.path().to_string_lossy(),
        "-append",
        &prepared.command_line,
    ];
    let setup = Setup {
        mode: Mode::Exact,
        cpus: 1,
        storage: options.run.storage,
        rtc: options.run.rtc,
        cpu_model: &options.run.cpu_model,
        kernel: &prepared.kernel,
        staging: arguments.map(str::to_owned).into(),
        devices: Vec::new(),
        log: None,
    };
    let began = Instant::now();
    let mut machine = Running::start(&qemu.path, &setup.arguments())?;
    loop {
        match machine.hear(TICK) {
            Heard::Bytes(bytes) => marks.write_all(&bytes)?,
            Heard::Silence => {}
            Heard::End => break,
        }
        if began.elapsed() > LIMIT || interrupt::wished() {
            machine.kill();
            bail!(
                "Linux on bare QEMU did not come to its end:\n{}",
                marks.text()
            );
        }
    }
    Ok(began)
}
