//! What a person gets wrong, and what goes wrong: a clear message with the remedy, exit code 2, no
//! QEMU left behind, and everything collected so far.

use std::{
    fs,
    io::Read,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tests_qemu::command::{self, Said};

fn said(arguments: &[&str]) -> Said {
    command::said(command::measure(arguments).unwrap()).unwrap()
}

/// The command must refuse these arguments and say these words.
fn refuses(arguments: &[&str], words: &[&str]) {
    let directory = TempDir::new().unwrap();
    let mut command = command::measure(arguments).unwrap();
    command.current_dir(directory.path());
    let said = command::said(command).unwrap();
    assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
    for word in words {
        assert!(
            said.error.contains(word),
            "{arguments:?} does not say {word}:\n{}",
            said.error
        );
    }
}

#[test]
fn too_little_storage_is_refused_with_the_least_that_serves() {
    refuses(&["run", "hash", "--storage", "16M"], &["too little", "64M"]);
    refuses(&["run", "hash", "--storage", "512"], &["no unit", "512M"]);
}

#[test]
fn an_interval_out_of_range_is_refused_with_the_range() {
    for bad in ["999", "4294967297", "often"] {
        refuses(&["run", "hash", "--interval", bad], &["1000", "4294967296"]);
    }
    refuses(&["run", "hash", "--freq", "0"], &["out of range"]);
}

#[test]
fn a_number_of_cpus_out_of_range_is_refused() {
    refuses(&["run", "hash", "--cpus", "5"], &["5"]);
    refuses(&["run", "hash", "--cpus", "0"], &["0"]);
}

#[test]
fn a_guest_that_needs_more_cpus_is_refused_with_the_number() {
    refuses(
        &["run", "b_sigp", "--cpus", "1"],
        &["b_sigp needs 2 CPUs", "--cpus 2"],
    );
}

#[test]
fn a_guest_that_does_not_exist_is_refused_with_the_names_of_those_that_do() {
    refuses(
        &["run", "no-such-guest"],
        &["no-such-guest", "neither a file nor bundled", "workload"],
    );
}

#[test]
fn a_malformed_guest_is_refused_with_what_is_wrong_with_it() {
    let directory = TempDir::new().unwrap();
    let guest = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    };
    refuses(&["run", &guest("empty", b"")], &["too short"]);
    refuses(&["run", &guest("text", b"hello, machine\n")], &["IPL PSW"]);
    refuses(
        &["run", &guest("cut", b"\x7FELF\x02\x02\x01")],
        &["ELF", "build it again"],
    );
    refuses(
        &["run", &guest("pc", b"\x7FELF\x02\x01\x01")],
        &["big-endian", "s390x"],
    );
}

#[test]
fn a_missing_qemu_is_named_with_the_way_to_get_one() {
    refuses(
        &["run", "hash", "--qemu", "/no/such/qemu"],
        &["/no/such/qemu", "--qemu"],
    );
    refuses(
        &["run", "hash", "--qemu", "/bin/true"],
        &["does not say that it is QEMU"],
    );
}

#[test]
fn an_unsupported_cpu_model_is_refused_with_the_remedy() {
    refuses(&["run", "hash", "--cpu-model", "z99"], &["--cpu-model"]);
}

#[test]
fn a_directory_without_a_run_cannot_be_reported() {
    let directory = TempDir::new().unwrap();
    refuses(
        &["report", &directory.path().to_string_lossy()],
        &["holds no run"],
    );
}

#[test]
fn a_directory_with_other_files_is_not_written_to() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("letter.txt"), "mine").unwrap();
    refuses(
        &["run", "hash", "--out", &directory.path().to_string_lossy()],
        &["--out"],
    );
}

#[test]
fn a_disk_that_is_full_for_the_report_is_named() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    refuses(
        &["run", "b_svc", "--out", &out, "--json", "/dev/full"],
        &["/dev/full", "--json"],
    );
}

#[test]
fn a_guest_that_fails_gives_exit_code_3_and_its_psw() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    let first = said(&["run", "b_end_failure", "--out", &out]);
    assert_eq!(first.code, Some(3), "{first:?}");
    assert!(first.output.contains("0000000000123456"), "{first:?}");
    let again = said(&["report", &out]);
    assert_eq!((again.code, &again.output), (Some(3), &first.output));
}

/// A process with this text in its command line.
fn is_running(text: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let mut line = Vec::new();
        fs::File::open(entry.path().join("cmdline"))
            .and_then(|mut file| file.read_to_end(&mut line))
            .is_ok()
            && entry
                .file_name()
                .to_string_lossy()
                .parse::<u32>()
                .is_ok_and(|id| id != std::process::id())
            && String::from_utf8_lossy(&line).contains(text)
    })
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn has_samples(directory: &Path) -> bool {
    fs::metadata(directory.join("sdb-cpu0.bin")).is_ok_and(|file| file.len() >= 8192)
}

/// Waits for the first samples of a run into `directory`; gives its QEMU's last argument, by which it is
/// known among the processes.
fn staged_once_samples_arrive(directory: &Path) -> String {
    wait_for("no samples arrive", || has_samples(directory));
    let record = fs::read_to_string(directory.join("run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let arguments = record["arguments"].as_array().unwrap();
    arguments.last().unwrap().as_str().unwrap().to_owned()
}

#[test]
fn ctrl_c_ends_qemu_and_keeps_what_was_collected() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    let child = command::measure(&["run", "workload", "--interval", "10000", "--out", &out])
        .unwrap()
        .spawn()
        .unwrap();
    let staged = staged_once_samples_arrive(directory.path());
    assert!(is_running(&staged), "QEMU is not there while it runs");
    // The shell's own: a minimal Debian has no program of that name.
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("interrupted"), "{error}");
    wait_for("QEMU stays behind", || !is_running(&staged));
    let report = said(&["report", &out]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(report.output.contains("guests::workload"), "{report:?}");
}

#[test]
fn a_tool_that_is_killed_outright_leaves_no_qemu_and_a_readable_directory() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    let mut child = command::measure(&["run", "workload", "--interval", "10000", "--out", &out])
        .unwrap()
        .spawn()
        .unwrap();
    let staged = staged_once_samples_arrive(directory.path());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("QEMU stays behind", || !is_running(&staged));
    let report = said(&["report", &out]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(report.output.contains("guests::workload"), "{report:?}");
}
