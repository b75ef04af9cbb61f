//! Sample-data blocks and tables of 1 MiB: the trailer is at the end of the MiB, an entry may cross from one
//! page into the next, and a table may be longer than a page.

use core::ptr::{read_volatile, write_volatile};

use guests::check::{check, holds};
use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, LARGE_BLOCKS,
    SamplingRequest, lsctl, qsi,
};
use guests::sampling::{self, FULL, busy};

guests::clause!(
    "SA23-2260, Maximum-Buffer-Size Indicator; Sample-Data-Block Update Process",
    native = false,
    options = "--operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const MIB: u64 = 1 << 20;
/// Storage that nothing else uses.
const TABLE: u64 = 0x400_0000;
const FIRST: u64 = 0x500_0000;
const SECOND: u64 = 0x600_0000;
const BASIC: u64 = ENABLE_BASIC | ACTIVATE_BASIC;
const DIAGNOSTIC: u64 = ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;

fn store(at: u64, value: u64) {
    // SAFETY: storage of the test.
    unsafe { write_volatile(at as *mut u64, value) }
}

fn load(at: u64) -> u64 {
    // SAFETY: storage of the test.
    unsafe { read_volatile(at as *const u64) }
}

fn trailer(block: u64) -> u64 {
    load(block + MIB - 64)
}

/// Samples for some intervals from DEAR on, with the table entry at TEAR. Returns TEAR and DEAR afterwards.
fn sample(controls: u64, tear: u64, dear: u64, intervals: u64) -> (u64, u64) {
    for block in [FIRST, SECOND] {
        store(block + MIB - 64, 0);
        store(block + MIB - 56, 0);
    }
    let request = SamplingRequest {
        state: LARGE_BLOCKS | controls,
        interval: INTERVAL,
        tear,
        dear,
        ignored: [0; 4],
    };
    check("LSCTL", lsctl(&request), 0);
    busy(intervals * INTERVAL);
    let information = qsi();
    holds("  still active", information.state & 3 != 0);
    sampling::stop();
    (information.tear, information.dear)
}

fn run() {
    // The table: its last entry in the first page, one in the second page, and the link to itself.
    store(TABLE + 4096 - 8, FIRST);
    store(TABLE + 4096, SECOND);
    // A table link has an origin on a quadword boundary: one entry before the first.
    store(TABLE + 4104, (TABLE + 4096 - 16) | 1);
    store(TABLE + 4096 - 16, FIRST);

    // Where a 4 KiB block would have its trailer, a large block has entries.
    let (tear, dear) = sample(BASIC, TABLE + 4096 - 8, FIRST + 4096 - 64, 8);
    check("TEAR", tear, TABLE + 4096 - 8);
    holds(
        "entries where a small block has its trailer, and in the next page",
        (FIRST + 4096 + 3 * 32..=FIRST + 4096 + 7 * 32).contains(&dear),
    );
    check("  first entry", load(FIRST + 4096 - 64) >> 48, 1);
    check("  an entry of the next page", load(FIRST + 4096) >> 48, 1);
    check("  not full", trailer(FIRST) & FULL, 0);

    // An entry across the boundary of two pages.
    let combined = 32 + u64::from(qsi().diagnostic_entry_size);
    let dear = FIRST + 3 * 4096 - 48;
    let (_, after) = sample(BASIC | DIAGNOSTIC, TABLE + 4096 - 8, dear, 1);
    holds(
        "at most two entries",
        after == dear + combined || after == dear + 2 * combined,
    );
    check("  basic part", load(dear) >> 48, 1);
    // The diagnostic part has format, indications and the count of traps, the PSW mask, and, from the
    // boundary on, three address spaces and the general registers.
    check(
        "  PSW mask before the boundary",
        load(dear + 40) & 0xFFFF_CFFF_FFFF_FFFF,
        0x1_8000_0000,
    );
    check(
        "  general register 15 behind the boundary is the stack",
        load(dear + 72) >> 32,
        0,
    );

    // The block becomes full, and the next one is that of the table's next page.
    let dear = FIRST + MIB - 64 - 3 * 32;
    let (tear, dear) = sample(BASIC, TABLE + 4096 - 8, dear, 8);
    check("the first block is full", trailer(FIRST) & FULL, FULL);
    check(
        "  TEAR designates the entry in the next page",
        tear,
        TABLE + 4096,
    );
    holds(
        "  DEAR is in the second block",
        (SECOND + 3 * 32..=SECOND + 6 * 32).contains(&dear),
    );
    check(
        "  bytes before the trailer",
        load(FIRST + MIB - 96) >> 48,
        1,
    );

    // And back by the table link.
    let dear = SECOND + MIB - 64;
    let (tear, dear) = sample(BASIC, TABLE + 4096, dear, 4);
    check("the second block is full", trailer(SECOND) & FULL, FULL);
    check("  TEAR went by the table link", tear, TABLE + 4096 - 16);
    holds(
        "  DEAR is in the first block",
        (FIRST + 2 * 32..=FIRST + 5 * 32).contains(&dear),
    );
}
