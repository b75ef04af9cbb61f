//! The same kernel on bare QEMU, with the same archive, command line and storage.

use std::fs;

use measure::{
    computer::progress::Progress,
    linux::{LinuxOptions, native, screen::Screen},
    numbers::quantities::Storage,
    options::{RunOptions, execution_log::ExecutionLog},
};
use tempfile::TempDir;
use tests_qemu::{ipl, suite};

use crate::guest::{self, Guest};

/// Storage of the guest in MiB: about as much as above the machine.
pub const STORAGE: u64 = 491;

/// The output of a guest with this many MiB of storage.
pub fn output(guest: &Guest, storage: u64, script: &str) -> String {
    output_with(guest, storage, script, &guest::initrd(), None)
}

/// Like [`output`], with an archive of its own and perhaps with a log.
pub fn output_with(
    guest: &Guest,
    storage: u64,
    script: &str,
    initrd: &[u8],
    log: Option<ExecutionLog>,
) -> String {
    let directory = TempDir::new().unwrap();
    let file = |name: &str, data: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, data).unwrap();
        Some(path)
    };
    let options = LinuxOptions {
        release: guest.release,
        initrd: file("initrd", initrd),
        script: file("questions", script.as_bytes()),
        append: Some(guest::NO_CIPHER_TESTS.to_owned()),
        run: RunOptions {
            cpus: Some(guest.cpus),
            storage: Storage(storage << 20),
            rtc: ipl::DATE.parse().unwrap(),
            execution_log: log,
            ..RunOptions::new("linux")
        },
        ..LinuxOptions::default()
    };
    let mut console = Vec::new();
    let mut screen = Screen::new(&mut console, false);
    let ended = suite::step("bare-boot", || {
        native::run(&options, ipl::LIMIT, &Progress::Plain, &mut screen)
    });
    let code = screen.code();
    let output = String::from_utf8_lossy(&console).into_owned();
    assert!(ended.is_ok() && code.is_some(), "{ended:?}:\n{output}");
    output
}
