//! The machine counts every monitor call, at a low price.

use tests_qemu::{ipl, suite::test};

#[test]
fn a_million_monitor_calls_are_counted_exactly_and_take_at_most_200_instructions_each() {
    let outcome = ipl::above_with_success(&ipl::options("monitor-calls")).unwrap();
    let line = outcome
        .console
        .lines()
        .find(|line| line.starts_with("1000000 monitor calls, "));
    println!("{}", line.unwrap_or_else(|| panic!("{}", outcome.console)));
}
