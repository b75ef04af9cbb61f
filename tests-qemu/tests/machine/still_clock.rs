//! Guests whose clock stands still while the machine works.

use measure::{bench, numbers::quantities::Sampling, options::RunOptions};
use tests_qemu::{ipl, suite::test};

#[test]
fn to_a_guest_whose_clock_stands_still_an_instruction_that_is_performed_takes_no_longer_than_another()
 {
    let outcome = ipl::above_with_success(&RunOptions {
        still_clock: true,
        sampling: Sampling::Off,
        ..ipl::options(bench::PATHS_GUEST)
    })
    .unwrap();
    let lengths: Vec<&str> = outcome
        .console
        .lines()
        .filter_map(|line| line.strip_prefix("path "))
        .collect();
    for performed in [
        "trap-decode",
        "ssm",
        "stnsm",
        "stosm",
        "stpt",
        "lpp",
        "ecctr",
        "lpswe",
        "monitor-call",
        "lctlg-1",
    ] {
        let wanted = format!("{performed} 0");
        assert!(lengths.contains(&&wanted[..]), "{performed}: {lengths:?}");
    }
}
