//! Program-event recording: the fetch of instructions, in a range and everywhere, with nullification and without.

use guests::recording::{BRANCH, FETCH, Form, NULLIFY, REGISTERS, Run, expect, form};
use guests::shows_per;

guests::clause!(
    "Principles of Operation, Program-Event Recording, Instruction Fetching; System/370 Principles of Operation, Program-Event Recording",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// LGHI 2,5; AGHI 2,1; LTR 2,2; BCR 0,0.
const TEXT: [u8; 12] = [0xA7, 0x29, 0, 5, 0xA7, 0x2B, 0, 1, 0x12, 0x22, 0x07, 0x00];

fn run() {
    let fetched = Run::of(FETCH).execute(&TEXT);
    shows_per!(
        [1, 4, 7, 18, 20, 35, 41, 43],
        expect(
            "an instruction is executed before its event is indicated, and the old PSW designates the next one",
            fetched.0,
            &[
                "0080 4 40 0000 0004 cc0",
                "0080 4 40 0004 0008 cc2",
                "0080 2 40 0008 000a cc2",
                "0080 2 40 000a 000c cc2",
                "0081 2 40 000c 000e cc2",
            ],
        )
    );
    guests::check::check("the registers are as without recording", fetched.1[2], 6);
    shows_per!(
        [2, 13, 14],
        expect(
            "the ends of the range are in it",
            Run::of(FETCH).within(4, 8).execute(&TEXT).0,
            &[
                "0080 4 40 0004 0008 cc2",
                "0080 2 40 0008 000a cc2",
                "0001 2 - 000e cc2",
            ],
        )
    );
    expect(
        "what counts is the first byte of an instruction",
        Run::of(FETCH).within(5, 7).execute(&TEXT).0,
        &["0001 2 - 000e cc2"],
    );
    expect(
        "a range whose end is below its start goes over the end of storage",
        Run::of(FETCH).within(10, 3).execute(&TEXT).0,
        &[
            "0080 4 40 0000 0004 cc0",
            "0080 2 40 000a 000c cc2",
            "0081 2 40 000c 000e cc2",
        ],
    );
    if form() == Form::Z {
        expect(
            "an event that nullifies is indicated before its instruction begins",
            Run::of(FETCH | NULLIFY).within(8, 8).execute(&TEXT).0,
            &["0080 2 41 0008 0008 cc2", "0001 2 - 000e cc2"],
        );
        for (name, more) in [
            ("also before an instruction that would be refused", 0),
            ("also behind one that was executed on its own", BRANCH),
        ] {
            // LGHI 2,5; an operation that is not assigned.
            expect(
                name,
                Run::of(FETCH | NULLIFY | more)
                    .within(4, 4)
                    .execute(&[0xA7, 0x29, 0, 5, 0xB2, 0xFF, 0, 0])
                    .0,
                &[
                    "0080 4 41 0004 0004 cc0",
                    "0001 4 - 0008 cc0",
                    "0001 2 - 000a cc0",
                ],
            );
        }
    }
    shows_per!(
        [6, 11, 12],
        expect(
            "a register in which a value is placed is altered, whatever it contained",
            Run::of(REGISTERS | 0x2000).execute(&TEXT).0,
            &[
                "0080 4 10 0000 0004 cc0",
                "0080 4 10 0004 0008 cc2",
                "0080 2 10 0008 000a cc2",
                "0001 2 - 000e cc2",
            ],
        )
    );
    shows_per!(
        [8],
        expect(
            "nothing is recorded without a mask",
            Run::of(0x0000_FFFF).execute(&TEXT).0,
            &["0001 2 - 000e cc2"],
        )
    );
}
