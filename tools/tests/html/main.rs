//! The page of a run as a browser shows it, and as a person asks for it.

mod actions;
mod browser;
#[path = "../program/mod.rs"]
mod program;
mod synthetic;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use measure::{building::install, computer::progress::Progress, machine::doctor};
use program::program;
use synthetic::Folder;
use tempfile::TempDir;

/// Makes the page of a folder. Returns the page's file and the tool's output.
fn page(directory: &Path) -> (PathBuf, Output) {
    let file = directory.join("page.html");
    let output = Command::new(program())
        .arg("report")
        .arg(directory)
        .arg("--html")
        .arg(&file)
        .output()
        .unwrap();
    (file, output)
}

/// Makes the page of a folder compared with the one before.
fn page_against(directory: &Path, before: &Path) -> (PathBuf, Output) {
    let file = directory.join("change.html");
    let output = Command::new(program())
        .arg("report")
        .arg(directory)
        .arg("--against")
        .arg(before)
        .arg("--html")
        .arg(&file)
        .output()
        .unwrap();
    (file, output)
}

fn folder(samples: u64, cpus: u16, readings: u64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder {
        readings,
        ..Folder::of(samples, cpus)
    };
    folder.write(directory.path());
    directory
}

/// The document after its script has run, and the browser's messages.
fn browse(file: &Path) -> (String, String) {
    let lacks = || doctor::chromium_lack().into_iter().collect();
    install::provide(lacks, &Progress::detect()).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let picture = file.with_extension("png");
    let run = |what: &[String]| {
        let output = Command::new(doctor::CHROMIUM)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
            ])
            .args([
                "--window-size=1400,2200",
                "--virtual-time-budget=5000",
                "--disable-dev-shm-usage",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(what)
            .arg(format!("file://{}", file.display()))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    run(&[format!("--screenshot={}", picture.display())]);
    assert!(
        fs::metadata(&picture).unwrap().len() > 20_000,
        "a picture with something in it"
    );
    run(&["--dump-dom".to_owned()])
}

#[test]
fn a_browser_shows_all_parts_of_the_page_and_complains_of_nothing() {
    let directory = folder(20_000, 2, 24);
    let (file, output) = page(directory.path());
    assert!(output.status.success(), "{output:?}");
    let (document, said) = browse(&file);
    let complaints: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    for part in [
        "warnings",
        "run",
        "states",
        "time",
        "flame",
        "symbols",
        "code",
        "counters",
        "timeline",
        "flamegraph",
        "code-0",
    ] {
        assert!(document.contains(&format!("id=\"{part}\"")), "{part}");
    }
    // The script has made a legend, and rows of the time line.
    assert!(
        document.contains("samples of a symbol in a column:"),
        "the script has run"
    );
    assert!(
        document.contains("aria-label=\"Samples of CPU 1 by time and program"),
        "a row for each CPU"
    );
    assert!(
        document.contains("Cycles per instruction by interval"),
        "charts"
    );
    assert!(document.contains("aghi"), "instructions");
    assert!(document.contains("1 sample found no room."), "losses");
    // The name is text. As an element it would have changed the title.
    assert!(document.contains("<title>synthetic – Millimeter</title>"));
    assert!(!document.contains("<img"), "an element from a name");
    assert!(
        document.contains("\\u{202e}"),
        "what turns the text is shown by its number"
    );
}

#[test]
fn few_samples_have_a_page_too() {
    let directory = folder(10, 1, 1);
    let (file, output) = page(directory.path());
    assert!(output.status.success(), "{output:?}");
    let (document, said) = browse(&file);
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains("samples of a symbol in a column:"));
    assert!(document.contains("Nothing was lost, and nothing is in doubt."));
}

#[test]
fn the_page_has_about_the_same_size_for_any_number_of_samples() {
    let size = |samples| {
        let directory = folder(samples, 2, 3);
        let (file, _) = page(directory.path());
        fs::metadata(file).unwrap().len()
    };
    // From some hundred thousand on, nearly every cell has samples.
    let (few, many) = (size(300_000), size(1_200_000));
    assert!(many < few * 3 / 2, "{few} bytes, then {many}");
    assert!(many < 2_000_000, "{many} bytes");
}

/// `cargo test --release -p measure --test html -- --ignored --nocapture`
#[test]
#[ignore = "writes 320 MB and takes a while"]
fn ten_million_samples_have_a_page_in_less_than_20_seconds() {
    let directory = folder(10_000_000, 4, 1000);
    let began = Instant::now();
    let (file, output) = page(directory.path());
    let took = began.elapsed();
    assert!(output.status.success(), "{output:?}");
    println!("{took:?}, {} bytes", fs::metadata(&file).unwrap().len());
    assert!(took < Duration::from_secs(20), "{took:?}");
    let (document, said) = browse(&file);
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains("samples of a symbol in a column:"));
}

#[test]
fn a_folder_without_a_run_and_a_file_that_cannot_be_written_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_, output) = page(directory.path());
    assert_eq!(output.status.code(), Some(2));
    let directory = folder(10, 1, 1);
    fs::create_dir(directory.path().join("page.html")).unwrap();
    let (_, output) = page(directory.path());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("choose another file with --html"), "{said}");
}
