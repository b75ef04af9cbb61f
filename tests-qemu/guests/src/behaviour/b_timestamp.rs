//! The timestamp of a block is the TOD clock as the program has set it.

use guests::insn::clock::{sck, stck};
use guests::insn::measurement::{SamplingRequest, lsctl};
use guests::misdirected::no_room;
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!("SA23-2260, Trailer Entries (timestamp)", native = false);
guests::case!(run);

const INTERVAL: u64 = 10_000;
/// Years before and behind the present, and in the last quarter of the clock's period.
const TIMES: [u64; 3] = [1 << 60, 0xC000_0000_0000_0000, 0xF000_0000_0000_0000];

/// Lets a block become full. Returns bits 0-63 of the TOD clock in its timestamp.
fn stamp() -> u64 {
    sampling::stop();
    lsctl(&SamplingRequest {
        dear: no_room(),
        ..sampling::prepare(2, INTERVAL)
    });
    busy(INTERVAL + INTERVAL / 2);
    sampling::stop();
    // The timestamp begins with the epoch index, of eight bits.
    sampling::trailer(0, 2) << 8 | sampling::trailer(0, 3) >> 56
}

fn run() {
    let began = stck();
    for time in TIMES {
        shows!("TRAILER-23", sck(time), 0);
        let before = stck();
        let stamp = stamp();
        shows!(
            "TRAILER-23",
            time <= before && before < stamp && stamp < stck()
        );
    }
    sck(began);
}
