//! The extended counters of the translation-lookaside buffer: entries written for operands and for instructions, the
//! cycles that this takes, and which state counts them.

use guests::check::{check, holds};
use guests::dat::{self, WINDOW};
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set, stcctm};
use guests::insn::storage::ptlb;

guests::clause!(
    "SA23-2260, Extended Counter Set; SA23-2261, TLB counters",
    native = false,
    options = "--operator 'AUTH CPU 0 COUNTERS EXTENDED ON'"
);
guests::case!(run);

const PAGES: u64 = 100;
const INACTIVE: u64 = controls(set::EXTENDED, 0);
const ACTIVE: u64 = controls(set::EXTENDED, set::EXTENDED);

/// Numbers with counter second version number 5 and above.
const DATA_WRITES: u64 = 129;
const DATA_MISSES: u64 = 130;
const INSTRUCTION_WRITES: u64 = 134;
const INSTRUCTION_MISSES: u64 = 135;
const PAGE_WRITES: u64 = 137;
const SEGMENT_WRITES: u64 = 138;

fn counter(number: u64) -> u64 {
    let (cc, value) = ecctr(number);
    if cc != 0 {
        check("ECCTR", number << 8 | u64::from(cc), number << 8);
    }
    value
}

fn all() -> [u64; 6] {
    [
        DATA_WRITES,
        DATA_MISSES,
        INSTRUCTION_WRITES,
        INSTRUCTION_MISSES,
        PAGE_WRITES,
        SEGMENT_WRITES,
    ]
    .map(counter)
}

/// Fetches a byte of each page of the window.
fn touch() {
    for page in 0..PAGES {
        // SAFETY: the pages of the window are valid.
        unsafe { ((WINDOW + page * 4096) as *const u8).read_volatile() };
    }
}

fn run() {
    check("second version", qctri().second_version, 6);
    check(
        "authorized",
        qctri().authorization & set::EXTENDED,
        set::EXTENDED,
    );
    dat::prepare();
    for page in 0..PAGES {
        dat::set_window(page as usize, 0x80_0000 + (page << 12));
    }
    dat::on();
    check("activate", lcctl(ACTIVE), 0);
    // Executing a page of text for the first time empties the TLB, so the program does the same twice.
    let (mut warm, mut again) = ([0; 6], [0; 6]);
    for _ in 0..3 {
        touch();
        warm = all();
        touch();
        again = all();
    }
    holds("nothing is written for pages that are there", again == warm);
    ptlb();
    touch();
    let cold = all();
    let written = cold[0] - again[0];
    holds(
        "an entry for each page, and those of few others and their neighbours",
        (PAGES..PAGES + 64).contains(&written),
    );
    holds(
        "the text was missed as well",
        (1..64).contains(&(cold[2] - again[2])),
    );
    check(
        "every entry is that of a page",
        cold[4] - again[4],
        cold[0] - again[0] + cold[2] - again[2],
    );
    holds(
        "page tables are new",
        (1..16).contains(&(cold[5] - again[5])),
    );
    let cycles = cold[1] - again[1];
    holds(
        "a miss lasts",
        cycles > 100 * written && cycles < 2000 * written,
    );
    holds("a miss of text lasts", cold[3] - again[3] > 100);

    // Inactive counters stand still, and do not count what happened meanwhile afterwards.
    check("deactivate", lcctl(INACTIVE), 0);
    let inactive = all();
    ptlb();
    touch();
    check("an inactive counter", counter(DATA_WRITES), inactive[0]);
    check("SCCTR", scctr(DATA_WRITES, 1 << 40), 0);
    check("activate again", lcctl(ACTIVE), 0);
    touch();
    check(
        "counts from where it was set",
        counter(DATA_WRITES),
        1 << 40,
    );
    ptlb();
    touch();
    let more = counter(DATA_WRITES) - (1 << 40);
    holds("  and on", (PAGES..PAGES + 64).contains(&more));

    let mut list = [u64::MAX; 160];
    // Code in between may come to a page that is new.
    let code = stcctm::<0>(160, &mut list);
    let (data_writes, segment_writes) = (counter(DATA_WRITES), counter(SEGMENT_WRITES));
    check("STCCTM of all", code, 0);
    check(
        "  data writes",
        list[(DATA_WRITES - 128) as usize],
        data_writes,
    );
    check(
        "  segment writes",
        list[(SEGMENT_WRITES - 128) as usize],
        segment_writes,
    );
    check("  caches are not modelled", list[0], 0);
    let others = list.iter().enumerate().filter(|(n, value)| {
        **value != 0 && !matches!(*n as u64 + 128, 129 | 130 | 134 | 135 | 137 | 138)
    });
    check("  counters without a source", others.count() as u64, 0);
    check("disable", lcctl(0), 0);
    check(
        "a disabled counter is not available",
        ecctr(DATA_WRITES).0,
        3,
    );
    check("enable", lcctl(INACTIVE), 0);
    check("disabling cleared it", counter(DATA_WRITES), 0);
    lcctl(0);
    dat::off();
}
