//! What a command leaves that is killed: whole files, and nothing temporary for long.
//!
//! A signal that cannot be caught ends a process, so each test runs again in a process that is killed.

mod program;

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use program::program;

use measure::computer::{temporary::Temporary, whole_file::WholeFile};

/// Tells a test that it will be killed, and has the directory that it works in.
const PLACE: &str = "MEASURE_TEST_IS_KILLED_IN";

/// How a line begins with which a test says that it may be killed.
const READY: &str = "ready: ";

/// The directory, in the process that will be killed.
fn place() -> Option<PathBuf> {
    env::var_os(PLACE).map(PathBuf::from)
}

/// Says that the process may be killed, and waits for that.
fn wait(said: &str) -> ! {
    println!("{READY}{said}");
    std::io::stdout().flush().unwrap();
    loop {
        thread::park();
    }
}

/// Runs the test of this name in a process that is killed when it is ready, and returns what it has said.
fn kill(test: &str, place: &Path) -> String {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(PLACE, place)
        .env("TMPDIR", place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once(READY)?.1.to_owned()));
    child.kill().unwrap();
    child.wait().unwrap();
    said.expect("the process ended before it was ready")
}

#[test]
fn a_killed_command_leaves_the_earlier_file_as_it_was() {
    if let Some(place) = place() {
        let mut file = WholeFile::create(&place.join("report")).unwrap();
        file.write_all(b"half").unwrap();
        file.flush().unwrap();
        wait("");
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("report");
    fs::write(&file, "earlier").unwrap();
    kill(
        "a_killed_command_leaves_the_earlier_file_as_it_was",
        place.path(),
    );
    assert_eq!(fs::read(&file).unwrap(), b"earlier");
    fs::remove_file(&file).unwrap();
    kill(
        "a_killed_command_leaves_the_earlier_file_as_it_was",
        place.path(),
    );
    assert!(!file.exists());
}

#[test]
fn the_next_command_removes_the_directories_of_a_killed_one() {
    if place().is_some() {
        let directory = Temporary::new().unwrap();
        fs::write(directory.path().join("staged"), "bytes").unwrap();
        wait(directory.path().to_str().unwrap());
    }
    let place = tempfile::tempdir().unwrap();
    let test = "the_next_command_removes_the_directories_of_a_killed_one";
    let left = PathBuf::from(kill(test, place.path()));
    assert!(left.join("staged").exists());
    let next = Command::new(program())
        .args(["completions", "bash"])
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    assert!(next.status.success());
    assert!(!left.exists());
}
