//! What it costs a program to be told of a range that it does not come to.
//!
//! A loop of loads and stores is executed, first with nothing recorded, then with its fetches, then with its stores
//! recorded in a range that is elsewhere, and last with a range beside which it stores. Each part prints how long it
//! took. In exact mode these are instructions, the machine's own among them, as in `bench`. In real-time mode, and on
//! bare QEMU, whose own recording is used there, they are nanoseconds of the host: then it ends with a failure, but its
//! lines can be compared.
#![no_std]
#![no_main]

use guests::check::holds;
use guests::dat::{self, WINDOW};
use guests::insn::cpu::Page;
use guests::psw::DAT;
use guests::recording::{FETCH, Run, STORE};

guests::clause!(
    "measure: instructions outside of a range that is recorded",
    native = false,
    options = "--per --no-sampling"
);
guests::guest!(run);

/// Rounds of the loop.
const ROUNDS: u64 = 1_000_000;
/// The most instructions that the machine adds to all of the rounds.
const MOST: u64 = 100;
/// Rounds while each stores beside the range.
const BESIDE: u64 = 1000;

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

fn run() {
    dat::prepare();
    let frames = (&raw const FRAMES) as u64;
    dat::set_window(0, frames);
    dat::set_window(1, frames + 0x1000);
    let plain = took("plain", 0, [0, 0], ROUNDS);
    let fetch = took("fetch", FETCH, [WINDOW, WINDOW + 7], ROUNDS);
    let store = took("store", STORE, [WINDOW + 0x1800, WINDOW + 0x1807], ROUNDS);
    let few = took("plain", 0, [0, 0], BESIDE);
    let beside = took("beside", STORE, [WINDOW + 0x800, WINDOW + 0x807], BESIDE);
    let own = fetch.max(store).saturating_sub(plain);
    guests::println!("the machine's own outside of the range: {own}");
    let per_store = beside.saturating_sub(few) / BESIDE;
    guests::println!("path per-store {per_store}");
    holds("outside of the range nothing is added", own <= MOST);
}

/// Nanoseconds that the loop takes while some events in a range are recorded.
fn took(name: &str, events: u64, range: [u64; 2], rounds: u64) -> u64 {
    // STCKF 0(1); LG 3,8(1); AGHI 3,1; STG 3,8(1); AGR 4,3; BRCTG 2,*-20; STCKF 16(1).
    const TEXT: [u8; 32] = [
        0xB2, 0x7C, 0x10, 0, 0xE3, 0x30, 0x10, 0x08, 0, 0x04, 0xA7, 0x3B, 0, 1, 0xE3, 0x30, 0x10,
        0x08, 0, 0x24, 0xB9, 0x08, 0, 0x43, 0xA7, 0x27, 0xFF, 0xF6, 0xB2, 0x7C, 0x10, 0x10,
    ];
    let mut run = Run::of(events).in_mode(DAT).with(1, WINDOW).with(2, rounds);
    run.range = range;
    // The first time tables are filled.
    let _ = run.with(2, 1).execute(&TEXT);
    let _ = run.execute(&TEXT);
    // SAFETY: two doublewords of the page.
    let [first, last] = [0, 2].map(|n| unsafe { (frames()).add(n).read_volatile() });
    let nanoseconds = ((last - first) * 1000 + 2048) / 4096;
    guests::println!("{name}: {rounds} rounds in {nanoseconds} ns");
    nanoseconds
}

fn frames() -> *const u64 {
    (&raw const FRAMES).cast()
}
