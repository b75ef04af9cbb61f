//! Input files that may have no end: the commands name them and do not wait.

mod program;

use std::{path::Path, process::Command};

use program::program;

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Standard error of a command line that fails before anything is built.
fn refused(line: &str, directory: &Path) -> String {
    let output = Command::new(program())
        .args(line.split(' '))
        .current_dir(directory)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_fifo_without_a_writer_is_named_and_not_awaited() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("ff");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for line in ["check ff run hash", "dump ff"] {
        let complaint = refused(line, directory.path());
        for word in ["ff", "not a"] {
            assert!(complaint.contains(word), "{line}: {word}: {complaint}");
        }
    }
}

#[test]
fn a_command_to_pack_that_is_not_there_is_named_before_anything_is_built() {
    let directory = tempfile::tempdir().unwrap();
    let complaint = refused("package --out o --command none", directory.path());
    assert!(
        complaint.contains("cannot read the command none"),
        "{complaint}"
    );
    assert!(!directory.path().join("o").exists());
}

#[test]
fn a_directory_into_which_nothing_can_be_written_is_named_before_anything_is_built() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    for line in [
        "image --out file",
        "image hash --out /proc",
        "package --out file/in",
    ] {
        let complaint = refused(line, directory.path());
        for word in ["cannot write into", "choose another directory with --out"] {
            assert!(complaint.contains(word), "{line}: {word}: {complaint}");
        }
        assert!(!complaint.contains("building"), "{line}: {complaint}");
    }
}
