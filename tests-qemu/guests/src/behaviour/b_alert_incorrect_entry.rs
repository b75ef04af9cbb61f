//! Incorrect sample-data-block-table entry: a table-link entry that designates another one, and a last
//! entry of a table that is a block-link entry, give a measurement alert (40000000) and make sampling
//! inactive. A table-link entry to a block-link entry is followed.

use guests::check::{check, holds};
use guests::externals;
use guests::insn::control::{stnsm, stosm};
use guests::insn::measurement::{SamplingRequest, lsctl, qsi};
use guests::sampling::{self, ENTRIES, FULL, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Incorrect Sample-Data-Block-Table Entry",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn attempt(name: &str, request: &SamplingRequest, alerts: usize) {
    check(name, lsctl(request), 0);
    stosm::<0x01>();
    busy(INTERVAL * (ENTRIES as u64 + 20));
    stnsm::<0xFE>();
    check("  alerts", externals::recorded(), alerts);
    if alerts != 0 {
        shows!("ALERT-8", externals::get(0).parameter, 0x4000_0000);
        shows!("ALERT-1", externals::take_codes(), 0x1407);
        shows!(
            ["ALERT-34", "STRANSITION-15", "UPDATE-12"],
            qsi().state & 0x0303,
            0x0200
        );
    } else {
        check("  active", qsi().state & 0x0303, 0x0202);
    }
    check(
        "  the first block is full",
        sampling::trailer(0, 0) & FULL,
        FULL,
    );
}

fn run() {
    externals::record();
    // Table-link to a table-link.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(1, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::table() | 1);
    attempt("a table-link entry designates another", &request, 1);
    shows!(["ALERT-6", "UPDATE-13"], qsi().state & 0x0303, 0x0200);
    check("  disable", sampling::stop(), 0);
    // The last entry before the boundary is a block-link.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(510, sampling::block(0));
    sampling::set_table_entry(511, sampling::block(1));
    attempt(
        "the last entry is a block-link entry",
        &SamplingRequest {
            tear: sampling::table() + 510 * 8,
            ..request
        },
        1,
    );
    shows!(["ALERT-7", "UPDATE-14"], qsi().state & 0x0303, 0x0200);
    check("  disable", sampling::stop(), 0);
    // Correct: the last entry is a table-link to a block-link entry.
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(511, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::block(2));
    sampling::set_table_entry(513, sampling::table() | 1);
    attempt(
        "the last entry is a table-link entry",
        &SamplingRequest {
            tear: sampling::table() + 510 * 8,
            ..request
        },
        0,
    );
    holds(
        "  TEAR designates the second table",
        qsi().tear == sampling::second_table(),
    );
    check("  disable", sampling::stop(), 0);
    holds(
        "  the block of the second table has samples",
        sampling::stored(2) >= 15,
    );
}
