//! An instruction that the machine does not perform gives an operation exception, again and again, and
//! the program goes on.

use guests::attempt::suppressed;
use guests::check::check;
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "Principles of Operation, Operation Exception; Millimeter: what is not performed",
    native = true
);
guests::case!(run);

fn run() {
    for _ in 0..3 {
        check(
            "PQAP",
            attempt!(".insn rre,0xb2af0000,%r0,%r0").number(),
            suppressed(1, 4),
        );
        check(
            "ESSA",
            attempt!(".insn rrf,0xb9ab0000,%r4,%r4,0,0").number(),
            suppressed(1, 4),
        );
        check(
            "SIE",
            attempt!(".insn s,0xb2140000,0x900(%r0)").number(),
            suppressed(1, 4),
        );
        check(
            "B9EF",
            attempt!(".long 0xB9EF0000").number(),
            suppressed(1, 4),
        );
        check(
            "B9F3",
            attempt!(".long 0xB9F30000").number(),
            suppressed(1, 4),
        );
        check("0000", attempt!(".short 0x0000").number(), suppressed(1, 2));
        check(
            "EDFF of six bytes",
            attempt!(".short 0xEDFF, 0xFFFF, 0xFFFF").number(),
            suppressed(1, 6),
        );
        check(
            "FF of six bytes",
            attempt!(".short 0xFF00, 0x0000, 0x0000").number(),
            suppressed(1, 6),
        );
        check(
            "PQAP in problem state",
            attempt_in_problem_state!(".insn rre,0xb2af0000,%r0,%r0").number(),
            suppressed(1, 4),
        );
    }
}
