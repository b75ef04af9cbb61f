//! Blocks become full one after the other: the block-full indicator, the extended timestamp, and the overflow count
//! when the next block is full. The program's part of a trailer stays as it is. A freed block is used again.

use guests::check::{check, fact, holds};
use guests::insn::clock::stcke;
use guests::insn::measurement::{lsctl, qsi};
use guests::sampling::{self, ENTRIES, EXTENDED_TIMESTAMP, FULL, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process; Trailer Entries",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const USED: usize = 3;

fn extended() -> (u64, u64) {
    let bytes = stcke();
    let half = |n: usize| {
        bytes[n..n + 8]
            .iter()
            .fold(0_u64, |all, &byte| all << 8 | u64::from(byte))
    };
    (half(0), half(8))
}

fn run() {
    let request = sampling::prepare(USED, INTERVAL);
    // The reserved bits of the trailer hold values that must stay.
    const RESERVED: u64 = 0x1FA5_5AA5 << 32;
    for n in 0..USED {
        sampling::set_trailer(n, 0, RESERVED);
        for doubleword in [4, 6, 7] {
            sampling::set_trailer(n, doubleword, 0xAAAA_0000 + doubleword as u64);
        }
    }
    let before = extended();
    check("LSCTL", lsctl(&request), 0);
    busy(INTERVAL * (ENTRIES * USED + 50) as u64);
    let tear = qsi().tear;
    let lost = sampling::trailer(0, 1);
    let after = extended();
    let mut last = before;
    for n in 0..USED {
        shows!(["SDB-1", "SREG-8"], sampling::stored(n), ENTRIES);
        let flags = sampling::trailer(n, 0);
        shows!(
            ["TRAILER-1", "TRAILER-5"],
            flags >> 61,
            (FULL | EXTENDED_TIMESTAMP) >> 61,
        );
        shows!("TRAILER-6", flags & (0x1FFF_FFFF << 32), RESERVED);
        shows!("TRAILER-7", flags >> 16 & 0xFFFF, 32);
        shows!(
            "TRAILER-8",
            u64::from(flags as u16 == qsi().diagnostic_entry_size),
            1,
        );
        let stamp = (sampling::trailer(n, 2), sampling::trailer(n, 3));
        shows!(
            ["TRAILER-10", "TRAILER-11", "STEP-5"],
            last < stamp && stamp < after,
        );
        last = stamp;
        for doubleword in [4, 6, 7] {
            shows!(
                ["TRAILER-13", "TRAILER-14"],
                sampling::trailer(n, doubleword),
                0xAAAA_0000 + doubleword as u64,
            );
        }
    }
    holds(
        "TEAR is back at the first entry of the table",
        tear == sampling::table(),
    );
    shows!(["TRAILER-9", "STEP-2"], (48..=52).contains(&lost),);
    check(
        "other overflow counts",
        sampling::trailer(1, 1) | sampling::trailer(2, 1),
        0,
    );
    sampling::free_block(0, false);
    check(
        "freed: not full, none lost",
        sampling::trailer(0, 0) >> 63 | sampling::trailer(0, 1),
        0,
    );
    let old = sampling::entry(0, 0);
    busy(INTERVAL * 20);
    let dear = qsi().dear;
    check("disable", sampling::stop(), 0);
    let again = (dear - sampling::block(0)) / 32;
    shows!("TRAILER-15", (19..=25).contains(&again),);
    holds(
        "the first entry is another one",
        sampling::entry(0, 0) != old || sampling::entry(0, 1).format == 1,
    );
    fact("entries of a block", ENTRIES as u64);
}
