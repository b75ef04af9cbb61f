//! A run compared with a baseline: the function that became slower is named, and nothing else is.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use measure::{building::build, computer::progress::Progress};
use tempfile::TempDir;
use tests_qemu::command::{self, Finished};
use tests_qemu::suite::test;

/// `check` in this directory.
fn check(directory: &Path, line: &[&str]) -> Finished {
    let mut command = command::measure(&[&["check"], line].concat()).unwrap();
    command.current_dir(directory);
    command::finish(command).unwrap()
}

/// A program of two functions in a directory of this name: `parse` has so many rounds of one instruction, and `solve` 1,000,000.
fn sums(directory: &Path, name: &str, rounds: u64) -> PathBuf {
    const MARK: &[u8] = b"ROUNDS: ";
    let built = build::build_programs(&Progress::Plain)
        .unwrap()
        .join("sums");
    let mut bytes = fs::read(built).unwrap();
    let at = bytes.windows(MARK.len()).position(|window| window == MARK);
    let at = at.unwrap() + MARK.len();
    bytes[at..at + 8].copy_from_slice(&rounds.to_be_bytes());
    let file = directory.join(name).join("sums");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn a_function_that_became_one_percent_slower_is_found_and_named() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    sums(here, "first", 3_000_000);
    sums(here, "slower", 3_030_000);
    let run = |more: &[&str], program: &str| {
        let line = [&["base.toml"], more, &["exec", program]].concat();
        check(here, &line)
    };
    // There is no baseline yet.
    run(&[], "first/sums").assert_fails(2, &["no baseline base.toml", "--update"]);
    let written = run(&["--update"], "first/sums");
    assert_eq!(written.code, Some(0), "{written:?}");
    let base = fs::read_to_string(here.join("base.toml")).unwrap();
    // 1 percent more of one function.
    let more = ["--junit", "junit.xml", "--markdown", "table.md"];
    let slower = run(&more, "slower/sums");
    assert_eq!(slower.code, Some(1), "{slower:?}");
    let regressions: Vec<&str> = slower
        .output
        .lines()
        .filter(|line| line.starts_with("regression: "))
        .collect();
    let [total, symbol] = regressions[..] else {
        panic!("{slower:?}");
    };
    assert!(
        total.contains("user instructions grew by +30,000 (+0.75 percent)")
            && total.contains("most of it in user: parse (+"),
        "{total}"
    );
    assert!(symbol.contains("user: parse grew by"), "{symbol}");
    let junit = fs::read_to_string(here.join("junit.xml")).unwrap();
    assert_eq!(junit.matches("<failure ").count(), 2, "{junit}");
    let table = fs::read_to_string(here.join("table.md")).unwrap();
    assert!(table.contains("| user: parse |"), "{table}");
    // A baseline of another kernel or command, and a damaged one.
    fs::write(
        here.join("base.toml"),
        base.replace("\"Debian 6.1, ", "\"Debian 5.10, "),
    )
    .unwrap();
    run(&[], "first/sums").assert_fails(2, &["its kernel is Debian 5.10", "--release", "--update"]);
    fs::write(
        here.join("base.toml"),
        base.replace("exec sums", "exec other"),
    )
    .unwrap();
    run(&[], "first/sums").assert_fails(2, &["its command is exec other", "--update"]);
    fs::write(here.join("base.toml"), &base[..base.len() / 2]).unwrap();
    run(&[], "first/sums").assert_fails(2, &["base.toml is not a baseline", "line"]);
}

#[test]
fn a_guest_is_compared_with_the_counters_of_its_modelled_caches() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let line = [
        "base.toml",
        "--update",
        "run",
        "b_stfl",
        "--exact-caches",
        "default",
    ];
    let written = check(here, &line);
    assert_eq!(written.code, Some(0), "{written:?}");
    let base = fs::read_to_string(here.join("base.toml")).unwrap();
    let counter = "\"Level-1 D-cache directory-write count\" = ";
    assert!(base.contains(counter), "{base}");
    // The same run is the same. A report that finds no room does not hide that.
    let reported = ["--tolerance", "0i", "--junit", "/dev/full"];
    let again = check(here, &[&line[..1], &reported, &line[2..]].concat());
    again.assert_fails(2, &["/dev/full", "make room"]);
    assert!(again.output.ends_with("\nno regression\n"), "{again:?}");
    let fewer = base.replace(counter, "\"Level-1 D-cache directory-write count\" = 1 # ");
    fs::write(here.join("base.toml"), fewer).unwrap();
    let more = check(here, &[&line[..1], &line[2..]].concat());
    assert_eq!(more.code, Some(1), "{more:?}");
    assert!(
        more.output
            .contains("Level-1 D-cache directory-write count grew by"),
        "{more:?}"
    );
    // A new baseline keeps what the file tolerates.
    let tolerant = base.replace("[tolerance]\n", "[tolerance]\nuser = \"1%\"\n");
    fs::write(here.join("base.toml"), &tolerant).unwrap();
    assert_eq!(check(here, &line).code, Some(0));
    let updated = fs::read_to_string(here.join("base.toml")).unwrap();
    assert_eq!(updated, tolerant);
    // Without the caches it is another kind of run.
    let without = check(here, &["base.toml", "run", "b_stfl"]);
    without.assert_fails(2, &["its options is", "--update"]);
    // A directory that nothing can be written into.
    symlink("/proc", here.join("full")).unwrap();
    let full = check(here, &["full/base.toml", "--update", "run", "b_stfl"]);
    full.assert_fails(2, &["cannot write full/base.toml", "choose another file"]);
}
