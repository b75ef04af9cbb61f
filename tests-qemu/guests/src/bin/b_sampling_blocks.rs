//! Blocks become full one after the other: block-full indicator, extended timestamp, and the overflow
//! count when the next block is full; what is the program's in a trailer stays; a freed block is used
//! again.
#![no_std]
#![no_main]

use guests::check::{check, fact, holds};
use guests::insn::clock::stcke;
use guests::insn::measurement::{lsctl, qsi};
use guests::sampling::{self, ENTRIES, EXTENDED_TIMESTAMP, FULL, busy};

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process; Trailer Entries",
    native = false
);
guests::guest!(run);

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
    for n in 0..USED {
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
        check("block: entries", sampling::stored(n), ENTRIES);
        let flags = sampling::trailer(n, 0);
        check(
            "  full, no alert, extended timestamp",
            flags >> 61,
            (FULL | EXTENDED_TIMESTAMP) >> 61,
        );
        check("  reserved bits", flags >> 32 & 0x1FFF_FFFF, 0);
        check("  basic-sampling-data-entry size", flags >> 16 & 0xFFFF, 32);
        check(
            "  diagnostic size as QUERY SAMPLING INFORMATION says",
            u64::from(flags as u16 == qsi().diagnostic_entry_size),
            1,
        );
        let stamp = (sampling::trailer(n, 2), sampling::trailer(n, 3));
        holds(
            "  the timestamp lies between the ones before and behind",
            last < stamp && stamp < after,
        );
        last = stamp;
        for doubleword in [4, 6, 7] {
            check(
                "  what is reserved or the program's remains",
                sampling::trailer(n, doubleword),
                0xAAAA_0000 + doubleword as u64,
            );
        }
    }
    holds(
        "TEAR is back at the first entry of the table",
        tear == sampling::table(),
    );
    holds(
        "overflow count: the samples that were lost",
        (48..=52).contains(&lost),
    );
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
    holds(
        "the freed block takes samples from its first entry on",
        (19..=25).contains(&again),
    );
    holds(
        "the first entry is another one",
        sampling::entry(0, 0) != old || sampling::entry(0, 1).format == 1,
    );
    fact("entries of a block", ENTRIES as u64);
}
