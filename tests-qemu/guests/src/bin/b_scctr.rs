//! SET CPU COUNTER sets a counter of an enabled set; others are not available; counting goes on from the
//! value, and a carry out of bit 0 is lost.
#![no_std]
#![no_main]

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::measurement::{controls, ecctr, lcctl, scctr, set};

guests::clause!("SA23-2260, SET CPU COUNTER", native = false);
guests::guest!(run);

fn run() {
    for number in [0, 1, 5, 6, 31, 32, 33, 63, 64, 128, 0xFFFF] {
        check(
            "disabled",
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
        check(
            "enabled",
            number << 8 | u64::from(scctr(number, value)),
            number << 8,
        );
        check("  its value", ecctr(number).1, value);
    }
    for number in [6, 31, 63, 64, 128, 0xFFFF] {
        check(
            "reserved or not authorized",
            number << 8 | u64::from(scctr(number, 1)),
            number << 8 | 3,
        );
    }
    check("all ones", scctr(1, u64::MAX - 1), 0);
    check("LCCTL active", lcctl(controls(set::BASIC, set::BASIC)), 0);
    let value = ecctr(1).1;
    holds("the counter went on through zero", value < 1000);
    check("set while active", scctr(1, 1 << 40), 0);
    let value = ecctr(1).1;
    holds(
        "and on from there",
        // What lies between prints a line.
        (1 << 40..(1 << 40) + 100_000).contains(&value),
    );
    let outcome =
        attempt!(".insn rre,0xb2e00000,{v},{n}", v = in(reg) 0_u64, n = in(reg) 0x1_0000_u64);
    check("bits 0-47 are not zero", outcome.number(), suppressed(6, 4));
    lcctl(0);
}
