//! Program-event recording: events are lost while recording is disabled, and a change takes effect from the next
//! instruction on.

use guests::recording::{self, BRANCH, Event, FETCH, REGISTERS, Run, STORE, expect, text};
use guests::shows_per;

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Operation",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// MVI 0(1),5; LGHI 2,5; BRC 15,*+4: each has an event of its own.
const EVENTFUL: [u8; 12] = [0x92, 5, 0x10, 0, 0xA7, 0x29, 0, 5, 0xA7, 0xF4, 0, 2];
const EVENTS: u64 = BRANCH | STORE | REGISTERS | 0xFFFF;

/// The interruptions of the three instructions, between two instructions of four bytes.
fn between(before: [u8; 4], after: [u8; 4]) -> &'static [Event] {
    let mut words = [0; 22];
    words[..4].copy_from_slice(&before);
    words[4..16].copy_from_slice(&EVENTFUL);
    words[16..20].copy_from_slice(&after);
    // NOPR: an event that was kept would be indicated at its end.
    words[20..].copy_from_slice(&[0x07, 0]);
    Run::of(EVENTS).within(4096, 4096).execute(&words).0
}

/// BRC 0,*+4: no event.
const NOTHING: [u8; 4] = [0xA7, 0x04, 0, 2];
/// STNSM 16(1),BF and STOSM 16(1),40: the PER mask becomes zero and one.
const OFF: [u8; 4] = [0xAC, 0xBF, 0x10, 16];
const ON: [u8; 4] = [0xAD, 0x40, 0x10, 16];
/// LCTL 9,9,32(1) and LCTL 9,9,36(1).
const FIRST_MASKS: [u8; 4] = [0xB7, 0x99, 0x10, 32];
const SECOND_MASKS: [u8; 4] = [0xB7, 0x99, 0x10, 36];

fn run() {
    let three = [
        "0080 4 20 0004 0008 cc0",
        "0080 4 10 0008 000c cc0",
        "0080 4 80 000c 0010 cc0",
        "0001 2 - 0018 cc0",
    ];
    let right = expect(
        "three instructions with an event",
        between(NOTHING, NOTHING),
        &three,
    );
    shows_per!([7, 18], right);
    let lost = ["0001 2 - 0018 cc0"];
    let right = expect(
        "while the PER mask is zero they have none, and none is kept",
        between(OFF, ON),
        &lost,
    );
    shows_per!([17, 25, 27], right);
    let masks = |first: u64, second: u64| {
        recording::put(32, &(first as u32).to_be_bytes());
        recording::put(36, &(second as u32).to_be_bytes());
        between(FIRST_MASKS, SECOND_MASKS)
    };
    let right = expect(
        "nor is one while the event masks are zeros",
        masks(0xFFFF, EVENTS),
        &lost,
    );
    shows_per!([8, 26, 28], right);
    let right = expect(
        "each event has its mask: storage alteration, branching",
        masks(STORE | BRANCH | 0xFFFF, EVENTS),
        &[three[0], three[2], lost[0]],
    );
    shows_per!([8, 26, 28], right);
    let right = expect(
        "general-register alteration",
        masks(REGISTERS | 0xFFFF, 0),
        &[three[1], lost[0]],
    );
    shows_per!([8, 26, 28], right);
    let right = expect(
        "a mask of another register",
        masks(REGISTERS | 0xDFFF, EVENTS),
        &lost,
    );
    shows_per!([12, 26, 28], right);
    enablement();
}

/// An instruction that starts recording is not recorded itself.
fn enablement() {
    // STNSM 16(1),BF; STOSM 16(1),40, which also alters storage; NOPR.
    let right = expect(
        "STOSM that begins recording has no event, the next instruction has",
        Run::of(FETCH | STORE)
            .within(4, 8)
            .execute(&[0xAC, 0xBF, 0x10, 16, 0xAD, 0x40, 0x10, 16, 0x07, 0])
            .0,
        &["0080 2 40 0008 000a cc0", "0001 2 - 000c cc0"],
    );
    shows_per!([27], right);
    // LCTL 9,9,32(1) enables fetch events; NOPR.
    recording::put(32, &(FETCH as u32).to_be_bytes());
    let right = expect(
        "LCTL that asks for an event does not have it",
        Run::of(REGISTERS | 1)
            .within(0, 4)
            .execute(&[0xB7, 0x99, 0x10, 32, 0x07, 0])
            .0,
        &["0080 2 40 0004 0006 cc0", "0001 2 - 0008 cc0"],
    );
    shows_per!([28], right);
    // LCTL 10,11,32(1): from then on the range contains both instructions; NOPR.
    recording::put(32, &(text() as u32).to_be_bytes());
    recording::put(36, &(text() as u32 + 4).to_be_bytes());
    let right = expect(
        "LCTL that moves the range to itself is not in it yet",
        Run::of(FETCH)
            .within(0x100, 0x100)
            .execute(&[0xB7, 0xAB, 0x10, 32, 0x07, 0])
            .0,
        &["0080 2 40 0004 0006 cc0", "0001 2 - 0008 cc0"],
    );
    shows_per!([29], right);
}
