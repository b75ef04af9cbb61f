//! What cannot be booted, and guests that do not reach their end.

use std::fs;

use tempfile::TempDir;
use tests_qemu::{command, ipl, suite::test};

use crate::guest::{boot, run_linux};

#[test]
fn a_panic_of_the_guest_is_reported_with_its_last_words() {
    let directory = TempDir::new().unwrap();
    let finished = boot(
        directory.path(),
        &["--append", "rdinit=/usr/bin/lscpumf", "--", "true"],
    );
    finished.assert_fails(
        3,
        &["disabled wait", "Attempted to kill init", "console.txt"],
    );
    assert_eq!(finished.output, "");
}

#[test]
fn a_guest_that_loops_is_ended_and_what_it_said_and_its_samples_are_kept() {
    let directory = TempDir::new().unwrap();
    let linux = |limit, script| {
        let mut line = vec!["linux", "--rtc", ipl::DATE, "--freq", "1000"];
        line.extend(["--out", "run", "--limit", limit, "--", script]);
        let mut command = command::measure(&line).unwrap();
        command.current_dir(directory.path());
        command::finish(command).unwrap()
    };
    // The system is kept, so that the time is the loop's.
    assert_eq!(linux("600", "true").code, Some(0));
    fs::remove_dir_all(directory.path().join("run")).unwrap();
    let finished = linux("8", "echo begin; while :; do :; done");
    finished.assert_fails(
        2,
        &["lasted too long", "millimeter: command", "console.txt"],
    );
    assert!(
        finished.output.starts_with("begin\n"),
        "{}",
        finished.output
    );
    let kept = |name: &str| fs::read(directory.path().join("run").join(name)).unwrap();
    assert!(String::from_utf8_lossy(&kept("console.txt")).contains("begin"));
    let samples = kept("sdb-cpu0.bin");
    assert!(!samples.is_empty() && samples.len().is_multiple_of(4096));
    let record: serde_json::Value = serde_json::from_slice(&kept("run.json")).unwrap();
    assert_eq!(record["end"]["how"], "time-limit", "{record}");
}

#[test]
fn a_double_fault_of_the_guest_is_reported() {
    let directory = TempDir::new().unwrap();
    // A kernel without an instruction at its entry, and a program new PSW that leads to no instruction.
    let mut kernel = vec![0; 0x2_0000];
    kernel[0x1_0008..0x1_000E].copy_from_slice(b"S390EP");
    kernel[0x1D0..0x1D8].copy_from_slice(&0x1_8000_0000_u64.to_be_bytes());
    kernel[0x1D8..0x1E0].copy_from_slice(&0x1_1000_u64.to_be_bytes());
    fs::write(directory.path().join("kernel"), &kernel).unwrap();
    fs::write(directory.path().join("initrd"), b"070701").unwrap();
    let finished = boot(
        directory.path(),
        &["--kernel", "kernel", "--initrd", "initrd", "--", "true"],
    );
    finished.assert_fails(3, &["program-interruption handler", "0000000000011000"]);
}

#[test]
fn what_cannot_be_booted_is_refused_before_anything_starts() {
    let directory = TempDir::new().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    write("text", b"no kernel\n");
    write("initrd", b"070701");
    let mut kernel = vec![0; 0x2_0000];
    kernel[0x1_0008..0x1_000E].copy_from_slice(b"S390EP");
    write("kernel", &kernel);
    let large = fs::File::create(directory.path().join("large")).unwrap();
    std::os::unix::fs::FileExt::write_at(&large, b"070701", 0).unwrap();
    large.set_len(400 << 20).unwrap();
    let long = "x".repeat(896);
    for (arguments, words) in [
        (
            &["--kernel", "text", "--initrd", "initrd"][..],
            &["text cannot be booted", "not a kernel for s390x"][..],
        ),
        (
            &["--kernel", "absent", "--initrd", "initrd"],
            &["cannot read the kernel absent"],
        ),
        (
            &["--kernel", "kernel", "--initrd", "text"],
            &["text is not an initrd", "cpio"],
        ),
        (
            &["--kernel", "kernel", "--initrd", "large"],
            &["400 MiB is too large for 512M", "--storage"],
        ),
        (
            &[
                "--kernel", "kernel", "--initrd", "initrd", "--append", &long,
            ],
            &["room for 895 bytes"],
        ),
        (&["--script", "absent"], &["cannot read the script absent"]),
    ] {
        run_linux(directory.path(), arguments).assert_fails(2, words);
    }
    // The command made nothing for a run.
    assert!(!directory.path().join("millimeter-linux-1").exists());
}

#[test]
fn a_source_that_cannot_be_reached_is_named_with_what_helps() {
    let directory = TempDir::new().unwrap();
    let mut command = command::measure(&["linux", "--", "true"]).unwrap();
    // A proxy that nobody serves, and an empty cache.
    command
        .current_dir(directory.path())
        .env("XDG_CACHE_HOME", directory.path())
        .env("http_proxy", "http://127.0.0.1:9")
        .env("https_proxy", "http://127.0.0.1:9");
    let finished = command::finish(command).unwrap();
    finished.assert_fails(
        2,
        &[
            "apt-get could not get",
            "What helps",
            "--kernel and --initrd",
        ],
    );
    let left = fs::read_dir(directory.path().join("millimeter/linux")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"]);
}
