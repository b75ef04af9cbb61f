//! The samples of a secure guest that allows full samples are complete.

use guests::insn::measurement::{lpp, lsctl};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Limited Sample",
    native = false,
    options = "--secure=full"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    lsctl(&sampling::prepare(4, INTERVAL));
    lpp(0x1234_5678_9ABC_DEF0);
    let range = busy(10 * INTERVAL);
    sampling::stop();
    for n in 1..9 {
        let entry = sampling::entry(0, n);
        shows!(
            ["BSDE-15", "BSDE-16"],
            (entry.format, entry.level),
            (1, 0x8000)
        );
        shows!("BSDE-21", range.contains(&entry.address));
        shows!("BSDE-21", entry.guest_parameter, 0x1234_5678_9ABC_DEF0);
    }
}
