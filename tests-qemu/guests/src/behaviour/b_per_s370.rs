//! Program-event recording in the form of System/370.

use guests::check::check;
use guests::recording::{FETCH, REGISTERS, Run, STORE_REAL, text};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording",
    native = false,
    options = "--per-format s370"
);
guests::case!(run);

/// LGHI 2,5; LGHI 3,6.
const TEXT: [u8; 8] = [0xA7, 0x29, 0, 5, 0xA7, 0x39, 0, 6];

fn run() {
    let (events, _) = Run::of(FETCH | REGISTERS | 0x1000).execute(&TEXT);
    let number = |n: usize| {
        let event: &guests::recording::Event = &events[n];
        let [a, b, c, d, e, f, rest @ ..] = event.stored;
        check("interruption code", event.code, 0x80);
        check(
            "locations 156-159 are left alone",
            u32::from_be_bytes(rest),
            0xEEEE_EEEE,
        );
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    };
    check(
        "only the fetch of the first instruction",
        number(0),
        0x4000 << 32 | text(),
    );
    check(
        "fetch and register of the second one",
        number(1),
        0x5000 << 32 | (text() + 4),
    );
    let mut run = Run::of(FETCH).within(4, 4);
    run.range = run.range.map(|at| at | 0xFF << 24);
    let (events, _) = run.execute(&TEXT);
    check("addresses have 24 bits", events.len() as u64, 2);
    check("and the end has no event", events[1].code, 1);
    // STURG 2,1.
    let (events, _) = Run::of(STORE_REAL).execute(&[0xB9, 0x25, 0x00, 0x21]);
    check(
        "there is no store-using-real-address event",
        events.len() as u64,
        1,
    );
}
