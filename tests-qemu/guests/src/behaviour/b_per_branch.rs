//! Program-event recording: successful branching.

use guests::check::check;
use guests::recording::{BRANCH, BRANCH_ADDRESS, Form, REGISTERS, Run, expect, form};
use guests::shows_per;

guests::clause!(
    "Principles of Operation, Program-Event Recording, Successful Branching; System/370 Principles of Operation, Program-Event Recording",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

fn run() {
    // BCR 0,0; BRC 0,*+4; LTR 2,2 (zero); BRC 4 (not taken); BRC 8,*+6 over a halfword of zeros.
    const CONDITIONS: [u8; 18] = [
        0x07, 0x00, 0xA7, 0x04, 0, 2, 0x12, 0x22, 0xA7, 0x44, 0, 2, 0xA7, 0x84, 0, 3, 0, 0,
    ];
    shows_per!(
        [3],
        expect(
            "only a branch that is taken is an event",
            Run::of(BRANCH).execute(&CONDITIONS).0,
            &["0080 4 80 000c 0012 cc0", "0001 2 - 0014 cc0"],
        )
    );
    expect(
        "a branch to the next instruction is a branch",
        Run::of(BRANCH).execute(&[0xA7, 0xF4, 0, 2]).0,
        &["0080 4 80 0000 0004 cc0", "0001 2 - 0006 cc0"],
    );
    // BRAS 14,*+4; BRC 15,*+6 over a halfword; BRC 15,*+4.
    const TARGETS: [u8; 14] = [0xA7, 0xE5, 0, 2, 0xA7, 0xF4, 0, 3, 0, 0, 0xA7, 0xF4, 0, 2];
    if form() == Form::Z {
        expect(
            "with the branch-address control the target is to be in the range, the branch need not",
            Run::of(BRANCH | BRANCH_ADDRESS)
                .within(10, 12)
                .execute(&TARGETS)
                .0,
            &["0080 4 80 0004 000a cc0", "0001 2 - 0010 cc0"],
        );
        // BRC 15,*+4; the text ends behind it.
        expect(
            "a target that meets an exception is in the range, too",
            Run::of(BRANCH | BRANCH_ADDRESS)
                .within(4, 4)
                .execute(&[0xA7, 0xF4, 0, 2])
                .0,
            &["0080 4 80 0000 0004 cc0", "0001 2 - 0006 cc0"],
        );
    }
    expect(
        "without it every branch counts, wherever the range is",
        Run::of(BRANCH).within(10, 12).execute(&TARGETS).0,
        &[
            "0080 4 80 0000 0004 cc0",
            "0080 4 80 0004 000a cc0",
            "0080 4 80 000a 000e cc0",
            "0001 2 - 0010 cc0",
        ],
    );
    // BRCT 2,*: a branch to itself.
    let (events, registers) = Run::of(BRANCH | REGISTERS | 0x2000)
        .with(2, 0xFFFF_FFFF_0000_0003)
        .execute(&[0xA7, 0x26, 0, 0]);
    shows_per!(
        [40],
        expect(
            "a branch to itself is executed once for each event",
            events,
            &[
                "0080 4 90 0000 0000 cc0",
                "0080 4 90 0000 0000 cc0",
                "0080 4 10 0000 0004 cc0",
                "0001 2 - 0006 cc0",
            ],
        )
    );
    check("the count is zero", registers[2], 0xFFFF_FFFF_0000_0000);
    // EXRL 0,*+8 of the BRC 15,*-8 that stands at 8: from there to the EXRL; and BRC 15,*+8 behind it.
    let (events, registers) = Run::of(BRANCH).with(3, 1).execute(&[
        0xC6, 0x00, 0, 0, 0, 5, 0xA7, 0xF4, 0, 6, 0xA7, 0x36, 0xFF, 0xFB, 0, 0, 0, 0,
    ]);
    let _ = registers;
    expect(
        "of a branch that is executed the address is that of the EXECUTE",
        events,
        &["0080 4 80 0006 0012 cc0", "0001 2 - 0014 cc0"],
    );
    // EXRL 0,*+10 of BRC 15,*-4 at 10, whose target is 6: BRC 15,*+8.
    shows_per!(
        [42, 43],
        expect(
            "an executed branch is relative to its own address",
            Run::of(BRANCH)
                .execute(&[
                    0xC6, 0x00, 0, 0, 0, 5, 0xA7, 0xF4, 0, 4, 0xA7, 0xF4, 0xFF, 0xFE,
                ])
                .0,
            &[
                "0080 6 80 0000 0006 cc0",
                "0080 4 80 0006 000e cc0",
                "0001 2 - 0010 cc0",
            ],
        )
    );
}
