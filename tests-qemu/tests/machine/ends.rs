//! How a run ends, as a script sees it: what the guest's end, its exit code and its console say, and the guest's own
//! arguments.

use std::{fs, path::Path};

use measure::{
    computer::progress::Progress,
    folder::record::RunRecord,
    machine::run::{NativeOptions, run_native},
};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, Finished},
    ipl,
    suite::test,
};

/// Runs the command with a guest and these options, and keeps what it leaves in a directory.
fn run(guest: &str, options: &[&str], directory: &Path) -> Finished {
    let out = directory.display().to_string();
    let line = [&["run", guest, "--no-sampling", "--out", &out], options].concat();
    command::finish(command::measure(&line).unwrap()).unwrap()
}

#[test]
fn a_guest_ends_with_the_exit_code_that_it_names_also_when_it_is_reported_again() {
    let directory = TempDir::new().unwrap();
    run("b_exit_code", &[], directory.path()).assert_fails(42, &["with the exit code 42"]);
    let record = RunRecord::read(directory.path()).unwrap();
    assert_eq!(record.end.exit_code(), 42);
    let path = directory.path().display().to_string();
    let again = command::finish(command::measure(&["report", &path]).unwrap()).unwrap();
    assert_eq!(again.code, Some(42), "{again:?}");
}

#[test]
fn a_guest_as_the_program_of_a_runner_has_its_console_its_exit_code_and_its_instructions() {
    let directory = TempDir::new().unwrap();
    let perform = |line: &[&str]| {
        let mut command = command::measure(&[&["exec", "--bare"], line].concat()).unwrap();
        command.current_dir(directory.path());
        command::finish(command).unwrap()
    };
    let first = perform(&["--json", "counts", "b_exit_code"]);
    first.assert_fails(
        42,
        &["with the exit code 42", "instructions in problem state"],
    );
    assert_eq!(perform(&["--json", "counts", "b_exit_code"]), first);
    let lines = fs::read_to_string(directory.path().join("counts")).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], lines[1]);
    assert!(lines[0].contains("\"exit_code\":42"), "{}", lines[0]);
    // Standard output is the guest's alone.
    let quiet = perform(&["-q", "b_stfl"]);
    assert_eq!(
        (quiet.code, quiet.error.as_str()),
        (Some(0), ""),
        "{quiet:?}"
    );
    assert!(quiet.output.contains("facility bits"), "{quiet:?}");
    let found = fs::read_dir(directory.path()).unwrap();
    assert_eq!(found.count(), 1, "the raw files are not kept");
}

#[test]
fn a_guest_that_says_on_its_console_that_it_failed_has_failed_however_it_ended() {
    let directory = TempDir::new().unwrap();
    let guest = "b_stfl";
    let passed = run(
        guest,
        &["--expect", "STFL", "--fail-on", "^FAIL"],
        directory.path(),
    );
    assert_eq!(passed.code, Some(0), "{passed:?}");
    for (options, words) in [
        (
            ["--expect", "SUMMARY"],
            ["does not have the text", "SUMMARY"],
        ),
        (
            ["--fail-on", "^facility bits.*= [0-9a-f]+$"],
            ["matches --fail-on", "line 1 "],
        ),
    ] {
        let failed = run(guest, &options, directory.path());
        failed.assert_fails(3, &words);
        let record = RunRecord::read(directory.path()).unwrap();
        assert_eq!(record.end.exit_code(), 3, "the record says so, too");
    }
    // Exit codes of the guest and of the tool stay what they are.
    run("b_exit_code", &["--expect", "SUMMARY"], directory.path()).assert_fails(42, &[]);
    run(guest, &["--fail-on", "("], directory.path()).assert_fails(2, &["unclosed group"]);
}

/// A program that succeeds if the eight bytes at 10480 are these, and fails otherwise.
fn program_that_wants(arguments: &[u8; 8]) -> Vec<u8> {
    let mut image = vec![0; 0x1_1000];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &0x0008_0000_8001_0000_u64.to_be_bytes());
    let text: [&[u8]; 7] = [
        b"\xC0\x10\x00\x00\x02\x40", // larl %r1,10480
        b"\xC0\x20\x00\x00\x00\x7D", // larl %r2,10100
        b"\xD5\x07\x10\x00\x20\x00", // clc 0(8,%r1),0(%r2)
        b"\xC0\x30\x00\x00\x00\xF7", // larl %r3,10200
        b"\xA7\x74\x00\x04",         // jne 10020
        b"\xB2\xB2\x30\x00",         // lpswe 0(%r3)
        b"\xB2\xB2\x30\x10",         // lpswe 16(%r3)
    ];
    put(0x1_0000, &text.concat());
    put(0x1_0100, arguments);
    for (at, address) in [(0x1_0200, 0xFFF_u64), (0x1_0210, 0xBAD)] {
        put(at, &0x0002_0001_8000_0000_u64.to_be_bytes());
        put(at + 8, &address.to_be_bytes());
    }
    image
}

#[test]
fn a_guest_finds_its_arguments_where_bare_qemu_puts_them() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("program.img");
    fs::write(&file, program_that_wants(b"-q a=1\0\0")).unwrap();
    let (guest, out) = (file.display().to_string(), directory.path().join("run"));
    for (arguments, code) in [(&["-q", "a=1"][..], 0), (&["-q", "a=2"], 1)] {
        let options = NativeOptions {
            arguments: arguments.join(" "),
            limit: ipl::LIMIT,
            ..NativeOptions::new(&guest[..])
        };
        let native = run_native(&options, &Progress::Silent).unwrap();
        assert_eq!(native.exit_code, Some(code), "{}", native.complaints);
        let above = run(&guest, &[&["--"], arguments].concat(), &out);
        assert_eq!(above.code, Some(3 * code), "{above:?}");
    }
    let bundled = run("b_stfl", &["--", "a"], &out);
    bundled.assert_fails(2, &["has no place for arguments"]);
}
