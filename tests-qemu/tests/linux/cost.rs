//! What the machine costs Linux, in instructions, which are the same every time.

use measure::{bench::linux, linux::Release, options::RunOptions, progress::Progress};

#[test]
fn a_boot_costs_no_more_instructions_than_it_may() {
    let share = linux::boot(
        &RunOptions::default(),
        Release::default(),
        &Progress::Silent,
    );
    let share = share.unwrap();
    assert!(share.budget.is_some() && !share.is_over(), "{share:?}");
    assert!(share.guest > 1_000_000_000, "{share:?}");
}
