//! The cost to a program of a recorded range outside of which it is.
//!
//! A loop of loads and stores is executed, first with nothing recorded, then with its fetches and then with its
//! stores recorded in a range elsewhere, and with a range beside its stores. Last comes a loop that calls a routine
//! beside a range of instructions. Each part prints how long it took. In exact mode these are instructions, the
//! machine's own included, as in `bench`. In real-time mode, and on bare QEMU with its own recording, they are
//! nanoseconds of the host: the guest then ends with a failure, but its lines can be compared.
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
    options = "--no-sampling"
);
guests::guest!(run);

/// Rounds of the loop.
const ROUNDS: u64 = 1_000_000;
/// Rounds while each stores beside the range.
const BESIDE: u64 = 1000;
/// Rounds that each execute an instruction beside the range, in its page.
const VISITS: u64 = 1000;
/// The most instructions that the machine adds to each of these.
const MOST_OF_A_VISIT: u64 = 4000;

/// The most instructions of the machine for a store beside the range.
const MOST_OF_A_STORE: u64 = 410;

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

fn run() {
    dat::prepare();
    dat::set_window(0, frames());
    dat::set_window(1, frames() + 0x1000);
    for place in [
        Place {
            mode: DAT,
            at: WINDOW,
            most: 100,
        },
        Place {
            mode: 0,
            at: frames(),
            // A page may be filled meanwhile, which takes longer while something is recorded.
            most: 2000,
        },
    ] {
        guests::println!("DAT {}", if place.mode == DAT { "on" } else { "off" });
        outside(place);
        visits(place);
    }
}

/// Where the two pages are.
#[derive(Clone, Copy)]
struct Place {
    /// Bits of the PSW.
    mode: u64,
    /// The first one's address.
    at: u64,
    /// The most instructions that the machine adds to all rounds of the loop.
    most: u64,
}

impl Place {
    /// A range of eight bytes.
    fn range(self, offset: u64) -> [u64; 2] {
        [self.at + offset, self.at + offset + 7]
    }
}

fn outside(place: Place) {
    let took = |name, events, range, rounds| took(&LOOP, name, events, place, range, rounds);
    let plain = took("plain", 0, 0, ROUNDS);
    let fetch = took("fetch", FETCH, 0, ROUNDS);
    let store = took("store", STORE, 0x1800, ROUNDS);
    let few = took("plain", 0, 0, BESIDE);
    let beside = took("beside", STORE, 0x800, BESIDE);
    let own = fetch.max(store).saturating_sub(plain);
    guests::println!("the machine's own outside of the range: {own}");
    let per_store = beside.saturating_sub(few) / BESIDE;
    guests::println!("path per-store {per_store}");
    holds(
        "a store beside the range is within its budget",
        per_store <= MOST_OF_A_STORE,
    );
    holds("outside of the range nothing is added", own <= place.most);
}

fn visits(place: Place) {
    let routine = (&raw mut FRAMES).cast::<u8>().wrapping_add(0x1100);
    // SAFETY: BR 14, in the second page, which holds nothing else.
    unsafe { routine.cast::<u16>().write_volatile(0x07FE) };
    let took = |events, rounds| took(&VISITING, "visits", events, place, 0x1800, rounds);
    let own = took(FETCH, VISITS).saturating_sub(took(0, VISITS)) / VISITS;
    guests::println!("path per-visit {own}");
    holds(
        "a visit of the page of the range is within its budget",
        own <= MOST_OF_A_VISIT,
    );
}

/// STCKF 0(1); LG 3,8(1); AGHI 3,1; STG 3,8(1); AGR 4,3; BRCTG 2,*-20; STCKF 16(1).
const LOOP: [u8; 32] = [
    0xB2, 0x7C, 0x10, 0, 0xE3, 0x30, 0x10, 0x08, 0, 0x04, 0xA7, 0x3B, 0, 1, 0xE3, 0x30, 0x10, 0x08,
    0, 0x24, 0xB9, 0x08, 0, 0x43, 0xA7, 0x27, 0xFF, 0xF6, 0xB2, 0x7C, 0x10, 0x10,
];
/// STCKF 0(1); BAS 14,256(5); BRCTG 2,*-4; STCKF 16(1).
const VISITING: [u8; 16] = [
    0xB2, 0x7C, 0x10, 0, 0x4D, 0xE0, 0x51, 0, 0xA7, 0x27, 0xFF, 0xFE, 0xB2, 0x7C, 0x10, 0x10,
];

/// Nanoseconds that a loop takes while some events in a range are recorded.
fn took(text: &[u8], name: &str, events: u64, place: Place, range: u64, rounds: u64) -> u64 {
    let mut run = Run::of(events).in_mode(place.mode);
    run = run.with(1, place.at).with(5, place.at + 0x1000);
    run.range = place.range(range);
    // The first time tables are filled.
    let _ = run.with(2, 1).execute(text);
    let _ = run.with(2, rounds).execute(text);
    let times = frames() as *const u64;
    // SAFETY: two doublewords of the first page.
    let [first, last] = [0, 2].map(|n| unsafe { times.add(n).read_volatile() });
    let nanoseconds = ((last - first) * 1000 + 2048) / 4096;
    guests::println!("{name}: {rounds} rounds in {nanoseconds} ns");
    nanoseconds
}

fn frames() -> u64 {
    (&raw const FRAMES) as u64
}
