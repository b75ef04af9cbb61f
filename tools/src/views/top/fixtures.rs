//! Folders for tests, as a run writes them while it goes on.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
};

use crate::{
    folder::record::{End, ProgressRecord, RunRecord, StartedRecord},
    report,
};

/// TOD units of a second.
pub const SECOND: u64 = 4_096_000_000;

/// When the runs of these folders began.
pub const START: u64 = 5 * SECOND;

/// Changes the record of a folder.
pub fn change(directory: &Path, change: impl FnOnce(&mut RunRecord)) {
    let mut record = RunRecord::read(directory).unwrap();
    change(&mut record);
    record.write(directory).unwrap();
}

/// What the machine says when it is up.
pub fn started() -> StartedRecord {
    StartedRecord {
        mode: "exact".to_owned(),
        cpus: 2,
        cpu_speed: 1000,
        tod: START,
        guest_storage_end: 1 << 28,
        hsa_end: 1 << 29,
        machine_type: "8561".to_owned(),
        cfvn: 3,
        csvn: 6,
        below: None,
    }
}

/// The folder of a run of two CPUs that has lasted two seconds of guest time and goes on: the machine has not
/// sent its counters yet.
pub fn running() -> tempfile::TempDir {
    let directory = report::tests::directory();
    fs::remove_file(directory.path().join(crate::folder::COUNTERS)).unwrap();
    change(directory.path(), |record| {
        record.end = End::Running;
        record.totals.clear();
        record.started = Some(started());
        record.progress = Some(ProgressRecord {
            instructions: 1_500_000_000,
            tod: START + 2 * SECOND,
        });
    });
    directory
}

/// Appends to a file of a folder.
pub fn append(directory: &Path, name: &str, bytes: &[u8]) {
    let path = directory.join(name);
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.unwrap().write_all(bytes).unwrap();
}
