//! Diagnostic and combined sampling: the contents of entries, the place of a combined entry, and what happens when it
//! finds no room.

use core::ptr::read_volatile;

use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, SamplingRequest, lsctl,
    qctri, qsi,
};
use guests::sampling::{self, FULL, TRAILER, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Diagnostic-Sampling Data Entry; Combined-Sampling Data Entry",
    native = false,
    options = "--operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON';\
        --model z10 --operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON';\
        --model zec12 --operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON';\
        --model z16 --operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON';\
        --secure=full --operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const BASIC: u64 = ENABLE_BASIC | ACTIVATE_BASIC;
const DIAGNOSTIC: u64 = ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;

fn halfword(at: u64) -> u16 {
    // SAFETY: inside a block.
    unsafe { read_volatile(at as *const u16) }
}

/// Samples for this many intervals. Returns where the next entry would go.
fn sample(request: SamplingRequest, intervals: u64) -> u64 {
    lsctl(&request);
    busy(intervals * INTERVAL + INTERVAL / 2);
    qsi().dear
}

fn run() {
    let information = qsi();
    let size = u64::from(information.diagnostic_entry_size);
    shows!("QSI-2", information.state >> 16, 3);
    let only = |state| SamplingRequest {
        state,
        ..sampling::prepare(4, INTERVAL)
    };
    // Each function by itself.
    let request = only(DIAGNOSTIC);
    shows!(["LSCTL-6", "SAMPLING-5"], lsctl(&request), 0);
    shows!(
        ["QSI-3", "QSI-4", "LSCTL-6", "SAMPLING-5"],
        qsi().state & 0x303,
        0x101
    );
    let next = sample(request, 5);
    shows!(
        ["DSDE-4", "QSI-7", "SDB-3"],
        next - sampling::block(0),
        5 * size
    );
    for n in 0..5 {
        let at = sampling::block(0) + n * size;
        let (format, indications) = (halfword(at), halfword(at + 2));
        shows!(
            ["DSDE-1", "SAMPLING-4", "SDB-3"],
            (0x8001..=0x8007).contains(&format)
        );
        shows!(["DSDE-2", "DSDE-3"], indications & 0xF001, 0);
    }
    if qctri().second_version == 1 {
        shows!("DSDE-1", halfword(sampling::block(0)), 0x8001);
    }
    sampling::stop();
    let next = sample(only(BASIC), 5);
    shows!(["SDB-2", "SAMPLING-5"], next - sampling::block(0), 5 * 32);
    shows!(["LSCTL-5", "SAMPLING-5"], qsi().state & 0x303, 0x202);
    sampling::stop();
    // Both.
    let both = size + 32;
    let next = sample(only(BASIC | DIAGNOSTIC), 5);
    shows!(
        ["COMBINED-1", "SDB-4", "SAMPLING-2"],
        next - sampling::block(0),
        5 * both
    );
    for n in 0..5 {
        let at = sampling::block(0) + n * both;
        shows!(
            ["COMBINED-1", "SDB-4"],
            (halfword(at), halfword(at + 32) >= 0x8001),
            (1, true)
        );
        // LS is zero: behind the header there is the PSW, with 64-bit addressing.
        shows!(
            "DSDE-6",
            (halfword(at + 4) & 0x1000, halfword(at + 40 + 4) & 0x8000),
            (0, 0x8000)
        );
    }
    shows!("SAMPLING-2", qsi().tear, sampling::table());
    sampling::stop();
    // Room for a basic entry only: the combined entry goes into the next block as a whole.
    let request = only(BASIC | DIAGNOSTIC);
    let almost = sampling::block(0) + TRAILER as u64 - both + 8;
    let next = sample(
        SamplingRequest {
            dear: almost,
            ..request
        },
        3,
    );
    shows!(["COMBINED-2", "COMBINED-4"], halfword(almost), 0);
    shows!("COMBINED-2", sampling::trailer(0, 0) & FULL, FULL);
    shows!(
        ["COMBINED-3", "COMBINED-4"],
        (halfword(sampling::block(1)), next - sampling::block(1)),
        (1, 3 * both)
    );
    let sizes = sampling::trailer(0, 0) & 0xFFFF_FFFF;
    shows!(["TRAILER-7", "TRAILER-8"], sizes, 32 << 16 | size);
    sampling::stop();
    // Room for exactly one combined entry.
    let request = only(BASIC | DIAGNOSTIC);
    let exact = sampling::block(0) + TRAILER as u64 - both;
    sample(
        SamplingRequest {
            dear: exact,
            ..request
        },
        1,
    );
    shows!(
        ["COMBINED-2", "COMBINED-4"],
        (halfword(exact), halfword(exact + 32) >= 0x8001),
        (1, true)
    );
    sampling::stop();
    // No room anywhere.
    let request = only(BASIC | DIAGNOSTIC);
    sampling::set_trailer(1, 0, FULL);
    sample(
        SamplingRequest {
            dear: almost,
            ..request
        },
        3,
    );
    shows!(
        "COMBINED-5",
        (sampling::trailer(0, 1), sampling::trailer(1, 1)),
        (0, 3)
    );
    sampling::stop();
    // A request for a state of both functions that one of them cannot enter.
    lsctl(&only(ENABLE_BASIC));
    shows!(
        "LSCTL-8",
        (
            lsctl(&only(BASIC | ACTIVATE_DIAGNOSTIC)),
            qsi().state & 0x303
        ),
        (3, 0x200)
    );
    lsctl(&only(ENABLE_DIAGNOSTIC));
    shows!("SAMPLING-5", qsi().state & 0x303, 0x100);
    sampling::stop();
}
