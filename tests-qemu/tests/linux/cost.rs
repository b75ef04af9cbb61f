//! What the machine costs Linux, in instructions. The figures are the same in every run.

use measure::{bench::linux, computer::progress::Progress, linux::Release, options::RunOptions};
use tests_qemu::suite::test;

fn stays_within_its_budget(release: Release) {
    let shares = linux::budgeted(&RunOptions::default(), release, &Progress::Silent).unwrap();
    println!("{shares:?}");
    let [boot, compute] = &shares[..] else {
        panic!("a boot and a loop have budgets: {shares:?}");
    };
    for share in [boot, compute] {
        assert!(share.budget.is_some() && !share.is_over(), "{share:?}");
    }
    assert!(boot.guest > 1_000_000_000, "{boot:?}");
    assert!(compute.guest > 100_000_000, "{compute:?}");
}

#[test]
fn a_boot_and_a_loop_stay_within_their_budgets() {
    stays_within_its_budget(Release::V6_1);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_boot_and_a_loop_of_the_later_kernel_stay_within_their_budgets() {
    stays_within_its_budget(Release::V6_12);
}
