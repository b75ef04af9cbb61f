//! `-` as the file of an option: what it is written to is standard output, with nothing else.

mod program;

use std::{fs, path::Path, process::Command};

use program::program;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A run that took no samples.
fn run() -> TempDir {
    let directory = TempDir::new().unwrap();
    let record = json!({
        "version": "0", "guest": "g", "guest_file": "/g", "mode": "exact", "cpus": 1, "storage": 536_870_912,
        "interval": 1000, "rtc": "now", "qemu": "", "arguments": [], "started": null, "totals": [],
        "end": {"how": "guest", "cpu": 0, "reason": 0, "psw_mask": 0, "psw_address": 0},
        "link": {"frames": 0, "bad_frames": 0, "bad_payloads": 0, "blocks_missing": 0, "frames_sent": null},
    });
    fs::write(directory.path().join("run.json"), record.to_string()).unwrap();
    directory
}

/// Exit code, standard output and standard error of a command line in this directory.
fn measure(line: &str, directory: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(program())
        .args(line.split(' '))
        .current_dir(directory)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_object_or_the_page_of_an_option_goes_to_standard_output_without_the_table() {
    let run = run();
    for line in [
        "report . --json -",
        "diff . . --json -",
        "report . --html -",
    ] {
        let (_, out, complaint) = measure(line, run.path());
        assert!(!run.path().join("-").exists(), "{line}");
        if line.ends_with("--html -") {
            assert!(out.starts_with("<!DOCTYPE"), "{line}: {out}{complaint}");
        } else {
            let read: Result<Value, _> = serde_json::from_str(&out);
            assert!(read.is_ok(), "{line}: {out}{complaint}");
        }
    }
}

#[test]
fn standard_output_is_refused_for_an_object_where_it_has_something_else() {
    let directory = TempDir::new().unwrap();
    for line in [
        "linux --json - -- ls",
        "console hash --json -",
        "trace hash --json -",
        "exec --json - p",
        "exec --bare --json - p",
    ] {
        let (code, out, complaint) = measure(line, directory.path());
        assert_eq!((code, &out[..]), (Some(2), ""), "{line}: {complaint}");
        assert!(
            complaint.contains("choose a file with --json"),
            "{line}: {complaint}"
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{line}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_a_run_begins() {
    let directory = TempDir::new().unwrap();
    for (line, option) in [
        ("run hash --json none/f", "--json"),
        ("console hash --json none/f", "--json"),
        ("linux --json none/f -- ls", "--json"),
        ("trace hash --json none/f", "--json"),
        ("exec --json none/f p", "--json"),
        ("exec --bare --json none/f p", "--json"),
        ("top run hash --json none/f", "--json"),
        ("conformance --json none/f", "--json"),
        ("check b --update --junit none/f run hash", "--junit"),
        ("check b --update --markdown none/f run hash", "--markdown"),
        ("check none/f --update run hash", "--update"),
        ("report . --html none/f", "--html"),
    ] {
        let (code, _, complaint) = measure(line, directory.path());
        assert_eq!(code, Some(2), "{line}: {complaint}");
        for word in ["cannot write none/f", option] {
            assert!(complaint.contains(word), "{line}: {word}: {complaint}");
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{line}");
    }
}
