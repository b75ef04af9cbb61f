//! The machine's paths keep their budgets, which are counted in instructions.

use measure::{bench, computer::progress::Progress};
use millimeter::link::tally::Cause;
use tests_qemu::{ipl, suite::test};

/// The time of a whole trap by the guest's clock, for the instruction of [`bench::trap`].
const WHOLE_TRAP: &str = "trap-decode";

#[test]
fn every_path_of_the_machine_is_within_its_budget() {
    let paths = bench::paths(&ipl::options(bench::PATHS_GUEST), &Progress::Silent).unwrap();
    let text = bench::paths_text(&paths);
    println!("{text}");
    let budgeted = paths.iter().filter(|path| path.budget().is_some()).count();
    assert_eq!(budgeted, 31, "every budget is measured\n{text}");
    let over: Vec<_> = paths
        .iter()
        .filter(|path| path.is_over())
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

/// Operation codes of [`bench::PATHS_GUEST`], each with the name of its path there.
const COUNTED: [(u16, &str); 3] = [(0xAC00, "stnsm"), (0xAD00, "stosm"), (0xB2B2, "lpswe")];

#[test]
fn a_run_that_counts_traps_gives_each_the_length_that_the_guests_clock_shows() {
    /// The counting may be wrong by so many instructions.
    const FEW: u64 = 4;
    let mut options = ipl::options(bench::PATHS_GUEST);
    let paths = bench::guest_paths(&options, &Progress::Silent).unwrap();
    options.count_traps = true;
    let outcome = ipl::above_with_success(&options).unwrap();
    let traps = &outcome.report.record.traps;
    for (number, name) in COUNTED {
        let seen = paths.iter().find(|path| path.name == name).unwrap();
        let counted = traps
            .iter()
            .find(|line| line.cause == Cause::Instruction as u8 && line.number == number)
            .unwrap();
        println!("{name}: {} and {counted:?}", seen.instructions);
        assert!(counted.traps > 100, "{name}: {counted:?}");
        assert!(
            counted.least.abs_diff(seen.instructions) <= FEW,
            "{name} takes {}, and {counted:?}",
            seen.instructions
        );
    }
}
