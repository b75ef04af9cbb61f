//! TEAR and DEAR that designate low storage, the hardware system area, storage that does not exist or the inside of a
//! trailer: an alert, sampling inactive, and nothing stored outside the block. Storage that is merely unusual serves
//! as a block: the last page, the prefix area, the page that is executed.

use core::ptr::copy_nonoverlapping;

use guests::attempt;
use guests::insn::cpu::{Page, spx};
use guests::insn::measurement::{SamplingRequest, lsctl, qsi};
use guests::misdirected::{
    self, Ended, INTERVAL, INVALID, LOOP, attempt, load, no_room, not_available, store,
};
use guests::sampling::{self, FULL, TRAILER, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process; Invalid Entry Address",
    native = false
);
guests::case!(run);

const SIZE: u64 = 32;

fn data_entries() {
    let tear = sampling::table();
    for dear in [0, 0x200, 0x1000, 0x1FE0] {
        let expected = Ended::alert(INVALID, tear, dear);
        shows!(
            ["UPDATE-7", "UPDATE-9", "STEP-21", "ALERT-3"],
            attempt(tear, dear),
            expected
        );
    }
    for page in not_available() {
        for dear in [page, page + TRAILER as u64 - SIZE, page + TRAILER as u64] {
            let expected = Ended::alert(INVALID, tear, dear);
            shows!(
                ["UPDATE-7", "UPDATE-11", "STEP-21", "ALERT-3"],
                attempt(tear, dear),
                expected
            );
        }
    }
    for offset in [1, 16, 48, 63] {
        for block in [
            sampling::block(0),
            sampling::block(3),
            misdirected::end() - 4096,
        ] {
            let dear = block + TRAILER as u64 + offset;
            let expected = Ended::alert(INVALID, tear, dear);
            shows!(
                ["UPDATE-10", "STEP-1", "STEP-21", "ALERT-3"],
                attempt(tear, dear),
                expected
            );
        }
    }
    shows!("STEP-1", (sampling::stored(0), sampling::stored(3)), (0, 0));
}

fn table_entries() {
    // The entry behind the one that TEAR designates is fetched when the block becomes full.
    for tear in [0, 0x1000, 0x1FF0] {
        let expected = Ended::alert(INVALID, tear + 8, no_room());
        shows!(
            ["UPDATE-8", "UPDATE-9", "ALERT-4"],
            attempt(tear, no_room()),
            expected
        );
        shows!("STEP-4", sampling::trailer(0, 0) & FULL, FULL);
    }
    let first = [misdirected::end() - 8];
    for tear in first.into_iter().chain(not_available()) {
        let expected = Ended::alert(INVALID, tear.wrapping_add(8), no_room());
        shows!(
            ["UPDATE-8", "UPDATE-11", "ALERT-4"],
            attempt(tear, no_room()),
            expected
        );
    }
    let expected = Ended::alert(INVALID, 0, no_room());
    shows!(
        ["UPDATE-3", "UPDATE-8"],
        attempt(8_u64.wrapping_neg(), no_room()),
        expected
    );
    // In the trailer of the current block: the next entry is the trailer's first doubleword as it is now, with F and
    // T and the sizes of entries. As a block-link entry it designates nothing.
    let tear = sampling::block(0) + TRAILER as u64 - 8;
    let after = attempt(tear, no_room());
    let dear = sampling::trailer(0, 0) & !0xFFF;
    shows!(
        ["STEP-7", "STEP-12", "UPDATE-7"],
        after,
        Ended::alert(INVALID, tear + 8, dear)
    );
}

/// The last page of storage is a block like any other.
fn last_page() {
    let block = misdirected::end() - 4096;
    let dear = block + TRAILER as u64 - SIZE;
    let (trailer, entry) = (block + TRAILER as u64, dear);
    store(trailer, 0);
    shows!(
        ["STEP-3", "SDB-1"],
        (
            attempt(sampling::table(), dear),
            load(entry) >> 48,
            load(trailer)
        ),
        (Ended::active(sampling::table(), trailer), 1, 0)
    );
    busy(INTERVAL);
    shows!(
        ["STEP-4", "STEP-12"],
        (misdirected::ended(), load(trailer) & FULL),
        (
            Ended::active(sampling::table() + 8, sampling::block(1) + SIZE),
            FULL
        )
    );
}

#[repr(C, align(8192))]
struct PrefixArea([u8; 8192]);

static mut AREA: PrefixArea = PrefixArea([0; 8192]);

/// The registers hold absolute addresses: with another prefix the block is in the prefix area, and
/// absolute 0 stays out of reach.
fn prefix_area() {
    const UNUSED: u64 = 0xE00;
    let area = &raw mut AREA as u64;
    // SAFETY: the area is as long as the prefix area that is copied into it.
    unsafe {
        copy_nonoverlapping(
            core::ptr::without_provenance::<u8>(8),
            (area + 8) as *mut u8,
            8184,
        )
    };
    let before = load(UNUSED);
    spx(area as u32);
    let stored = attempt(sampling::table(), area + UNUSED);
    let seen = load(UNUSED) >> 48;
    let refused = attempt(sampling::table(), UNUSED);
    spx(0);
    shows!(
        ["STEP-3", "UPDATE-9"],
        (stored, seen, refused),
        (
            Ended::active(sampling::table(), area + UNUSED + SIZE),
            1,
            Ended::alert(INVALID, sampling::table(), UNUSED)
        )
    );
    shows!("UPDATE-9", load(UNUSED), before);
}

static mut CODE: Page = Page([0; 4096]);

/// Samples go into the page from which they are taken, and over instructions.
fn executed_page() {
    const LOOP_AT: u64 = 0x40;
    const OVERWRITTEN: u64 = 0x80;
    let page = &raw mut CODE as u64;
    store(page + LOOP_AT, LOOP);
    store(page + OVERWRITTEN, LOOP);
    // SAFETY: the page holds the loop there.
    let perform = |offset: u64| unsafe { misdirected::perform_loop(page + offset) };
    perform(LOOP_AT);
    perform(OVERWRITTEN);
    lsctl(&SamplingRequest {
        dear: page + OVERWRITTEN,
        ..sampling::prepare(4, INTERVAL)
    });
    perform(LOOP_AT);
    let after = qsi();
    sampling::stop();
    shows!(
        ["STEP-3", "UPDATE-2"],
        (after.state & 0x303, after.dear),
        (0x202, page + OVERWRITTEN + 4 * SIZE)
    );
    for n in 0..4 {
        let entry = page + OVERWRITTEN + n * SIZE;
        shows!(
            "STEP-3",
            (load(entry) >> 48, load(entry + 8)),
            (1, page + LOOP_AT)
        );
    }
    // Format code 0001 is not an instruction.
    let outcome = attempt!("basr %r14, {a}", a = in(reg_addr) page + OVERWRITTEN);
    shows!("STEP-3", outcome.code(), 1);
    perform(LOOP_AT);
}

fn run() {
    misdirected::one_by_one(&[
        data_entries,
        table_entries,
        last_page,
        prefix_area,
        executed_page,
    ]);
}
