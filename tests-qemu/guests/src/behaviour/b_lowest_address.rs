//! Address 8192 is the lowest of an entry: a block and a table may begin there, and not in front of it.

use guests::misdirected::{Ended, INVALID, attempt, attempt_with, load, no_room, store};
use guests::{sampling, shows};

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process (invalid entry address)",
    native = false
);
guests::case!(run);

/// Storage that nothing else uses.
const LOWEST: u64 = 8192;
const SIZE: u64 = 32;

fn run() {
    for at in (LOWEST..LOWEST + 4096).step_by(8) {
        store(at, 0);
    }
    let (tear, next) = (sampling::table(), sampling::table() + 8);
    // A data entry.
    shows!(
        "UPDATE-16",
        (attempt(tear, LOWEST), load(LOWEST) >> 48),
        (Ended::active(tear, LOWEST + SIZE), 1)
    );
    shows!(
        ["UPDATE-9", "STEP-21"],
        attempt(tear, LOWEST - SIZE),
        Ended::alert(INVALID, tear, LOWEST - SIZE)
    );
    // A block that a table links.
    shows!(
        "UPDATE-16",
        attempt_with(&[(next, LOWEST)], tear, no_room()),
        Ended::active(next, LOWEST + SIZE)
    );
    shows!(
        ["UPDATE-9", "STEP-22"],
        attempt_with(&[(next, LOWEST - 8)], tear, no_room()),
        Ended::alert(INVALID, next, LOWEST - 4096)
    );
    // A table.
    store(LOWEST, sampling::block(2));
    shows!(
        "UPDATE-17",
        attempt_with(&[(next, LOWEST | 1)], tear, no_room()),
        Ended::active(LOWEST, sampling::block(2) + SIZE)
    );
    shows!(
        "UPDATE-17",
        attempt(LOWEST - 8, no_room()),
        Ended::active(LOWEST, sampling::block(2) + SIZE)
    );
    shows!(
        ["UPDATE-9", "STEP-23"],
        attempt_with(&[(next, LOWEST - 16 | 1)], tear, no_room()),
        Ended::alert(INVALID, LOWEST - 16, no_room())
    );
    shows!(
        "UPDATE-9",
        attempt(LOWEST - 16, no_room()),
        Ended::alert(INVALID, LOWEST - 8, no_room())
    );
    sampling::stop();
}
