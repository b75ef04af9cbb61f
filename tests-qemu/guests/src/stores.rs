//! Stores into a range and beside it, by the program's own instructions and by instructions that the machine
//! performs.

use crate::recording::{FETCH, Form, Run, STORE, STORE_REAL, expect, form, text};
use crate::shows_per;

/// No event, only the end.
const NOTHING: &str = "0001 2 - 0006 cc0";

/// Executes the list with these bits of the PSW in addition to the initial ones, in the supervisor state.
pub fn check(mode: u64) {
    let of = |events| Run::of(events).in_mode(mode);
    // MVI 0(1),5; MVI 7(1),5; MVI 8(1),5; L 2,0(1).
    const BYTES: [u8; 16] = [
        0x92, 5, 0x10, 0, 0x92, 5, 0x10, 7, 0x92, 5, 0x10, 8, 0x58, 0x20, 0x10, 0,
    ];
    shows_per!(
        [5, 13, 14],
        expect(
            "storage is altered where the range is, and fetching does not alter it",
            of(STORE).within(4096, 4103).execute(&BYTES).0,
            &[
                "0080 4 20 0000 0004 cc0",
                "0080 4 20 0004 0008 cc0",
                "0001 2 - 0012 cc0",
            ],
        )
    );
    expect(
        "the same contents alter it, too",
        of(STORE).within(4096, 4096).execute(&BYTES[..4]).0,
        &["0080 4 20 0000 0004 cc0", "0001 2 - 0006 cc0"],
    );
    // MVC 0(8,1),16(1): bytes 4096-4103; the last one, the one behind, and the one before.
    let moved = |at: i64| {
        of(STORE)
            .within(at, at)
            .execute(&[0xD2, 7, 0x10, 0, 0x10, 16])
            .0
    };
    let altered = ["0080 6 20 0000 0006 cc0", "0001 2 - 0008 cc0"];
    expect("the first byte of an operand", moved(4096), &altered);
    expect("the last byte of an operand", moved(4103), &altered);
    expect("the byte behind it", moved(4104), &["0001 2 - 0008 cc0"]);
    expect("the byte before it", moved(4095), &["0001 2 - 0008 cc0"]);
    expect(
        "an operand that is fetched",
        moved(4112),
        &["0001 2 - 0008 cc0"],
    );
    // EXRL 4,*+6 of MVC 0(1,1),16(1) at 6, whose length is register 4's; BRC behind it.
    let mut executed = [0; 16];
    executed[..6].copy_from_slice(&[0xC6, 0x40, 0, 0, 0, 5]);
    executed[6..10].copy_from_slice(&[0xA7, 0xF4, 0, 5]);
    executed[10..16].copy_from_slice(&[0xD2, 0, 0x10, 0, 0x10, 16]);
    shows_per!(
        [42, 43],
        expect(
            "the length that EXECUTE puts in counts",
            of(STORE).within(4103, 4103).with(4, 7).execute(&executed).0,
            &["0080 6 20 0000 0006 cc0", "0001 2 - 0012 cc0"],
        )
    );
    // CS 2,3,0(1) with unequal operands, and with equal ones.
    let compared = |value| {
        of(STORE)
            .within(4096, 4099)
            .with(2, value)
            .execute(&[0xBA, 0x23, 0x10, 0])
            .0
    };
    // The word at 4096 is what MVI and MVC left there.
    // SAFETY: a word of the page.
    let word = unsafe { core::ptr::read_volatile((text() + 4096) as *const u32) };
    expect(
        "COMPARE AND SWAP of unequal operands stores nothing",
        compared(u64::from(!word)),
        &["0001 2 - 0006 cc1"],
    );
    expect(
        "COMPARE AND SWAP of equal operands stores",
        compared(word.into()),
        &["0080 4 20 0000 0004 cc0", "0001 2 - 0006 cc0"],
    );
    // STCTG 9,9,0(1); STNSM 16(1),FF; STAP 0(1): performed for the program.
    let performed = |words: &[u8]| of(STORE).within(4096, 4103).execute(words).0;
    shows_per!(
        [33, 34],
        expect(
            "a control instruction that stores into the range",
            performed(&[0xEB, 0x99, 0x10, 0, 0, 0x25]),
            &["0080 6 20 0000 0006 cc0", "0001 2 - 0008 cc0"],
        )
    );
    expect(
        "a control instruction that stores elsewhere",
        performed(&[0xAC, 0xFF, 0x10, 16]),
        &[NOTHING],
    );
    expect(
        "a control instruction that fetches from the range",
        performed(&[0xB2, 0x08, 0x10, 0]),
        &[NOTHING],
    );
    // STURG 2,1: by the real address of the range.
    if form() == Form::Z {
        expect(
            "a store that uses a real address has an event of its own, and a range is none of its business",
            of(STORE_REAL | STORE)
                .within(0, 1)
                .execute(&[0xB9, 0x25, 0x00, 0x21])
                .0,
            &["0080 4 08 0000 0004 cc0", "0001 2 - 0006 cc0"],
        );
    }
    shows_per!(
        [40],
        expect(
            "all that an instruction does is indicated together",
            of(STORE | FETCH)
                .within(0, 4099)
                .execute(&[0x50, 0x20, 0x10, 0])
                .0,
            &["0080 4 60 0000 0004 cc0", "0081 2 40 0004 0006 cc0"],
        )
    );
}
