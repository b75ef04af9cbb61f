//! EXTRACT CPU COUNTER: condition code 0 for the counters of enabled sets, 3 with the first operand unchanged for all
//! others, and a specification exception for a number beyond 16 bits. Two extractions in a row differ by one
//! instruction.

use core::arch::asm;

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::measurement::{controls, lcctl, qctri, set};
use guests::shows;

guests::clause!("SA23-2260, EXTRACT CPU COUNTER", native = false);
guests::case!(run);

const UNCHANGED: u64 = 0x5A5A_5A5A_A5A5_A5A5;

fn extract(number: u64) -> (u8, u64) {
    let (cc, value): (u64, u64);
    // SAFETY: reads a counter.
    unsafe {
        asm!(
            ".insn rre,0xb2e40000,{v},{n}",
            "ipm {c}",
            v = inout(reg) UNCHANGED => value,
            n = in(reg) number,
            c = out(reg) cc,
        );
    }
    ((cc >> 28) as u8 & 3, value)
}

/// Expects condition code 3, and the first operand unchanged.
fn unavailable(number: u64) -> bool {
    extract(number) == (3, UNCHANGED)
}

fn run() {
    shows!("ECCTR-7", (0..6).chain([32, 33]).all(unavailable));
    shows!(
        "ECCTR-5",
        (6..32)
            .chain(38..64)
            .chain([300, 447, 500, 0xFFFF])
            .all(unavailable)
    );
    let authorized = qctri().authorization;
    for (set, number) in [(set::CRYPTO, 64), (set::EXTENDED, 128)] {
        if authorized & set == 0 {
            shows!(["ECCTR-8", "STATE-1"], unavailable(number));
        }
    }
    check("LCCTL basic", lcctl(controls(set::BASIC, 0)), 0);
    for number in 0..6 {
        shows!(
            "ECCTR-4",
            number << 8 | u64::from(extract(number).0),
            number << 8,
        );
        check("  inactive, never active: zero", extract(number).1, 0);
    }
    shows!("ECCTR-5", (6..32).all(unavailable));
    shows!("ECCTR-7", (32..34).all(unavailable));
    check(
        "LCCTL both",
        lcctl(controls(set::BASIC | set::PROBLEM_STATE, 0)),
        0,
    );
    let last = if qctri().first_version == 1 { 37 } else { 33 };
    for number in 32..=last {
        check(
            "problem-state counter: condition code",
            number << 8 | u64::from(extract(number).0),
            number << 8,
        );
    }
    shows!("ECCTR-5", (6..32).chain(38..64).all(unavailable));
    shows!(["ECCTR-6", "SETS-5"], (last + 1..64).all(unavailable));
    check(
        "LCCTL active",
        lcctl(controls(
            set::BASIC | set::PROBLEM_STATE,
            set::BASIC | set::PROBLEM_STATE,
        )),
        0,
    );
    let (first, second, third): (u64, u64, u64);
    // SAFETY: reads counters.
    unsafe {
        asm!(
            ".insn rre,0xb2e40000,{a},{n}",
            ".insn rre,0xb2e40000,{b},{n}",
            "lgr {a}, {a}",
            "lgr {a}, {a}",
            "lgr {a}, {a}",
            ".insn rre,0xb2e40000,{c},{n}",
            a = out(reg) first,
            b = out(reg) second,
            c = out(reg) third,
            n = in(reg) 1_u64,
        );
    }
    shows!(["BASIC-3", "ECCTR-1"], second - first, 1);
    shows!("BASIC-3", third - second, 4,);
    holds("cycles go forward", extract(0).1 < extract(0).1);
    let problem = extract(33).1;
    shows!("PROBLEM-5", extract(33).1, problem,);
    let mut scratch = UNCHANGED;
    for number in [0x1_0000_u64, 0x8000_0000_0000_0001, 0x0000_0001_0000_0000] {
        let outcome =
            attempt!(".insn rre,0xb2e40000,{v},{n}", v = inout(reg) scratch, n = in(reg) number);
        shows!(
            "ECCTR-3",
            (outcome.number(), scratch),
            (suppressed(6, 4), UNCHANGED)
        );
    }
    lcctl(0);
}
