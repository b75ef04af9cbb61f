//! Program-event recording: sixteen masks, one for each general register.

use guests::recording::{Event, REGISTERS, Run, expect, text};
use guests::shows_per;

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Control Register Allocation",
    native = false,
    options = "--per; --per-format s370"
);
guests::case!(run);

/// How far behind the first instruction the one that alters register n stands.
fn place(n: usize) -> u64 {
    4 * n as u64
}

/// Whether the interruptions are those of the registers of a mask, in order, and then the end.
fn are_those_of(events: &[Event], mask: u16) -> bool {
    let mut events = events.iter();
    for register in (0..16).filter(|n| mask & 0x8000 >> n != 0) {
        let is_there = events.next().is_some_and(|event| {
            event.code == 0x80
                && event.stored[0] == 0x10
                && event.per_address() == (text() + place(register), true)
        });
        if !is_there {
            return false;
        }
    }
    events.next().is_some_and(|event| event.code == 1) && events.next().is_none()
}

fn run() {
    // LGHI 0,1 to LGHI 15,1.
    let mut words = [0; 64];
    for (n, word) in words.chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&[0xA7, (n as u8) << 4 | 9, 0, 1]);
    }
    let altered = |mask: u16| {
        let (events, after) = Run::of(REGISTERS | u64::from(mask))
            .with(1, 0)
            .execute(&words);
        are_those_of(events, mask) && after == [1; 16]
    };
    for n in 0..16 {
        let mask = 0x8000 >> n;
        shows_per!([6, 9, 10, 11], altered(mask));
        shows_per!([10, 12], altered(!mask));
    }
    shows_per!([11], altered(0xFFFF));
    shows_per!([12], altered(0));
    // LM 14,1,0(1): registers 14, 15, 0 and 1; register 1 becomes zero.
    let loaded = |mask| {
        Run::of(REGISTERS | mask)
            .execute(&[0x98, 0xE1, 0x10, 0])
            .0
            .len()
    };
    guests::recording::put(0, &[1; 12]);
    guests::recording::put(12, &[0; 4]);
    shows_per!([10], loaded(0xC003) == 2 && loaded(0x0001) == 2);
    shows_per!([10], loaded(0x8000) == 2 && loaded(0x3FFC) == 1);
    let right = expect(
        "several registers of one instruction are one event",
        Run::of(REGISTERS | 0xFFFF)
            .execute(&[0x98, 0xE1, 0x10, 0])
            .0,
        &["0080 4 10 0000 0004 cc0", "0001 2 - 0006 cc0"],
    );
    shows_per!([6, 11], right);
}
