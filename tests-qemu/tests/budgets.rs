//! The machine's paths keep their budgets, which are counted in instructions.

use measure::{bench, progress::Progress};
use tests_qemu::ipl;

#[test]
fn every_path_of_the_machine_is_within_its_budget() {
    let paths = bench::paths(&ipl::options(bench::PATHS_GUEST), &Progress::Silent).unwrap();
    let text = bench::paths_text(&paths);
    println!("{text}");
    let budgeted = paths.iter().filter(|path| path.budget().is_some()).count();
    assert_eq!(budgeted, 13, "every budget is measured\n{text}");
    let over: Vec<_> = paths
        .iter()
        .filter(|path| path.is_over())
        .map(|path| &path.name)
        .collect();
    assert!(over.is_empty(), "over their budgets: {over:?}\n{text}");
}
