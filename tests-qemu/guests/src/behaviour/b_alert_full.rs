//! Program request: a block with the alert request that becomes full gives one measurement alert
//! (1407, parameter 20000000), and its request stays; a block without it gives none.

use guests::check::{check, holds};
use guests::externals::{self, MEASUREMENT_ALERT};
use guests::insn::control::{stctg_0, stnsm, stosm};
use guests::insn::measurement::lsctl;
use guests::sampling::{self, ALERT, ENTRIES, FULL, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Program Request Alert; Measurement Alert",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    externals::record();
    shows!(
        ["CR0-3", "FACILITY-5"],
        stctg_0() & MEASUREMENT_ALERT,
        MEASUREMENT_ALERT,
    );
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(1, 0, ALERT);
    check("LSCTL", lsctl(&request), 0);
    stosm::<0x01>();
    let range = busy(INTERVAL * (ENTRIES as u64 * 5 / 2));
    stnsm::<0xFE>();
    check("disable", sampling::stop(), 0);
    shows!(["ALERT-9", "TRAILER-4"], externals::recorded(), 1);
    let alert = externals::get(0);
    shows!("ALERT-1", alert.code, 0x1407);
    shows!(
        ["ALERT-10", "ALERT-39", "EXTERNAL-1"],
        alert.parameter,
        0x2000_0000
    );
    holds("it came in the loop", range.contains(&alert.address));
    shows!(
        ["TRAILER-1", "STEP-4"],
        sampling::trailer(0, 0) >> 62,
        FULL >> 62
    );
    shows!(
        ["TRAILER-2", "TRAILER-3", "STEP-6"],
        sampling::trailer(1, 0) >> 62,
        (FULL | ALERT) >> 62,
    );
    check("block 2: neither", sampling::trailer(2, 0) >> 62, 0);
}
