//! The same kernel on bare QEMU, with the same archive, command line and storage.

use std::{
    fs,
    time::{Duration, Instant},
};

use measure::{
    linux::{
        cache::Cache,
        initramfs::{self, Work},
        packages,
    },
    options::{Rtc, Storage},
    progress::Progress,
    qemu::{Heard, Qemu, Running, Setup},
};
use millimeter::link::state::Mode;
use tempfile::TempDir;
use tests_qemu::ipl;

use crate::guest::{self, Guest};

/// Between the lines of its first process that it began and that it ended.
const BEGIN: &str = "\u{1E}millimeter: command\n";
const END: &str = "\u{1E}millimeter: exit ";

/// What a guest with so many MiB of storage prints.
pub fn output(guest: &Guest, storage: u64, script: &str) -> String {
    let directory = TempDir::new().unwrap();
    let work = Work::new(&[], Some(script.as_bytes().to_vec()), false);
    let initrd = directory.path().join("initrd");
    fs::write(
        &initrd,
        initramfs::with_work(guest::initrd(), &work).unwrap(),
    )
    .unwrap();
    let cache = Cache::of_user().unwrap();
    let kernel = packages::kernel(&cache, guest.release, &Progress::Plain).unwrap();
    let setup = Setup {
        mode: Mode::Exact,
        cpus: guest.cpus,
        storage: Storage(storage << 20),
        rtc: ipl::DATE.parse().unwrap_or(Rtc::Now),
        cpu_model: "max",
        kernel: &kernel,
        staging: vec![
            "-initrd".to_owned(),
            initrd.to_str().unwrap().to_owned(),
            "-append".to_owned(),
            format!("console=ttysclp0 rdinit={}", initramfs::INIT),
        ],
        log: None,
    };
    let qemu = Qemu::locate(None).unwrap();
    let console = console(Running::start(&qemu.path, &setup.arguments()).unwrap());
    let (_, rest) = console
        .split_once(BEGIN)
        .unwrap_or_else(|| panic!("it did not boot:\n{console}"));
    let (output, _) = rest
        .split_once(END)
        .unwrap_or_else(|| panic!("it did not come to its end:\n{console}"));
    output.to_owned()
}

fn console(mut machine: Running) -> String {
    let mut console = Vec::new();
    let began = Instant::now();
    loop {
        match machine.hear(Duration::from_millis(100)) {
            Heard::Bytes(bytes) => console.extend(bytes),
            Heard::Silence if began.elapsed() < ipl::LIMIT => {}
            _ => break,
        }
    }
    machine.kill();
    let _ = machine.finish(Duration::from_secs(5));
    String::from_utf8_lossy(&console).into_owned()
}
