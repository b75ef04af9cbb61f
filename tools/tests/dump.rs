//! `measure dump` as a person runs it: its output, its messages, and its exit code.

mod program;

use std::{fs, path::Path, process::Command};

use program::program;

use tempfile::TempDir;

/// Standard output, standard error and exit code.
fn measure(arguments: &[&str], file: &Path) -> (String, String, Option<i32>) {
    let output = Command::new(program())
        .arg("dump")
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code();
    (text(output.stdout), text(output.stderr), code)
}

/// A map of two records, the second with an end that is below its start if `wrong`.
fn map(directory: &TempDir, wrong: bool) -> std::path::PathBuf {
    let end = if wrong { '1' } else { '2' };
    let file = directory.path().join("run.MAP");
    let text = format!("I SYS GUEST\nMN    workload00000000002000000000000000{end}FFFFF\n");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_good_file_is_a_success_in_every_form() {
    let directory = TempDir::new().unwrap();
    let file = map(&directory, false);
    let (text, complaint, code) = measure(&[], &file);
    assert_eq!((&complaint[..], code), ("", Some(0)));
    assert!(
        text.contains("MapStartAddress          0000000000200000\n"),
        "{text}"
    );
    let (text, _, code) = measure(&["--json"], &file);
    assert_eq!((text.lines().count(), code), (2, Some(0)));
    let (text, _, code) = measure(&["--csv"], &file);
    assert!(
        text.starts_with("record,kind,section,offset,name,value,meaning\n"),
        "{text}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn a_file_that_is_wrong_is_exit_code_2_with_offset_and_field() {
    let directory = TempDir::new().unwrap();
    let (text, complaint, code) = measure(&[], &map(&directory, true));
    assert_eq!(code, Some(2));
    assert!(text.contains("MapName                  GUEST\n"), "{text}");
    let expected = "run.MAP: offset 42 (2A hexadecimal), field MapEndAddress: must be not below MapStartAddress";
    assert!(complaint.contains(expected), "{complaint}");
    let (_, complaint, code) = measure(&[], &directory.path().join("missing"));
    assert_eq!(code, Some(2));
    assert!(complaint.contains("cannot open "), "{complaint}");
}

#[test]
fn neither_a_file_nor_its_name_commands_the_terminal() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("\x1B]0;run\x07.MAP");
    let text = "I SYS G\x1B[2J\nMN    workload0000000000200000000000000011FFFFF\n";
    fs::write(&file, text).unwrap();
    for form in [&[][..], &["--csv"], &["--json"]] {
        let (text, complaint, code) = measure(form, &file);
        assert_eq!(code, Some(2), "{complaint}");
        for shown in [text, complaint] {
            let control = shown.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(control, None, "{shown:?}");
            assert!(!shown.is_empty());
        }
    }
}
