//! The machine's paths keep their budgets, which are counted in instructions.
//!
//! Some do not yet. For these the present length is held instead, so that they can only get shorter;
//! `cargo measure bench` shows both, and fails until the table here is empty.

use measure::{bench, progress::Progress};
use tests_qemu::ipl;

/// The whole trap of [`bench::trap`]'s instruction, as the guest's clock sees it.
const WHOLE_TRAP: &str = "trap-decode";

/// Paths that are over their budgets, and the length in instructions that they must not pass.
const NOT_YET: [(&str, u64); 2] = [("trap", 155), ("ecctr", 230)];

#[test]
fn every_path_of_the_machine_is_within_its_budget() {
    let paths = bench::paths(&ipl::options(bench::PATHS_GUEST), &Progress::Silent).unwrap();
    let text = bench::paths_text(&paths);
    println!("{text}");
    let budgeted = paths.iter().filter(|path| path.budget().is_some()).count();
    assert_eq!(budgeted, 13, "every budget is measured\n{text}");
    let held = |path: &bench::PathLength| {
        let known = NOT_YET.iter().find(|(name, _)| *name == path.name);
        known.is_some_and(|&(_, most)| path.instructions <= most)
    };
    let over: Vec<_> = paths
        .iter()
        .filter(|path| path.is_over() && !held(path))
        .map(|path| &path.name)
        .collect();
    assert!(over.is_empty(), "over their budgets: {over:?}\n{text}");
}

#[test]
fn the_log_of_execution_and_the_clock_of_the_guest_count_the_same_trap() {
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let mut options = ipl::options(bench::PATHS_GUEST);
        options.qemu = Some(qemu.path.clone());
        let paths = bench::guest_paths(&options, &Progress::Silent).unwrap();
        let seen = paths.iter().find(|path| path.name == WHOLE_TRAP).unwrap();
        let logged = bench::trap::measure(&options, &Progress::Silent).unwrap();
        println!("{qemu}\n{logged}");
        assert_eq!(logged.whole(), seen.instructions, "{qemu}\n{logged}");
    }
}
