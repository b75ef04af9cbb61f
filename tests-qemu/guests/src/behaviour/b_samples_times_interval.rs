//! Samples times interval equals the cycle counter within 0.1 %, at several intervals, in code that runs disabled,
//! and no sample is lost.

use guests::check::{check, holds};
use guests::insn::measurement::{controls, ecctr, lcctl, lsctl, set};
use guests::sampling::{self, BLOCKS, ENTRIES, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Sampling Interval Register; Cycle Count",
    native = false
);
guests::case!(run);

fn run() {
    check("LCCTL", lcctl(controls(set::BASIC, set::BASIC)), 0);
    for interval in [10_000, 9_973, 100_000] {
        let samples = (BLOCKS * ENTRIES - 10) as u64;
        let request = sampling::prepare(BLOCKS, interval);
        check("interval", interval, request.interval);
        let before = ecctr(0).1;
        check("LSCTL", lsctl(&request), 0);
        busy(samples * interval);
        check("disable", sampling::stop(), 0);
        let cycles = ecctr(0).1 - before;
        let stored: u64 = (0..BLOCKS).map(|n| sampling::stored(n) as u64).sum();
        let lost: u64 = (0..BLOCKS).map(|n| sampling::trailer(n, 1)).sum();
        check("lost", lost, 0);
        shows!(
            ["SREG-11", "SAMPLING-1"],
            (stored * interval).abs_diff(cycles) * 1000 <= cycles,
        );
        holds(
            "as many as there are intervals",
            stored.abs_diff(samples) <= 2,
        );
    }
    lcctl(0);
}
