//! Words of a command line that are no text, or name nothing that can be read.

mod program;

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    process::Command,
    time::{Duration, Instant},
};

use program::program;

/// What stands for the word that is no text.
const WORD: &str = "WORD";

/// Standard error and exit code of a command line.
fn measure(line: &str, word: &OsStr) -> (String, Option<i32>) {
    let words = line.split(' ').map(|given| match given {
        WORD => word.to_owned(),
        other => OsString::from(other),
    });
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(program())
        .args(words)
        .current_dir(directory.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    (complaint, output.status.code())
}

#[test]
fn a_word_that_is_no_text_is_refused_with_a_message() {
    let word = OsStr::from_bytes(b"no\xFFtext");
    for line in [
        "WORD",
        "WORD --nonsense",
        "--nonsense WORD",
        "run WORD",
        "run --cpus WORD",
        "report WORD",
        "report . --by WORD",
        "report WORD --html page.html",
        "export WORD --to csv",
        "diff WORD WORD",
        "dump WORD",
        "top WORD",
        "zoom WORD --from 1s --to 2s",
        "trace --of WORD",
        "check WORD hash",
        "counters --model WORD",
        "completions WORD",
        "exec --bare WORD",
    ] {
        let (complaint, code) = measure(line, word);
        assert_eq!(code, Some(2), "{line}: {complaint}");
        assert!(!complaint.contains("panicked"), "{line}: {complaint}");
        assert!(complaint.contains("error"), "{line}: {complaint}");
        let names_an_option = complaint.contains("unexpected argument");
        assert!(
            names_an_option
                || ["no\u{FFFD}text", "no\\u{fffd}text", "no\\xfftext"]
                    .iter()
                    .any(|name| complaint.contains(name)),
            "{line}: {complaint}"
        );
    }
}

#[test]
fn a_name_with_a_line_break_stays_on_one_line() {
    let word = OsStr::new("no\nsuch");
    for line in [
        "run WORD",
        "report WORD",
        "dump WORD",
        "export WORD --to csv",
        "top WORD",
        "exec WORD",
        "check WORD exec p",
    ] {
        let (complaint, code) = measure(line, word);
        assert_eq!(code, Some(2), "{line}: {complaint}");
        assert!(complaint.contains("no\\u{a}such"), "{line}: {complaint}");
        assert!(!complaint.contains("no\nsuch"), "{line}: {complaint}");
    }
}

#[test]
fn a_guests_name_without_end_is_refused_at_once() {
    let word = "b_".repeat(60_000);
    let began = Instant::now();
    let (complaint, code) = measure("run WORD", OsStr::new(&word));
    assert_eq!(code, Some(2));
    assert!(
        complaint.contains("no guest b_b_") && complaint.len() < 1000,
        "{complaint}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn the_option_that_is_no_longer_needed_is_accepted_with_a_note() {
    for (line, is_noted) in [
        ("run --list --per", true),
        ("--list --per --per-format s370", true),
        ("run --list --per-format s370", false),
    ] {
        let (said, code) = measure(line, OsStr::new(""));
        assert_eq!(code, Some(0), "{line}: {said}");
        let notes = said.matches("--per is no longer needed").count();
        assert_eq!(notes, usize::from(is_noted), "{line}: {said}");
    }
}
