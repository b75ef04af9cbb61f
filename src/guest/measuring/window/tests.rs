//! When the window interrupts, and whether the clock and the CPU timer come back to what they were.

use super::*;
use proptest::prelude::*;

const EXACT: Mode = Mode::Exact { shift: 0 };
const MICROSECOND: u64 = 4096;

/// QEMU's clock: units from nanoseconds, and its CPU timer's nanoseconds from units.
const fn qemu_nanoseconds(units: u64) -> u64 {
    (units >> 9) * 125 + (((units & 511) * 125) >> 9)
}

fn account(total: u64) -> Account {
    let mut account = Account::new(EXACT, 1000);
    account.cycles = [0, total];
    account
}

proptest! {
    #[test]
    fn clock_and_timer_are_as_if_nothing_had_been_executed(
        base in 0..1u64 << 62,
        began in 0..1u64 << 40,
        work in 0..100_000u64,
        beyond in 4..1000u64,
        timer in 1000..1u64 << 40,
    ) {
        // What QEMU's clock shows at so many nanoseconds.
        let clock = |base: u64, at: u64| base.wrapping_add(units(at));
        let account = account(0);
        let shown = units(timer - 1);
        let back = back(EXACT, clock(base, began), beyond, shown, 1);
        let set_at = {
            let moment = moment(&account, clock(base, began), clock(base, began + work), 300);
            began + account.ticks(clock(base, began), moment)
        };
        prop_assert!(set_at >= began + work + 300);
        prop_assert_eq!((set_at - began) % STEP, 0);
        let all = set_at - began + beyond + back.fill;
        prop_assert_eq!(all % STEP, 0);
        prop_assert!(back.fill > 0);
        // The new base of QEMU's clock.
        let new = back.clock.wrapping_sub(units(set_at));
        for at in [began, began + 1, began + 77, began + 1_000_003] {
            prop_assert_eq!(clock(new, at + all), clock(base, at));
        }
        // The timer would have reached zero then.
        let zero = began + timer;
        prop_assert_eq!(set_at - 1 + qemu_nanoseconds(back.timer), zero + all);
    }

    #[test]
    fn the_samples_of_a_window_are_an_interval_apart_whatever_traps_come_between(
        traps in prop::collection::vec(1..5000u64, 1..200),
    ) {
        const EXIT: u64 = 2;
        const OVERHEAD: u64 = 6;
        let mut window = Window::new(0, u64::MAX, 1000);
        let mut account = account(0);
        let mut left = 77 * MICROSECOND;
        let mut sampled = Vec::new();
        for trap in traps {
            // The guest executes `trap` instructions until its next trap.
            account.left = left;
            let mut now = left;
            let mut executed = 0;
            loop {
                let at = window.comparator(&account, EXIT, left, now, NEVER);
                // The comparator interrupts before the next instruction.
                let first = (executed..).find(|n| left + units(n + EXIT) > at - ROUNDED_OFF - 2);
                let stop = first.unwrap_or(u64::MAX);
                if stop >= trap {
                    break;
                }
                executed = stop;
                account.entered = left + units(executed + OVERHEAD);
                now = account.entered;
                if window.interrupted(&account, OVERHEAD, NEVER) == Interrupted::Sample {
                    sampled.push(account.total() + executed);
                }
            }
            account.cycles[1] += trap;
            left += units(trap + 300);
        }
        let expected: Vec<u64> = (1..=sampled.len() as u64).map(|n| n * 1000).collect();
        let close = sampled.iter().zip(&expected).all(|(found, due)| found.abs_diff(*due) <= 2);
        prop_assert!(close, "{sampled:?}");
        let total = account.total();
        prop_assert!(sampled.len() as u64 + 1 >= total / 1000, "{total} {sampled:?}");
    }
}

#[test]
fn a_comparator_of_the_first_run_that_comes_soon_is_left_alone() {
    let mut window = Window::new(0, u64::MAX, 1000);
    let mut account = account(5);
    let now = 100 * MICROSECOND;
    let alone = window.comparator(&account, 2, now, now, NEVER);
    assert!(alone > now && alone < now + MICROSECOND * 2);
    assert_eq!(
        window.comparator(&account, 2, now, now, alone + APART),
        alone + APART
    );
    let later = alone + APART + 1;
    assert_eq!(window.comparator(&account, 2, now, now, later), alone);
    // What interrupts then is of the first run.
    account.left = now;
    account.entered = alone + APART;
    assert_eq!(
        window.interrupted(&account, 6, alone + APART),
        Interrupted::FirstRun
    );
}

#[test]
fn a_window_begins_and_ends_by_the_clock() {
    let (from, to) = (100 * MICROSECOND, 110 * MICROSECOND);
    let mut window = Window::new(from, to, 1000);
    let mut account = account(0);
    account.left = 0;
    assert_eq!(window.comparator(&account, 2, 0, 0, NEVER), from);
    account.entered = from;
    assert_eq!(window.interrupted(&account, 6, NEVER), Interrupted::Nothing);
    let mut samples = 0;
    loop {
        let now = account.entered;
        let next = window.comparator(&account, 2, 0, now, NEVER);
        if next == NEVER {
            break;
        }
        account.entered = next + units(4);
        if window.interrupted(&account, 6, NEVER) == Interrupted::Sample {
            samples += 1;
        }
    }
    assert!((9..=10).contains(&samples), "{samples}");
    assert!(window.is_over(to) && !window.is_over(to - 1));
    assert_eq!(window.comparator(&account, 2, 0, to, 5 * to), 5 * to);
}

#[test]
fn a_window_that_has_ended_does_not_begin_again() {
    let mut window = Window::new(100, 200, NEVER);
    let reached = [99, 100, 199, 200, 199, 100].map(|now| window.reaches(now));
    assert_eq!(reached, [false, true, true, false, false, false]);
    assert!(window.is_over(199));
    assert_eq!(window.comparator(&account(0), 2, 0, 199, 500), 500);
}

#[test]
fn a_window_of_samples_that_were_all_due_at_once_takes_one_and_counts_the_rest() {
    let mut window = Window::new(0, u64::MAX, 1000);
    let mut account = account(0);
    let _ = window.comparator(&account, 2, 0, 0, NEVER);
    account.entered = units(3500 + 6);
    assert_eq!(window.interrupted(&account, 6, NEVER), Interrupted::Sample);
    assert_eq!(window.missed, 2);
    account.entered = units(3999 + 6);
    assert_eq!(window.interrupted(&account, 6, NEVER), Interrupted::Nothing);
}

#[test]
fn a_timer_that_is_negative_or_far_from_zero_does_not_interrupt_early() {
    let far = i64::MAX as u64;
    assert_eq!(back(EXACT, 0, 4, 1 << 60, -1).timer, far);
    assert_eq!(back(EXACT, 0, 4, 1 << 60, i64::MAX).timer, far);
    let rest = 1i64 << 56;
    let timer = back(EXACT, 0, 4, 1 << 60, rest).timer;
    assert_eq!(timer, rest as u64 + units(STEP + 2));
}
