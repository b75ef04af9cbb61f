//! Blocks that the program has read and freed are used again, while sampling is active: from their first entry on, with
//! another timestamp when they become full again, and with another alert if the program has requested it again.

use guests::externals::alerts;
use guests::insn::measurement::{lsctl, qsi};
use guests::sampling::{self, ALERT, ENTRIES, FULL, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Trailer Entries, programming note; Program Request Alert",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const PROGRAM_REQUEST: u32 = 0x2000_0000;
/// More than one block takes, and less than two.
const ONE_BLOCK: u64 = (ENTRIES as u64 + 10) * INTERVAL;

fn stamp(n: usize) -> (u64, u64) {
    (sampling::trailer(n, 2), sampling::trailer(n, 3))
}

fn run() {
    let request = sampling::prepare(2, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&request);
    busy(ONE_BLOCK);
    shows!("ALERT-48", alerts(), (1, PROGRAM_REQUEST));
    let (first, old) = (stamp(0), sampling::entry(0, 0));
    // The program marks the entries, to tell the new ones from them.
    guests::insn::measurement::lpp(0x4E45_5700);
    // Freed with a request: it is used again behind block 1, requests again, and has another timestamp.
    sampling::free_block(0, true);
    busy(ONE_BLOCK);
    shows!(
        "TRAILER-20",
        (qsi().tear, sampling::trailer(1, 0) & FULL),
        (sampling::table(), FULL)
    );
    let entry = sampling::entry(0, 0);
    shows!(
        "TRAILER-20",
        (old.guest_parameter, entry.format, entry.guest_parameter),
        (0, 1, 0x4E45_5700)
    );
    shows!("TRAILER-4", alerts(), (0, 0));
    sampling::free_block(1, false);
    busy(ONE_BLOCK);
    shows!(
        ["TRAILER-21", "ALERT-48"],
        (alerts(), sampling::trailer(0, 0) >> 62),
        ((1, PROGRAM_REQUEST), (FULL | ALERT) >> 62)
    );
    let second = stamp(0);
    shows!("TRAILER-22", second > first && second > stamp(1));
    // Freed without a request: no alert this time.
    sampling::free_block(0, false);
    busy(2 * ONE_BLOCK);
    shows!(
        ["TRAILER-4", "TRAILER-21"],
        (alerts(), sampling::trailer(0, 0) >> 62),
        ((0, 0), FULL >> 62)
    );
    sampling::stop();
}
