//! Entries of sample-data-block tables that lead to low storage, the hardware system area, storage that does not
//! exist, themselves or trailers: they give an alert and make sampling inactive, the registers show how far the
//! update process came, and nothing is stored outside the blocks. Where storage is merely unusual (a table in a
//! trailer, in a block, or in the page that is executed), the entry is followed.

use guests::insn::cpu::Page;
use guests::insn::measurement::{SamplingRequest, lpp, lsctl, qsi};
use guests::misdirected::{
    self, Ended, INCORRECT, INTERVAL, INVALID, LOOP, attempt_with, load, no_room, not_available,
    store,
};
use guests::sampling::{self, ENTRIES, FULL, TRAILER, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process; Sample-Data-Block Table",
    native = false
);
guests::case!(run);

const SIZE: u64 = 32;

/// Samples once with this table entry as the next one, at this place.
fn entry(at: u64, value: u64) -> Ended {
    attempt_with(&[(at, value)], at - 8, no_room())
}

fn invalid_blocks() {
    let at = sampling::table() + 8;
    for origin in [0, 0x1000, 0x1FFE] {
        let expected = Ended::alert(INVALID, at, origin & !0xFFF);
        shows!(
            ["UPDATE-7", "UPDATE-9", "STEP-12", "STEP-22", "ALERT-3"],
            entry(at, origin),
            expected
        );
    }
    for origin in not_available() {
        let expected = Ended::alert(INVALID, at, origin);
        shows!(
            ["UPDATE-7", "UPDATE-11", "STEP-12", "STEP-22", "ALERT-3"],
            entry(at, origin),
            expected
        );
        // The target of a table-link entry may be just as bad.
        let table = sampling::second_table();
        let after = attempt_with(&[(at, table | 1), (table, origin)], at - 8, no_room());
        shows!(
            ["UPDATE-7", "STEP-11"],
            after,
            Ended::alert(INVALID, table, origin)
        );
    }
    shows!("STEP-4", sampling::trailer(0, 0) & FULL, FULL);
}

fn invalid_tables() {
    let at = sampling::table() + 8;
    for origin in [0, 0x1000, 0x1FF0] {
        let expected = Ended::alert(INVALID, origin, no_room());
        shows!(
            ["UPDATE-8", "UPDATE-9", "STEP-13", "STEP-23", "ALERT-4"],
            entry(at, origin | 1),
            expected
        );
    }
    for origin in not_available() {
        let expected = Ended::alert(INVALID, origin, no_room());
        shows!(
            ["UPDATE-8", "UPDATE-11", "STEP-13", "STEP-23", "ALERT-4"],
            entry(at, origin | 1),
            expected
        );
        let last = sampling::table() + 511 * 8;
        shows!(["UPDATE-8", "STEP-9"], entry(last, origin | 1), expected);
    }
}

/// A table that has only its link, which designates the table itself.
fn link_to_itself() {
    let at = sampling::table() + 16;
    shows!(
        ["UPDATE-12", "UPDATE-13", "STEP-10", "STEP-20"],
        entry(at, at | 1),
        Ended::alert(INCORRECT, at, no_room())
    );
}

/// The last doublewords of storage: a table of one block-link entry, behind which storage ends.
fn table_at_the_end() {
    let last = misdirected::end() - 8;
    let origin = last - 8;
    let link = (sampling::table() + 8, origin | 1);
    let after = attempt_with(
        &[
            link,
            (origin, sampling::block(2)),
            (last, sampling::block(3)),
        ],
        sampling::table(),
        no_room(),
    );
    shows!(
        "STEP-11",
        after,
        Ended::active(origin, sampling::block(2) + SIZE)
    );
    shows!(
        ["UPDATE-14", "STEP-8", "STEP-19"],
        entry(last, sampling::block(3)),
        Ended::alert(INCORRECT, last, no_room())
    );
    shows!("STEP-9", entry(last, sampling::table() | 1), {
        // Its first entry links block 0, which is full.
        Ended::active(sampling::table(), sampling::block(0))
    });
}

/// Tables in trailers: an entry there may belong to the program, or to the machine, whose fields are taken for an
/// entry.
fn tables_in_trailers() {
    let at = sampling::table() + 8;
    let origin = sampling::block(3) + TRAILER as u64 + 48;
    let after = attempt_with(
        &[(at, origin | 1), (origin, sampling::block(2))],
        at - 8,
        no_room(),
    );
    shows!(
        ["STEP-11", "TRAILER-14"],
        after,
        Ended::active(origin, sampling::block(2) + SIZE)
    );
    // The trailer of the block that has just become full: F, T and the sizes, which are no address.
    let origin = sampling::block(0) + TRAILER as u64;
    let after = entry(at, origin | 1);
    let dear = sampling::trailer(0, 0) & !0xFFF;
    shows!(
        ["UPDATE-7", "STEP-11"],
        after,
        Ended::alert(INVALID, origin, dear)
    );
}

#[repr(C, align(4096))]
struct Both([u64; 512]);

static mut BOTH: Both = Both([0; 512]);

/// A block with a table in it: samples overwrite the entries, and the next entry is what they left there. Here it is
/// the program parameter, so the program knows its value.
fn block_that_is_a_table() {
    let both = &raw mut BOTH as u64;
    let (tear, parameter) = (both + 0x808, both + 0x810);
    sampling::stop();
    lpp(sampling::block(3));
    lsctl(&SamplingRequest {
        tear,
        dear: both,
        ..sampling::prepare(4, INTERVAL)
    });
    lpp(sampling::block(3));
    busy(INTERVAL * ENTRIES as u64 + INTERVAL / 2);
    shows!(
        "STEP-3",
        misdirected::ended(),
        Ended::active(tear, both + TRAILER as u64)
    );
    busy(INTERVAL);
    shows!(
        ["STEP-7", "STEP-12"],
        misdirected::ended(),
        Ended::active(parameter, sampling::block(3) + SIZE)
    );
    lpp(0);
}

static mut CODE: Page = Page([0; 4096]);

/// The page that is executed is a table, and its own entry makes it the next block, too.
fn executed_page() {
    const LOOP_AT: u64 = 0x800;
    const TABLE_AT: u64 = 0x880;
    let page = &raw mut CODE as u64;
    store(page + LOOP_AT, LOOP);
    store(page + TABLE_AT, page);
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_table_entry(1, page + TABLE_AT | 1);
    lsctl(&SamplingRequest {
        dear: no_room(),
        ..request
    });
    // SAFETY: the page holds the loop there. Samples go in front of it.
    unsafe { misdirected::perform_loop(page + LOOP_AT) };
    let after = qsi();
    shows!(
        ["STEP-11", "STEP-15"],
        (after.state & 0x303, after.tear, after.dear),
        (0x202, page + TABLE_AT, page + 4 * SIZE)
    );
    for n in 0..4 {
        let at = page + n * SIZE;
        shows!(
            "STEP-15",
            (load(at) >> 48, load(at + 8)),
            (1, page + LOOP_AT)
        );
    }
}

fn run() {
    misdirected::one_by_one(&[
        invalid_blocks,
        invalid_tables,
        link_to_itself,
        table_at_the_end,
        tables_in_trailers,
        block_that_is_a_table,
        executed_page,
    ]);
}
