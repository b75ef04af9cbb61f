//! The page of the bundled workload is small enough to be sent.

use std::fs;

use measure::{
    computer::progress::Progress, machine::run, numbers::quantities::Sampling, options::RunOptions,
    views::html,
};
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

/// Bytes that every mail system takes.
const MOST: u64 = 2_000_000;

#[test]
fn the_page_of_the_bundled_workload_with_call_stacks_is_below_two_megabytes() {
    let directory = TempDir::new().unwrap();
    let options = RunOptions {
        cpus: Some(2),
        sampling: Sampling::Every(100_000),
        stacks: Some(64),
        out: Some(directory.path().join("run")),
        ..ipl::options("workload")
    };
    let outcome = run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    let run = directory.path().join("run");
    for before in [None, Some(run.as_path())] {
        let file = directory.path().join("page.html");
        html::write(&run, before, &file, &Progress::Silent).unwrap();
        let page = fs::read_to_string(&file).unwrap();
        assert!((page.len() as u64) < MOST, "{} bytes", page.len());
        // It is the page of this run, with its call stacks and the text of its functions.
        assert!(page.contains("\"callers\":true"));
        assert!(page.contains("guests::<wbr>workload::<wbr>compress::<wbr>work"));
        assert!(page.contains("id=\"code-9\""));
    }
}
