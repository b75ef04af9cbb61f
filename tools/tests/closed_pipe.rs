//! Commands whose reader has gone away, as `head` does.

mod program;

use std::{fs, io, path::Path, process::Command};

use program::program;

use serde_json::json;
use tempfile::TempDir;
use zerocopy::{FromZeros, IntoBytes};

use cpumf::sampling::block::{BASIC_FORMAT, SampleDataBlock};

/// A run whose guest failed, and that has more samples than a pipe takes.
fn run() -> TempDir {
    let directory = TempDir::new().unwrap();
    let record = json!({
        "version": "0", "guest": "g", "guest_file": "/g", "mode": "exact", "cpus": 1, "storage": 536_870_912,
        "interval": 1000, "rtc": "now", "qemu": "", "arguments": [], "started": null, "totals": [],
        "end": {"how": "guest", "cpu": 0, "reason": 1, "psw_mask": 1_u64 << 49, "psw_address": 0xBAD},
        "link": {"frames": 0, "bad_frames": 0, "bad_payloads": 0, "blocks_missing": 0, "frames_sent": null},
    });
    fs::write(directory.path().join("run.json"), record.to_string()).unwrap();
    let mut block = SampleDataBlock::new_zeroed();
    for entry in &mut block.entries {
        entry.head = (u64::from(BASIC_FORMAT) << 48).into();
    }
    block.trailer.bsdes = 32.into();
    let blocks = block.as_bytes().repeat(100);
    fs::write(directory.path().join("sdb-cpu0.bin"), blocks).unwrap();
    directory
}

/// Standard error and exit code.
fn measure(arguments: &[&str], directory: &Path) -> (String, Option<i32>) {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let output = Command::new(program())
        .args(arguments)
        .current_dir(directory)
        .stdout(writer)
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    (complaint, output.status.code())
}

#[test]
fn a_reader_that_has_gone_away_changes_neither_the_exit_code_nor_what_is_written() {
    let run = run();
    for (line, code) in [
        ("report .", 3),
        ("report . --json report.json", 3),
        ("top . --once", 3),
        ("diff . .", 0),
        ("counters", 0),
        ("completions bash", 0),
        ("man", 0),
        ("dump sdb-cpu0.bin", 0),
        ("export . --to csv --out -", 0),
        ("export . --to folded --out -", 0),
        ("export . --to pprof --out -", 0),
        ("export . --to firefox --out -", 0),
        ("export . --to speedscope --out -", 0),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (complaint, found) = measure(&words, run.path());
        assert!(!complaint.contains("error"), "{line}: {complaint}");
        assert_eq!(found, Some(code), "{line}: {complaint}");
    }
    assert!(run.path().join("report.json").exists());
}
