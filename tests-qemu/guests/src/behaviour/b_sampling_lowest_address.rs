//! 8192, the first address behind the range of invalid entry addresses: a data entry, the origin of the next block and a
//! table entry there are as valid as any other.

use guests::misdirected::{Ended, attempt_with, load, no_room, store};
use guests::sampling::{self, FULL, TRAILER};
use guests::shows;

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process; Invalid Entry Address",
    native = false
);
guests::case!(run);

/// The lowest valid address. Nothing of the guest is there.
const LOWEST: u64 = 8192;
const LAST: u64 = LOWEST + TRAILER as u64;
const SIZE: u64 = 32;

fn clear() {
    for at in (LOWEST..LOWEST + 4096).step_by(8) {
        store(at, 0);
    }
}

fn data_entry() {
    clear();
    let tear = sampling::table();
    shows!(
        "UPDATE-200",
        (attempt_with(&[], tear, LOWEST), load(LOWEST) >> 48),
        (Ended::active(tear, LOWEST + SIZE), 1)
    );
}

/// The sample is lost, but the address is not invalid.
fn data_entry_in_a_full_block() {
    clear();
    let tear = sampling::table();
    shows!(
        "UPDATE-200",
        (
            attempt_with(&[(LAST, FULL)], tear, LOWEST),
            load(LOWEST),
            load(LAST + 8)
        ),
        (Ended::active(tear, LOWEST), 0, 1)
    );
}

fn next_block() {
    clear();
    let tear = sampling::table();
    shows!(
        "UPDATE-200",
        (
            attempt_with(&[(tear + 8, LOWEST)], tear, no_room()),
            load(LOWEST) >> 48
        ),
        (Ended::active(tear + 8, LOWEST + SIZE), 1)
    );
}

fn table_entry() {
    clear();
    let (tear, block) = (sampling::table(), sampling::block(2));
    let entries = [(tear + 8, LOWEST | 1), (LOWEST, block)];
    shows!(
        "UPDATE-201",
        (attempt_with(&entries, tear, no_room()), sampling::stored(2)),
        (Ended::active(LOWEST, block + SIZE), 1)
    );
}

fn run() {
    for part in [
        data_entry,
        data_entry_in_a_full_block,
        next_block,
        table_entry,
    ] {
        part();
        sampling::stop();
    }
}
