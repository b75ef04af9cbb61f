//! SET CPU COUNTER sets a counter of an enabled set; others are not available; counting goes on from the
//! value, and a carry out of bit 0 is lost.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set};
use guests::shows;

guests::clause!("SA23-2260, SET CPU COUNTER", native = false);
guests::case!(run);

fn run() {
    for number in [0, 1, 5, 6, 31, 32, 33, 63, 64, 128, 0xFFFF] {
        shows!(
            "SCCTR-7",
            number << 8 | u64::from(scctr(number, 1)),
            number << 8 | 3,
        );
    }
    check(
        "LCCTL",
        lcctl(controls(set::BASIC | set::PROBLEM_STATE, 0)),
        0,
    );
    for number in [0, 1, 2, 3, 4, 5, 32, 33] {
        let value = 0x1234_5678_9ABC_DE00 + number;
        shows!(
            "SCCTR-4",
            number << 8 | u64::from(scctr(number, value)),
            number << 8,
        );
        shows!(
            ["SCCTR-1", "SCCTR-2", "ECCTR-1", "ECCTR-2"],
            ecctr(number).1,
            value
        );
    }
    for number in [6, 31, 63, 64, 128, 0xFFFF] {
        check(
            "reserved or not authorized",
            number << 8 | u64::from(scctr(number, 1)),
            number << 8 | 3,
        );
    }
    let none = |number| scctr(number, 1) == 3;
    shows!(
        "SCCTR-5",
        (6..32)
            .chain(38..64)
            .chain([300, 447, 500, 0xFFFF])
            .all(none)
    );
    let information = qctri();
    if information.first_version == 3 {
        shows!("SCCTR-6", (34..38).all(none));
    }
    for (set, number) in [(set::CRYPTO, 64), (set::EXTENDED, 128)] {
        if information.authorization & set == 0 {
            shows!(["SCCTR-8", "STATE-1"], none(number));
        }
    }
    check("all ones", scctr(1, u64::MAX - 1), 0);
    check("LCCTL active", lcctl(controls(set::BASIC, set::BASIC)), 0);
    let value = ecctr(1).1;
    shows!("COUNTER-2", value < 1000);
    check("set while active", scctr(1, 1 << 40), 0);
    let value = ecctr(1).1;
    holds(
        "and on from there",
        // What lies between prints a line.
        (1 << 40..(1 << 40) + 100_000).contains(&value),
    );
    let outcome =
        attempt!(".insn rre,0xb2e00000,{v},{n}", v = in(reg) 0_u64, n = in(reg) 0x1_0000_u64);
    shows!("SCCTR-3", outcome.number(), suppressed(6, 4));
    shows!("SCCTR-3", ecctr(1).1 >= 1 << 40);
    lcctl(0);
}
